import NestModel
import NestProtocol

/// The clients that are present at an object: the state now, and then each newer state.
///
///     let presence = client.presence(of: list)
///     presence.show(PresencePlace(object: row, property: title, selection: .init(anchor: 4, head: 4)))
///     for try await present in presence {
///         for other in present.others { draw(other.user, at: other.place) }
///     }
///
/// A slow consumer gets only the newest state. After a lost connection, the client shows itself and follows the others
/// again. What refers to a row comes after the diff of a subscription with that row. The sequence ends with a
/// `NestError` if the client is closed, or the object does not exist. Iterate it from one loop. When the value and its
/// loop are released, the client leaves the scope, unless another value shows it there.
public final class Presence: AsyncSequence, Sendable {
    public typealias Element = PresentClients

    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The client stays present while a loop runs.
        fileprivate let presence: Presence
        fileprivate var states: AsyncThrowingStream<PresentClients, any Error>.Iterator

        public mutating func next() async throws -> PresentClients? {
            try await self.states.next(isolation: #isolation)
        }
    }

    public let scope: ObjectID
    private let states: AsyncThrowingStream<PresentClients, any Error>
    fileprivate let follower: PresenceFollower
    private let core: ClientCore

    fileprivate init(scope: ObjectID, core: ClientCore) {
        self.scope = scope
        self.core = core
        (self.states, self.follower) = AsyncThrowingStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    deinit {
        let (scope, id) = (self.scope, ObjectIdentifier(self))
        self.follower.finish()
        self.core.enqueue { $0.leavePresence(scope, id) }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(presence: self, states: self.states.makeAsyncIterator())
    }

    /// Shows where this client is, instead of what it showed before; `nil`: nowhere any more. Call it as often as
    /// something changes: the client sends the newest place, several times a second.
    public func show(_ place: PresencePlace?) { self.show(bytes: place?.presence) }

    /// Shows something that only your program understands: at most 1,024 bytes.
    public func show(bytes: [UInt8]?) {
        precondition((bytes?.count ?? 0) <= Limits.presenceBytesMax, "a presence has at most 1,024 bytes")
        let scope = self.scope
        self.core.enqueue { $0.setPresence(bytes, in: scope) }
    }
}

extension NestClient {
    /// Shows this client to others at an object, for example the root of an outline, and follows who else is there.
    public func presence(of scope: ObjectID) -> Presence {
        let presence = Presence(scope: scope, core: self.core)
        let (id, follower) = (ObjectIdentifier(presence), presence.follower)
        self.core.enqueue { $0.followPresence(scope, id, follower) }
        return presence
    }
}

typealias PresenceFollower = AsyncThrowingStream<PresentClients, any Error>.Continuation
