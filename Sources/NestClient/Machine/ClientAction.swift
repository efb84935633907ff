import NIOCore
import NestModel
import NestProtocol

/// The answer to a request.
package enum Reply: Equatable, Sendable {
    case done
    case receipt(Receipt)
    /// `total`: the rows of the whole result. The snapshot may contain only a window.
    case snapshot(SectionedSnapshot, total: Int)
    /// The answer to a `Query`.
    case answer(ReceivedAnswer)
    case model(KnownModel)
    case group(UInt64)
    case undoState(UndoState)
    /// A subscription has another request. `isNewest` is false if a newer change replaced this one.
    case changed(isNewest: Bool)
    case pong
}

/// An event of a stream.
package enum StreamEvent: Equatable, Sendable {
    /// A download begins.
    case start(SubtreeStart)
    case chunk([UInt8])
    case end(SubtreeEnd)
    /// A backup begins; its chunks are whole bodies.
    case backup(BackupStart)
    /// A large value begins; its chunks are those of a sub-tree.
    case value(ValueMessage)
    /// A step of a check begins. `checked` is the result of the check.
    case step(CheckStep)
    case checked(CheckReport)
    /// An upload may send this many more bytes.
    case credit(Int)
}

/// An action that the state machine requests. The handler and the core perform it and decide nothing.
package enum ClientAction: Equatable, Sendable {
    case openChannel
    /// The server has greeted: what else the handshake needs has the time of a request.
    case greeted
    /// Open a channel after a pause.
    case openChannelAfter(milliseconds: Int)
    /// After a pause, look again for a node that takes writes.
    case retryAfter(milliseconds: Int)
    /// After a pause, ask again for the subscriptions that the node was too far behind for.
    case subscribeAfter(milliseconds: Int)
    case send(ByteBuffer)
    case closeChannel
    /// The handshake is done. Callers that wait in `connect` may continue.
    case connected
    /// Callers that wait in `connect` receive this error.
    case connectFailed(NestError)
    /// The server has accepted the session that the program keeps: write it.
    case keepSession(SessionRecord)
    case startKeepAlive(every: TimeAmount)
    case succeed(RequestToken, Reply)
    case fail(RequestToken, NestError)
    case stream(RequestToken, StreamEvent)
    /// The frame's bytes count until the subscribers have consumed the element.
    case deliver(SubscriptionElement, to: [SubscriberID], byteCount: Int)
    /// The cache keeps or forgets something.
    case cache(CacheChange)
    case deliverChanges(ChangesEvent, to: SubscriberID, byteCount: Int)
    /// The new subscriber starts with a copy of the other's state and queue.
    case seed(SubscriberID, from: SubscriberID)
    case endSubscription([SubscriberID], NestError)
    /// Revisions that the next frames lead to are those of these requests.
    case own([OwnRevision])
    /// Deliver the state to all followers of the undo state.
    case deliverUndoState(UndoState)
    case endUndoState(NestError)
    /// Deliver to all who use the scope.
    case deliverPresence(ObjectID, PresentClients)
    case endPresence(ObjectID, NestError)
}

/// A revision of this connection's own write, and the request that wrote it.
package struct OwnRevision: Equatable, Sendable {
    package var revision: Revision
    package var request: RequestToken
}
