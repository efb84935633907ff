import NestModel

/// Why a connection ended, for the log.
enum CloseReason: Equatable, CustomStringConvertible {
    /// The peer closed it.
    case peer
    case peerFailed(String)
    case notNest
    case noCommonVersion
    case handshakeTimeout
    /// A new connection took its slot before the client had logged in.
    case evicted
    /// A frame took too long to arrive.
    case slowFrame
    /// The client sent too many control frames.
    case flood
    /// All connections together held too much memory, and this one held the most.
    case shed
    case silent
    case slowConsumer
    case busy
    case shutdown
    /// An operator ended it.
    case kicked
    case storeFailed
    /// The node whose connection it was has connected again.
    case replaced
    /// The client broke the rules of WebSocket.
    case webSocket(WebSocketCode)
    /// The web port refused its request.
    case http(WebRefusal.Status)
    case error(ErrorCode)

    var description: String {
        switch self {
        case .peer: "peer"
        case .peerFailed(let text): "peer failed: \(text)"
        case .notNest: "not nest"
        case .noCommonVersion: "no common version"
        case .handshakeTimeout: "handshake timeout"
        case .evicted: "evicted"
        case .slowFrame: "slow frame"
        case .flood: "flood"
        case .shed: "shed"
        case .silent: "silent"
        case .slowConsumer: "slow consumer"
        case .busy: "busy"
        case .shutdown: "shutdown"
        case .kicked: "kicked"
        case .storeFailed: "store failed"
        case .replaced: "replaced"
        case .webSocket(let code): "WebSocket \(code.rawValue)"
        case .http(let status): "HTTP \(status.rawValue)"
        case .error(let code): "error \(code)"
        }
    }
}
