import NIOCore
import NestModel
import NestProtocol

/// The answer to a request.
package enum Reply: Equatable, Sendable {
    case done
    case receipt(Receipt)
    /// `total`: rows of the whole result, of which the snapshot may hold a window.
    case snapshot(SectionedSnapshot, total: Int)
    /// What answers a `Query`.
    case answer(ReceivedAnswer)
    case model(KnownModel)
    case group(UInt64)
    case undoState(UndoState)
    /// A subscription has another request; `isNewest`: this one, and none that was wanted later.
    case changed(isNewest: Bool)
    case pong
}

/// What happens on a stream.
package enum StreamEvent: Equatable, Sendable {
    /// A download begins.
    case start(SubtreeStart)
    case chunk([UInt8])
    case end(SubtreeEnd)
    /// A backup begins; its chunks are whole bodies.
    case backup(BackupStart)
    /// A step of a check begins, and what the check has found.
    case step(CheckStep)
    case checked(CheckReport)
    /// An upload may send so many more bytes.
    case credit(Int)
}

/// What the state machine wants done. The handler and the core do it and decide nothing.
package enum ClientAction: Equatable, Sendable {
    case openChannel
    /// Open a channel after a pause.
    case openChannelAfter(milliseconds: Int)
    case send(ByteBuffer)
    case closeChannel
    /// The handshake is done; who waits in `connect` may go on.
    case connected
    /// Who waits in `connect` is told why not.
    case connectFailed(NestError)
    case startKeepAlive(every: TimeAmount)
    case succeed(RequestToken, Reply)
    case fail(RequestToken, NestError)
    case stream(RequestToken, StreamEvent)
    /// The frame's bytes count until the subscribers have taken what they were given.
    case deliver(SubscriptionElement, to: [SubscriberID], byteCount: Int)
    case deliverChanges(ChangesEvent, to: SubscriberID, byteCount: Int)
    /// The new subscriber begins with a copy of what the other holds and has waiting.
    case seed(SubscriberID, from: SubscriberID)
    case endSubscription([SubscriberID], NestError)
    /// Tell all who follow the undo state.
    case deliverUndoState(UndoState)
    case endUndoState(NestError)
}
