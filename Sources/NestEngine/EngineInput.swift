import NestModel
import NestStore
import NestProtocol

/// Names a connection for as long as the server runs; never reused.
package struct ConnectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package static func < (a: ConnectionID, b: ConnectionID) -> Bool { a.rawValue < b.rawValue }

    package var description: String { "c\(self.rawValue)" }
}

/// An event from outside. The engine has no other source of events.
package enum EngineInput: Sendable {
    /// A client has sent HELLO. The engine answers with the effect `welcome`.
    ///
    /// `takesCompressed`: the client understands compressed frames. `token`: the token that it authenticated with; the
    /// engine refuses it if it has been revoked meanwhile. `subscriptionsMax`: the connection's limit. `user`: the
    /// label that its writes get. `followsAuthors`: the client wants to know who wrote what diffs contain.
    /// `namesOwnRequests`: OWN names the client's requests too, also without a subscription.
    /// `isWelcomed`: a standby has answered, and holds the session's number for the connection.
    indirect case connected(
        ConnectionID,
        session: Identifier128,
        scope: AuthorisationScope,
        takesCompressed: Bool = false,
        token: UInt64? = nil,
        subscriptionsMax: Int = Limits.subscriptionsPerConnectionMax,
        user: UserLabel? = nil,
        followsAuthors: Bool = false,
        namesOwnRequests: Bool = false,
        isWelcomed: Bool = false
    )
    /// The connection is gone; nothing is sent to it any more.
    case disconnected(ConnectionID)
    case request(ConnectionID, requestID: UInt32, EngineRequest)
    /// Backpressure: bytes for the connection wait in the server. From now on its subscriptions lag.
    case blocked(ConnectionID)
    /// All waiting bytes have been written, after a block or when `whenDrained` requests it. The engine brings the
    /// connection's subscriptions to the head with one net difference each, and sends the next pages.
    case drained(ConnectionID)
    /// The outcome of the effect `read`.
    indirect case read(UInt64, Result<BackgroundRead.Rows, NestError>)
    /// The state of the store's file and the free disk space, about once a second.
    indirect case healthSample(StoreHealth.Sample)
    /// Time has passed; sent about once a second.
    case tick
    /// Time has passed; sent ten times a second. The engine sends the new positions of windows.
    case positionTimer
    /// Another node, which has this connection, says who is present at it.
    case peerPresence(ConnectionID, PeerPresence)
    /// From the cluster's log, and from the driver of the node's `ReplicaMachine`.
    indirect case log(LogInput)

    /// Whether the input requests one object. Such requests often arrive in series, and are read together.
    var isObjectRead: Bool {
        if case .request(_, _, .object) = self { true } else { false }
    }
}
