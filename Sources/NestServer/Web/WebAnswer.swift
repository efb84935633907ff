import NIOCore
import NestProtocol

/// The head of an answer, and its body if that is small.
struct WebAnswer {
    var status = 200
    var reason = "OK"
    var fields: [(name: String, value: String)] = []
    /// The length of the body; `nil`: this status has none.
    var length: Int?
    var body = ByteBuffer()
    var keepsConnection = true

    /// Fields of every answer. No other site may show pages of this server in a frame, or load its files; no page runs
    /// code from elsewhere or made from text.
    private static let commonFields: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"
        ),
        ("X-Content-Type-Options", "nosniff"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Referrer-Policy", "no-referrer"),
    ]

    static func text(_ text: String, type: String = "text/plain; charset=utf-8") -> WebAnswer {
        var answer = WebAnswer()
        answer.body = ByteBuffer(string: text)
        answer.length = answer.body.readableBytes
        answer.fields = [("Content-Type", type)]
        return answer
    }

    static func refusal(_ refusal: WebRefusal) -> WebAnswer {
        var answer = Self.text("\(refusal.status.rawValue) \(refusal.text)\n")
        answer.status = refusal.status.rawValue
        answer.reason = refusal.status.reason
        answer.keepsConnection = refusal.status.keepsConnection
        answer.fields.append(("Cache-Control", "no-store"))
        switch refusal.status {
        case .methodNotAllowed: answer.fields.append(("Allow", "GET, HEAD"))
        case .upgradeRequired:
            answer.fields += [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
        case .unavailable: answer.fields.append(("Retry-After", "1"))
        default: break
        }
        return answer
    }

    /// The head of the answer with a file, whose parts follow.
    static func file(_ file: WebFile) -> WebAnswer {
        var answer = WebAnswer()
        answer.fields = [("Content-Type", file.type)] + Self.caching(file.tag)
        answer.length = file.size
        return answer
    }

    static func notModified(_ tag: WebTag) -> WebAnswer {
        WebAnswer(status: 304, reason: "Not Modified", fields: Self.caching(tag))
    }

    /// The path has no slash at the end, but names a directory.
    static func moved(to path: String) -> WebAnswer {
        var answer = Self.text("308 the directory is at \(path)\n")
        answer.status = 308
        answer.reason = "Permanent Redirect"
        answer.fields.append(("Location", path))
        return answer
    }

    static func switching(proof: String) -> WebAnswer {
        WebAnswer(
            status: 101,
            reason: "Switching Protocols",
            fields: [
                ("Upgrade", "websocket"), ("Sec-WebSocket-Accept", proof),
                ("Sec-WebSocket-Protocol", WebSocketOffer.subprotocol),
            ]
        )
    }

    /// The browser keeps the file, and asks each time whether it has changed.
    private static func caching(_ tag: WebTag) -> [(name: String, value: String)] {
        [("ETag", tag.text), ("Cache-Control", "no-cache")]
    }

    /// Whether the request was a proper one for a file, even if there is none.
    var isOfFile: Bool { self.status < 400 || self.status == WebRefusal.Status.notFound.rawValue }

    /// The bytes to send. `isHead`: the answer to HEAD, which has no body.
    func bytes(isHead: Bool) -> ByteBuffer {
        var text = "HTTP/1.1 \(self.status) \(self.reason)\r\n"
        for field in self.fields { text += "\(field.name): \(field.value)\r\n" }
        if self.status == 101 {
            text += "Connection: Upgrade\r\n"
        } else {
            for field in Self.commonFields { text += "\(field.name): \(field.value)\r\n" }
            if let length = self.length { text += "Content-Length: \(length)\r\n" }
            text += "Connection: \(self.keepsConnection ? "keep-alive" : "close")\r\n"
        }
        var buffer = ByteBuffer(string: text + "\r\n")
        if !isHead { buffer.writeImmutableBuffer(self.body) }
        return buffer
    }
}
