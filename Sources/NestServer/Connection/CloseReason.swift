import NestModel

/// Why a connection ended, for the log.
enum CloseReason: Equatable, CustomStringConvertible {
    /// The peer closed it.
    case peer
    case peerFailed(String)
    case notNest
    case noCommonVersion
    case handshakeTimeout
    /// A new connection took the slot that it held without being a client.
    case evicted
    /// A frame took too long to arrive.
    case slowFrame
    /// The client sent too many control frames.
    case flood
    /// All connections together held too much, and this one most.
    case shed
    case silent
    case slowConsumer
    case busy
    case shutdown
    /// An operator has ended it.
    case kicked
    case storeFailed
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
        case .error(let code): "error \(code)"
        }
    }
}
