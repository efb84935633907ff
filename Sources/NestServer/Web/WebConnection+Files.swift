import NIOCore
import NIOHTTP1
import NIOPosix
import NestModel
import NestProtocol

/// A request for a file.
struct WebRequest: Sendable {
    let path: WebPath
    let isHead: Bool
    let keepsConnection: Bool
    /// The values of `If-None-Match`.
    let knownTags: [String]

    init(_ head: HTTPRequestHead, _ path: WebPath, keepsConnection: Bool) {
        self.path = path
        self.isHead = head.method == .HEAD
        self.keepsConnection = keepsConnection
        self.knownTags = head.values("if-none-match")
    }
}

/// The files of the web port. Threads for files open and read those of a directory; a connection holds one part of one
/// file at a time. Those of the page are in memory, once for all connections.
extension WebConnection {
    func answer(_ request: WebRequest) {
        guard let files = self.port.files else { return self.answerFromPage(request) }
        guard let lease = files.lease(of: self.slot.address) else {
            return self.refuse(WebRefusal(.unavailable, "the server sends too many files at once"), request)
        }
        let page = self.port.page
        self.onFileThread {
            let finding = files.find(request.path)
            // A directory may have another edition of the page's files.
            guard case .none = finding, let shown = page?.shown(request.path) else { return finding }
            return files.find(shown)
        } then: {
            self.found($0, request, lease)
        }
    }

    private func answerFromPage(_ request: WebRequest) {
        guard let file = self.port.page?.file(request.path) else { return self.refuse(.noFile, request) }
        self.send(file.tag.matches(request.knownTags) ? .notModified(file.tag) : .file(file), request)
    }

    private func found(_ finding: WebFiles.Finding, _ request: WebRequest, _ lease: WebFiles.Lease) {
        switch finding {
        case .none:
            self.answerFromPage(request)
        case .unavailable:
            self.refuse(WebRefusal(.unavailable, "the server cannot read the file now: try again later"), request)
        case .tooLarge:
            self.refuse(WebRefusal(.notFound, "the file has more than \(Limits.webFileBytesMax) bytes"), request)
        case .directory:
            self.send(.moved(to: request.path.text + "/"), request)
        case .file(let file) where file.tag.matches(request.knownTags):
            self.send(.notModified(file.tag), request)
        case .file(let file) where request.isHead || file.size == 0:
            self.send(.file(file), request)
        case .file(let file):
            self.beginFile()
            self.sendPart(of: file, at: 0, request, lease)
        }
    }

    private func refuse(_ refusal: WebRefusal, _ request: WebRequest) {
        // A proper request, which is no sign of a bad client.
        self.noteAnswered()
        self.refuse(refusal, isHead: request.isHead, keepsConnection: request.keepsConnection)
    }

    private func send(_ answer: WebAnswer, _ request: WebRequest) {
        self.send(answer, isHead: request.isHead, keepsConnection: request.keepsConnection)
    }

    /// Reads and sends a part, and the next one when the kernel has accepted it. The head goes with the first.
    private func sendPart(of file: WebFile, at offset: Int, _ request: WebRequest, _ lease: WebFiles.Lease) {
        self.onFileThread {
            file.part(at: offset)
        } then: { part in
            // A file that has become shorter cannot fill the length that the head has stated.
            guard let part, let context = self.context else { return self.cut(.peer) }
            var parts: [HTTPServerResponsePart] = [.body(.byteBuffer(part))]
            if offset == 0 {
                var answer = WebAnswer.file(file)
                answer.keepsConnection = request.keepsConnection
                parts.insert(answer.head, at: 0)
            }
            let next = offset + part.readableBytes
            if next == file.size { parts.append(.end(nil)) }
            self.write(parts, context).whenComplete { result in
                guard case .success = result else { return self.cut(.peer) }
                self.noteSent(part.readableBytes)
                if next < file.size { return self.sendPart(of: file, at: next, request, lease) }
                self.noteAnswered()
                self.finish(keepsConnection: request.keepsConnection)
            }
        }
    }

    /// Runs `body` on a thread that may block, and `then` on the event loop, if the connection is still open.
    private func onFileThread<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value,
        then: @escaping (Value) -> Void
    ) {
        guard let eventLoop = self.context?.eventLoop else { return }
        self.port.threads.runIfActive(eventLoop: eventLoop, body).assumeIsolated().whenComplete { result in
            // The threads end only with the server, which closes the connection.
            guard case .success(let value) = result, self.context != nil else { return }
            then(value)
        }
    }
}
