import NIOCore
import NIOHTTP1
import NestProtocol

/// The head of an answer, and its body if that is small.
struct WebAnswer {
    var status = HTTPResponseStatus.ok
    var fields: HTTPHeaders = [:]
    /// The length of the body; `nil`: this status has none.
    var length: Int?
    var body = ByteBuffer()
    var keepsConnection = true

    /// Fields of every answer. No other site may show pages of this server in a frame, or load its files; no page runs
    /// code from elsewhere or made from text.
    private static let commonFields: HTTPHeaders = [
        "Content-Security-Policy":
            "default-src 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
    ]

    static func text(_ text: String, type: String = "text/plain; charset=utf-8") -> WebAnswer {
        var answer = WebAnswer()
        answer.body = ByteBuffer(string: text)
        answer.length = answer.body.readableBytes
        answer.fields = ["Content-Type": type]
        return answer
    }

    static func refusal(_ refusal: WebRefusal) -> WebAnswer {
        var answer = Self.text("\(refusal.status.rawValue) \(refusal.text)\n")
        answer.status = HTTPResponseStatus(statusCode: refusal.status.rawValue)
        answer.keepsConnection = refusal.status.keepsConnection
        answer.fields.add(name: "Cache-Control", value: "no-store")
        switch refusal.status {
        case .methodNotAllowed: answer.fields.add(name: "Allow", value: "GET, HEAD")
        case .upgradeRequired:
            answer.fields.add(contentsOf: ["Upgrade": "websocket", "Sec-WebSocket-Version": "13"])
        case .unavailable: answer.fields.add(name: "Retry-After", value: "1")
        default: break
        }
        return answer
    }

    /// The head of the answer with a file, whose parts follow.
    static func file(_ file: WebFile) -> WebAnswer {
        var answer = WebAnswer()
        answer.fields = Self.caching(file.tag)
        answer.fields.add(name: "Content-Type", value: file.type)
        answer.length = file.size
        return answer
    }

    /// The whole answer with a file of the page.
    static func file(_ file: WebPage.File) -> WebAnswer {
        var answer = WebAnswer()
        answer.fields = Self.caching(file.tag)
        answer.fields.add(name: "Content-Type", value: file.type)
        answer.length = file.bytes.readableBytes
        answer.body = file.bytes
        return answer
    }

    static func notModified(_ tag: WebTag) -> WebAnswer {
        WebAnswer(status: .notModified, fields: Self.caching(tag))
    }

    /// The path has no slash at the end, but names a directory.
    static func moved(to path: String) -> WebAnswer {
        var answer = Self.text("308 the directory is at \(path)\n")
        answer.status = .permanentRedirect
        answer.fields.add(name: "Location", value: path)
        return answer
    }

    static func switching(proof: String) -> WebAnswer {
        WebAnswer(
            status: .switchingProtocols,
            fields: [
                "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": proof,
                "Sec-WebSocket-Protocol": WebSocketOffer.subprotocol,
            ]
        )
    }

    /// The browser keeps the file, and asks each time whether it has changed.
    private static func caching(_ tag: WebTag) -> HTTPHeaders { ["ETag": tag.text, "Cache-Control": "no-cache"] }

    /// Whether the request was a proper one for a file, even if there is none.
    var isOfFile: Bool { self.status.code < 400 || self.status == .notFound }

    /// The head as swift-nio encodes it.
    var head: HTTPServerResponsePart {
        var fields = self.fields
        if self.status != .switchingProtocols {
            fields.add(contentsOf: Self.commonFields)
            if let length = self.length { fields.add(name: "Content-Length", value: "\(length)") }
            fields.add(name: "Connection", value: self.keepsConnection ? "keep-alive" : "close")
        }
        return .head(HTTPResponseHead(version: .http1_1, status: self.status, headers: fields))
    }

    /// The whole answer. `isHead`: the answer to HEAD, which has no body.
    func parts(isHead: Bool) -> [HTTPServerResponsePart] {
        [self.head] + (isHead ? [] : [.body(.byteBuffer(self.body))]) + [.end(nil)]
    }
}
