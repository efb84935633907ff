import NestModel

/// Why a connection ended, as the log says it.
enum CloseReason: Equatable, CustomStringConvertible {
    /// The peer closed it.
    case peer
    case peerFailed(String)
    case notNest
    case noCommonVersion
    case handshakeTimeout
    /// Another took the place that it held without HELLO.
    case crowdedOut
    /// A frame came too slowly.
    case slowFrame
    /// More frames than may be that ask for nothing.
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
        case .crowdedOut: "crowded out"
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
