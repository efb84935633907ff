import NIOConcurrencyHelpers
import NestModel
import NestProtocol

/// What a standby must know of the engine to answer reads while the engine works: the state of clients as of the last
/// effects that were handed out. A lock guards it.
package final class EngineShare: Sendable {
    /// A connection that was let in.
    package struct Client: Sendable {
        package var scope: AuthorisationScope
        /// It takes compressed frames.
        package var takesCompressed: Bool
        /// It has not been sent what its subscriptions show at the head: an answer might overtake that.
        package var isWaiting = false

        package init(scope: AuthorisationScope, takesCompressed: Bool) {
            self.scope = scope
            self.takesCompressed = takesCompressed
        }

        init(_ connection: EngineConnection, isWaiting: Bool) {
            self.scope = connection.scope
            self.takesCompressed = connection.takesCompressed
            self.isWaiting = isWaiting
        }
    }

    /// How far the effects of the engine were handed out.
    package struct Progress: Equatable, Sendable {
        package var head: Revision
        package var oldestRevision: Revision
        /// The engine's turn of which effects were handed out last, as the caller numbers turns.
        package var turn: UInt64 = 0
    }

    private struct State {
        var progress: Progress
        var clients: [ConnectionID: Client] = [:]
        var tokens: Set<UInt64>
    }

    package let historyID: Identifier128
    package let modelHash: UInt64
    package let sessions: SessionNumbers
    private let state: NIOLockedValueBox<State>

    init(
        historyID: Identifier128,
        modelHash: UInt64,
        _ progress: Progress,
        tokens: Set<UInt64>,
        _ sessions: SessionNumbers
    ) {
        self.historyID = historyID
        self.modelHash = modelHash
        self.sessions = sessions
        self.state = NIOLockedValueBox(State(progress: progress, tokens: tokens))
    }

    // MARK: The engine's side

    /// Hands out effects, and notes how things stand with them, as one step. `clients`: those that have changed; `nil`
    /// for one that is gone. `tokens`: when they have changed.
    func handOut(
        _ progress: Progress,
        clients: [(ConnectionID, Client?)],
        tokens: Set<UInt64>?,
        _ deliver: () -> Void
    ) {
        self.state.withLockedValue { state in
            deliver()
            state.progress = progress
            for (id, client) in clients { state.clients[id] = client }
            if let tokens { state.tokens = tokens }
        }
    }

    // MARK: The standby's side

    package var progress: Progress { self.state.withLockedValue { $0.progress } }

    /// `nil`: the standby must not answer the connection.
    package func client(_ id: ConnectionID) -> Client? {
        self.state.withLockedValue { state in state.clients[id].flatMap { $0.isWaiting ? nil : $0 } }
    }

    package func isGood(token: UInt64?) -> Bool {
        guard let token else { return true }
        return self.state.withLockedValue { $0.tokens.contains(token) }
    }

    /// Hands out a WELCOME, which says how things stand.
    package func welcome(
        _ id: ConnectionID,
        _ client: Client,
        sessionNumber: UInt64,
        _ deliver: (EngineWelcome) -> Void
    ) {
        self.state.withLockedValue { state in
            if state.clients[id] == nil { state.clients[id] = client }
            deliver(
                EngineWelcome(
                    historyID: self.historyID,
                    revision: state.progress.head,
                    oldestRevision: state.progress.oldestRevision,
                    modelHash: self.modelHash,
                    sessionNumber: sessionNumber
                )
            )
        }
    }

    /// Hands out an answer that `isGood` for how far the engine is, and returns true; does nothing when it is not, or
    /// when the connection must not be answered now.
    package func handOut(to id: ConnectionID, if isGood: (Progress) -> Bool, _ deliver: () -> Void) -> Bool {
        self.state.withLockedValue { state in
            guard let client = state.clients[id], !client.isWaiting, isGood(state.progress) else { return false }
            deliver()
            return true
        }
    }
}
