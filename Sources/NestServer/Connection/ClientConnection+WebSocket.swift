/// The connection behind a WebSocket: it works as over TCP, and also knows why a WebSocket ends.
extension ClientConnection: WebSocketClient {
    package var isWelcomed: Bool { self.session.wasWelcomed }

    package var handledFrameCount: Int { self.inbound.frameCount }

    package func noteWaiting(_ byteCount: Int) {
        self.liveness.noteBytes()
        self.inbound.webSocketByteCount = byteCount
    }

    package var handlesAtOnce: Bool { self.closing == nil && self.mayHandle }

    package var webSocketCode: WebSocketCode {
        switch self.closing {
        case nil, .peer, .peerFailed: .normal
        case .shutdown, .kicked, .replaced: .goingAway
        case .busy, .shed, .evicted: .tryLater
        case .webSocket(let code): code
        default: .refused
        }
    }

    package func end(by code: WebSocketCode) { self.finish(code == .normal ? .peer : .webSocket(code)) }
}
