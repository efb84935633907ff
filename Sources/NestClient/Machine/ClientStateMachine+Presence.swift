import NestModel
import NestProtocol

/// What the client shows in a scope, and what it knows of the others there.
struct PresenceScope: Sendable {
    /// `nil`: the client shows nothing.
    var bytes: [UInt8]?
    var others: [UInt64: PresenceState] = [:]
    /// Whether `others` is the state of the server now.
    var isLive = false
}

/// Presence in scopes, for all that use one. The next connection shows and follows the same again.
extension ClientStateMachine {
    /// Handles the first user of a scope.
    package mutating func followPresence(_ scope: ObjectID) -> [ClientAction] {
        if case .closed(let error) = self.phase { return [.endPresence(scope, error)] }
        self.presences[scope] = PresenceScope()
        if case .ready = self.phase { self.requestPresence(scope) }
        return self.connectIfIdle() + self.flush()
    }

    /// Handles the departure of the last user of a scope.
    package mutating func unfollowPresence(_ scope: ObjectID) -> [ClientAction] {
        guard let known = self.presences.removeValue(forKey: scope), case .ready = self.phase else { return [] }
        if known.bytes != nil { self.submit(SetPresence(scope: scope, bytes: nil), .noCaller) }
        self.submit(FollowPresence(scope: scope, follows: false), .noCaller)
        return self.flush()
    }

    /// Shows something in a scope, on this connection and on later ones. `nil`: nothing.
    package mutating func setPresence(_ bytes: [UInt8]?, in scope: ObjectID) -> [ClientAction] {
        guard self.presences[scope] != nil else { return [] }
        self.presences[scope]?.bytes = bytes
        guard case .ready = self.phase else { return [] }
        self.submit(SetPresence(scope: scope, bytes: bytes), .presence(scope, isShown: true))
        return self.flush()
    }

    /// Whether the client shows this already, or will as soon as it is connected.
    package func shows(_ bytes: [UInt8]?, in scope: ObjectID) -> Bool { self.presences[scope]?.bytes == bytes }

    /// Leaves all scopes, because the client is about to close its connection for good.
    mutating func leavePresences() -> [ClientAction] {
        guard case .ready = self.phase else { return [] }
        for (scope, known) in self.presences where known.bytes != nil {
            self.submit(SetPresence(scope: scope, bytes: nil), .noCaller)
        }
        return self.flush()
    }

    /// Queues what shows and follows the scopes on a new connection.
    mutating func requestPresences() {
        // Another server may have given the number to another client. PRESENT comes before the next PRESENCE.
        self.presenceNumber = 0
        for scope in self.presences.keys.sorted(by: { $0.rawValue < $1.rawValue }) { self.requestPresence(scope) }
    }

    private mutating func requestPresence(_ scope: ObjectID) {
        self.submit(FollowPresence(scope: scope, follows: true), .presence(scope, isShown: false))
        guard let bytes = self.presences[scope]?.bytes else { return }
        self.submit(SetPresence(scope: scope, bytes: bytes), .presence(scope, isShown: true))
    }

    private mutating func submit(_ message: some Message, _ owner: OutgoingRequest.Owner) {
        _ = self.requests.submit(OutgoingRequest(owner: owner, kind: .connection, message))
    }

    // MARK: Received

    mutating func received(_ message: PresenceMessage) -> [ClientAction] {
        guard var known = self.presences[message.scope] else { return [] }
        if message.isWhole { known.others = [:] }
        for change in message.changes { known.others[change.number] = change.state }
        known.isLive = true
        self.presences[message.scope] = known
        return [self.deliverPresence(message.scope)]
    }

    mutating func received(_ present: Present, id: UInt32) -> [ClientAction] {
        guard let entry = self.requests.finish(id) else { return [] }
        var actions: [ClientAction] = []
        if present.number > 0, present.number != self.presenceNumber {
            self.presenceNumber = present.number
            actions = self.presences.keys.sorted { $0.rawValue < $1.rawValue }.map { self.deliverPresence($0) }
        }
        if case .caller(let token) = entry.request.owner {
            actions.append(.fail(token, NestClient.unexpected(.present)))
        }
        return actions + self.afterAnswer()
    }

    /// The server does not show the client now, or does not let it follow. Only the latter ends it: the next state that
    /// is set may be accepted.
    mutating func refused(_ error: NestError, presence scope: ObjectID, isShown: Bool) -> [ClientAction] {
        guard !isShown, self.presences.removeValue(forKey: scope) != nil else { return [] }
        return [.endPresence(scope, error)]
    }

    mutating func losePresences() -> [ClientAction] {
        let live = self.presences.filter(\.value.isLive).keys.sorted { $0.rawValue < $1.rawValue }
        for scope in live { self.presences[scope]?.isLive = false }
        return live.map { self.deliverPresence($0) }
    }

    mutating func endPresences(_ error: NestError) -> [ClientAction] {
        defer { self.presences = [:] }
        return self.presences.keys.sorted { $0.rawValue < $1.rawValue }.map { .endPresence($0, error) }
    }

    /// What the client knows of a scope; `nil`: nothing yet.
    package func presentClients(in scope: ObjectID) -> PresentClients? {
        guard let known = self.presences[scope], known.isLive || !known.others.isEmpty else { return nil }
        let clients = known.others.values.sorted { $0.number < $1.number }
        return PresentClients(
            clients: clients.map { PresentClient($0, isSelf: $0.number == self.presenceNumber) },
            isLive: known.isLive
        )
    }

    private func deliverPresence(_ scope: ObjectID) -> ClientAction {
        .deliverPresence(scope, self.presentClients(in: scope) ?? PresentClients())
    }
}
