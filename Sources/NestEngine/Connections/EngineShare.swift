import NIOConcurrencyHelpers
import NestModel
import NestProtocol

/// The state of the engine that a standby needs to answer reads while the engine works. It is the state as of the last
/// effects that were handed out. A lock guards it.
package final class EngineShare: Sendable {
    /// An admitted connection.
    package struct Client: Sendable {
        package var scope: AuthorisationScope
        /// Whether the client understands compressed frames.
        package var takesCompressed: Bool
        /// Whether the client has not been sent the state of its subscriptions at the head. An answer might overtake
        /// that.
        package var isWaiting = false
        /// Whether the server's model is another than the one that the client was welcomed with: an empty list of
        /// properties means those of that one.
        package var hasFormerModel = false
        /// The model that a standby has welcomed the client with.
        var welcomedModel: ServedModel?

        package init(scope: AuthorisationScope, takesCompressed: Bool) {
            self.scope = scope
            self.takesCompressed = takesCompressed
        }

        init(_ connection: EngineConnection, isWaiting: Bool) {
            self.scope = connection.scope
            self.takesCompressed = connection.takesCompressed
            self.hasFormerModel = connection.formerModel != nil
            self.isWaiting = isWaiting || connection.isAwaitingRevision
        }
    }

    /// The state of the store as of the last effects that were handed out.
    package struct Progress: Equatable, Sendable {
        package var head: Revision
        package var oldestRevision: Revision
        /// The engine's turn whose effects were handed out last, as the caller numbers turns.
        package var turn: UInt64 = 0
        package var modelHash: UInt64 = 0
    }

    private struct State {
        var progress: Progress
        var model: ServedModel
        var clients: [ConnectionID: Client] = [:]
        var tokens: Set<UInt64>
        /// The recipients of effects that were delivered, and will be handed out. An answer would come after them, and
        /// might show less.
        var ahead: [ConnectionID] = []

        /// The client of a connection that a standby may answer.
        func client(_ id: ConnectionID) -> Client? {
            guard let client = self.clients[id], !client.isWaiting, !self.ahead.contains(id) else { return nil }
            return client
        }
    }

    package let historyID: Identifier128
    package let sessions: SessionNumbers
    private let state: NIOLockedValueBox<State>

    init(
        historyID: Identifier128,
        model: ServedModel,
        _ progress: Progress,
        tokens: Set<UInt64>,
        _ sessions: SessionNumbers
    ) {
        self.historyID = historyID
        self.sessions = sessions
        self.state = NIOLockedValueBox(State(progress: progress, model: model, tokens: tokens))
    }

    // MARK: The engine's side

    /// What the effects of a batch change in the shared state.
    struct Update: Sendable {
        var progress: Progress
        /// The changed clients; `nil` for one that is gone.
        var clients: [(ConnectionID, Client?)]
        /// All tokens if they have changed.
        var tokens: Set<UInt64>?
        var model: ServedModel
    }

    /// Delivers effects that `handOut` will hand out. Until then no recipient gets an answer of a standby.
    func ahead(to recipients: [ConnectionID], _ deliver: () -> Void) {
        self.state.withLockedValue { state in
            state.ahead = recipients
            deliver()
        }
    }

    /// Hands out effects and updates the shared state, as one atomic step.
    func handOut(_ update: Update, _ deliver: () -> Void) {
        self.state.withLockedValue { state in
            deliver()
            state.progress = update.progress
            state.model = update.model
            for (id, client) in update.clients { state.clients[id] = client }
            if let tokens = update.tokens { state.tokens = tokens }
            state.ahead = []
        }
    }

    // MARK: The standby's side

    package var progress: Progress { self.state.withLockedValue { $0.progress } }
    /// The model as of the last effects that were handed out.
    package var model: ServedModel { self.state.withLockedValue { $0.model } }

    /// Returns the model that a standby has welcomed a client with.
    func model(of id: ConnectionID) -> ServedModel? {
        self.state.withLockedValue { $0.clients[id]?.welcomedModel }
    }

    /// Returns the client of a connection; `nil` if the standby must not answer it. One that was welcomed with the
    /// model before must first be sent the new one, which the engine does.
    package func client(_ id: ConnectionID) -> Client? {
        self.state.withLockedValue { state in
            guard let client = state.client(id) else { return nil }
            if let welcomed = client.welcomedModel, welcomed !== state.model { return nil }
            return client
        }
    }

    package func isGood(token: UInt64?) -> Bool {
        guard let token else { return true }
        return self.state.withLockedValue { $0.tokens.contains(token) }
    }

    /// Hands out a WELCOME with the current state.
    package func welcome(
        _ id: ConnectionID,
        _ client: Client,
        sessionNumber: UInt64,
        _ deliver: (EngineWelcome) -> Void
    ) {
        self.state.withLockedValue { state in
            if state.clients[id] == nil {
                var client = client
                client.welcomedModel = state.model
                state.clients[id] = client
            }
            deliver(
                EngineWelcome(
                    historyID: self.historyID,
                    revision: state.progress.head,
                    oldestRevision: state.progress.oldestRevision,
                    model: state.model,
                    sessionNumber: sessionNumber
                )
            )
        }
    }

    /// Hands out an answer and returns `true` if `isGood` accepts the engine's progress and the connection may be
    /// answered now. Otherwise does nothing and returns `false`.
    package func handOut(to id: ConnectionID, if isGood: (Progress) -> Bool, _ deliver: () -> Void) -> Bool {
        self.state.withLockedValue { state in
            guard state.client(id) != nil, isGood(state.progress) else { return false }
            deliver()
            return true
        }
    }
}
