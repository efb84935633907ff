import NestModel
import NestProtocol

/// What the engine of a follower asks of its link to the leader.
package enum ForwardEffect: Sendable {
    /// Before the first request of a connection on a link. `session`: its secret id. `token`: the one that the client
    /// authenticated with. `user`: who the client is.
    case open(ConnectionID, session: Identifier128, token: UInt64?, user: UserLabel?)
    case request(ConnectionID, ForwardedRequest)
    /// The connection is gone, or has nothing more to say.
    case close(ConnectionID)
    /// The body of PEER_PRESENCE: the clients that are present at this node.
    case presence([UInt8])
}

/// A request that the leader executes for a client of this node.
package struct ForwardedRequest: Sendable {
    /// Counts up over all connections of the node; never used again while the engine lives.
    package var number: UInt64
    /// A write has an idempotency key, by the client or by the engine.
    package var request: EngineRequest
    /// The undo group that the client is in; 0: none.
    package var group: UInt64
    /// Whether it may have been sent before.
    package var isAgain: Bool

    package init(number: UInt64, request: EngineRequest, group: UInt64 = 0, isAgain: Bool = false) {
        self.number = number
        self.request = request
        self.group = group
        self.isAgain = isAgain
    }
}

/// What the link to the leader reports to the engine.
package enum LinkEvent: Sendable {
    /// The link is up: `ForwardEffect`s reach the leader of this epoch, and no earlier one is connected any more.
    /// `position`: the leader's newest record.
    case up(epoch: Int64, position: Int64)
    /// What was sent and has no answer may have been executed.
    case down
    /// The leader's answer to a forwarded request.
    case answer(number: UInt64, EngineReply)
    /// The clients that are present at the other nodes.
    case presence(PeerPresence)
}
