import NestModel

/// Why a connection ended, as the log says it.
enum CloseReason: Equatable, CustomStringConvertible {
    /// The peer closed it.
    case peer
    case peerFailed(String)
    case notNest
    case noCommonVersion
    case handshakeTimeout
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
