import DequeModule
import NestModel
import NestStore

/// Token scopes as the engine's turns go.
extension Engine {
    /// What a scope allows a request that is about to be done; `nil` when everything is allowed.
    func confinement(_ scope: AuthorisationScope) throws(NestError) -> Confinement? {
        try scope.confinement(self.store, self.scopes)
    }

    /// Refuses an object that is known to be outside a scope, as one that never was, without reading anything. `nil`: it is
    /// inside, or it is not known.
    package func refusal(of object: ObjectID, in scope: AuthorisationScope) -> NestError? {
        guard case .subtree(let grant) = scope, self.scopes.members(grant)?.contains(object) == false else {
            return nil
        }
        return NestError(.notFound, "there is no object with id \(object)", object: object)
    }

    /// Keeps a request back as long as its scope is being read. Returns whether it was.
    func holdForScope(_ id: ConnectionID, _ input: EngineInput) -> Bool {
        guard self.scopes.hasBacklog, let connection = self.connections[id] else { return false }
        return self.scopes.hold(connection.scope, input)
    }

    /// Has a request wait until the sub-trees that it is about have been read. Other requests for results of the connection
    /// wait behind it.
    func holdForSubtrees(_ keys: [SubtreeKey], _ id: ConnectionID, _ requestID: UInt32, _ request: EngineRequest) {
        guard let connection = self.connections[id] else { return }
        for key in keys { self.scopes.retain(key) }
        connection.awaitedSubtrees += keys
        connection.isAwaitingSubtrees = true
        connection.waiting.prepend((requestID, request))
        self.changedClients.note(id)
        self.awaitingSubtrees.append(id)
    }

    /// Gives their turn to connections whose sub-trees have been read.
    private func endAwaiting() {
        self.awaitingSubtrees.removeAll { id in
            guard let connection = self.connections[id] else { return true }
            guard !connection.awaitedSubtrees.contains(where: { self.scopes.awaits($0) }) else { return false }
            connection.isAwaitingSubtrees = false
            self.giveTurn(id, connection)
            return true
        }
    }

    /// The request that the connection waited for has been answered, or waits anew; or the connection is gone.
    func release(_ awaited: [SubtreeKey]) {
        for key in awaited { self.scopes.release(key) }
    }

    /// Reads on in the scopes whose members are not all known.
    func readScopes() {
        guard self.scopes.isUnread else { return }
        do {
            try self.store.reading { try self.scopes.read() }
        } catch {
            let failure = StoreErrorBox.storeError(error)
            if failure.isFatal { self.failure = self.failure ?? failure }
        }
        if !self.awaitingSubtrees.isEmpty { self.endAwaiting() }
    }

    /// Drops what scopes without connections had.
    func dropUnusedScopes(now: Int64) {
        self.scopes.dropUnused(before: now - Int64(Limits.unusedResultSeconds) * 1_000_000)
    }
}
