import NestModel
import NestStore

/// Names a connection for as long as the server runs; never reused.
package struct ConnectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package static func < (a: ConnectionID, b: ConnectionID) -> Bool { a.rawValue < b.rawValue }

    package var description: String { "c\(self.rawValue)" }
}

/// Everything that happens outside and that the engine is told of. The engine has no other source of events.
package enum EngineInput: Sendable {
    /// A client has said HELLO. Answered by the effect `welcome`.
    ///
    /// `takesCompressed`: it knows compressed frames. `token`: with which it has been let in; the engine refuses one that has been
    /// taken back meanwhile. `subscriptionsMax`: what it may have. `isWelcomed`: a standby answered it, and holds the session's
    /// number for it.
    case connected(
        ConnectionID,
        session: Identifier128,
        scope: AuthorisationScope,
        takesCompressed: Bool = false,
        token: UInt64? = nil,
        subscriptionsMax: Int = Limits.subscriptionsPerConnectionMax,
        isWelcomed: Bool = false
    )
    /// The connection is gone; nothing is sent to it any more.
    case disconnected(ConnectionID)
    case request(ConnectionID, requestID: UInt32, EngineRequest)
    /// The connection does not drain: bytes wait for it in the server. From now on its subscriptions lag.
    case blocked(ConnectionID)
    /// All that was waiting has been written, after a block or when `whenDrained` asks for it. Its subscriptions are brought
    /// up to date by one net diff each, and what is sent page by page goes on.
    case drained(ConnectionID)
    /// What the effect `read` asked for.
    case read(UInt64, Result<SideRead.Rows, NestError>)
    /// How it stands about the store's file and the room beside it; seen about once a second.
    case sight(StoreWatch.Sight)
    /// Time has passed; sent about once a second.
    case tick
    /// The same, ten times a second: for what is told at most so often.
    case pulse

    /// Asks for one object: such requests come in rows, and are read together.
    var isObjectRead: Bool {
        if case .request(_, _, .object) = self { true } else { false }
    }
}
