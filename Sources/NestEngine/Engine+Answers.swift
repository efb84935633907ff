import NestModel
import NestStore

/// Passes each request that is not a write to the part that answers it.
extension Engine {
    func answer(
        _ request: EngineRequest,
        _ requestID: UInt32,
        _ connection: EngineConnection,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        if self.awaitsState(request, requestID, connection) { return }
        // Reads of objects are the most frequent requests; the others are copied for the question.
        if case .object = request {
        } else if self.waitsForReservation(request, requestID, connection) {
            return
        } else if self.isLeading, request.stagedValue != nil {
            return self.puts.append(ValuePuts.Item(requestID: requestID, request: request), of: connection.id)
        }
        self.admission.charge(request)
        do throws(StoreError) {
            guard let reply = try self.reply(to: request, requestID, connection, now: now, &effects) else { return }
            self.pushModel(&effects)
            self.replies.send(reply, connection.id, requestID, &effects)
        } catch .postponed(.unreadSubtrees) {
            self.admission.hold(request, requestID, connection, for: self.queries.live.related.takeUnread())
        } catch .uncertain {
            guard let replica else { return }
            self.note(.uncertain, replica, .token(connection.id, requestID: requestID, request), &effects)
        } catch {
            if let replica { self.noteLostLead(error, replica, &effects) }
            if case .overtaken = error, self.forwardToLeader(request, requestID, connection) { return }
            if error.isFatal { self.health.fail(error) }
            if case .forwarded = request { self.replica?.interrupt(connection.id, error.nestError) }
            self.replies.send(.failure(error.nestError), connection.id, requestID, &effects)
        }
    }

    /// Returns `nil` when the reply is among the effects, or follows later.
    private func reply(
        to request: EngineRequest,
        _ requestID: UInt32,
        _ connection: EngineConnection,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) -> EngineReply? {
        let (queries, id) = (self.queries, connection.id)
        switch request {
        case .subscribe(let fetch, let resume, let atLeast):
            let atLeast = self.reached(atLeast)
            guard fetch.outline == nil else {
                try queries.subscriptions.requireRoom(connection)
                try queries.outlines.subscribe(
                    connection,
                    requestID,
                    fetch,
                    resume,
                    atLeast: atLeast,
                    now: now,
                    &effects
                )
                return nil
            }
            try queries.requests.subscribe(connection, requestID, fetch, resume, atLeast: atLeast, now: now, &effects)
            return nil
        case .resubscribe(let view, let fetch) where fetch.outline != nil:
            guard connection.views.contains(view) else {
                throw StoreError.refused(.notFound, "the connection has no subscription to view \(view)")
            }
            try queries.outlines.resubscribe(connection, requestID, view, to: fetch, now: now, &effects)
            return nil
        case .setExpanded(let view, let states):
            try queries.outlines.setExpanded(connection, requestID, view, states, now: now, &effects)
            return nil
        case .resubscribe(let view, let fetch):
            try queries.requests.resubscribe(connection, requestID, view, to: fetch, now: now, &effects)
            return nil
        case .subscribeChanges(let since, let place, let entities):
            try queries.subscriptions.requireRoom(connection)
            try self.changeFeeds.subscribe(connection, requestID, since: since, place: place, entities, &effects)
            return nil
        case .unsubscribe(let view):
            if !self.changeFeeds.unsubscribe(id, view) {
                try queries.subscriptions.unsubscribe(id, view, now: now)
            }
            // Not held back on a blocked connection: the next SUBSCRIBE may get the same view id, and is answered at
            // once.
            effects.append(.reply(id, requestID: requestID, .done))
            return nil
        case .fetch(let fetch, let atLeast):
            let atLeast = self.reached(atLeast)
            // A client counts the values of a row by the model that it was welcomed with.
            let fetch = connection.formerModel.map { fetch.spelledOut(in: $0) } ?? fetch
            guard fetch.outline == nil else {
                try queries.outlines.fetch(connection, requestID, fetch, atLeast: atLeast, &effects)
                return nil
            }
            try queries.fetches.fetch(connection, requestID, fetch, atLeast: atLeast, now: now, &effects)
            return nil
        case .object(let object):
            let confinement = try connection.scope.confinement(self.store, self.scopes)
            return .object(try self.store.body(of: object, within: confinement))
        case .query(let query):
            return try query.reply(self, connection, now: now)
        case .statistics:
            return .statistics(self.statistics)
        case .undoState(let follows):
            return .undoState(self.undoStates.state(connection, follows: follows))
        case .setPresence(let scope, let bytes):
            return .present(try self.setPresence(bytes, in: scope, connection, now: now))
        case .followPresence(let scope, let follows):
            try self.followPresence(scope, follows, connection, now: now)
            return .done
        case .createToken(let grant, let secretHash):
            if self.forwardToLeader(request, requestID, connection) { return nil }
            try self.requireLead()
            let (number, change) = try self.tokens.create(grant, secretHash: secretHash, in: self.store, now: now)
            if let change { effects.append(.tokensChanged(change, by: connection.token)) }
            return .tokenCreated(number)
        case .revokeToken(let number):
            if self.forwardToLeader(request, requestID, connection) { return nil }
            try self.revokeToken(number, requestID, connection, now: now, &effects)
            return nil
        case .reserveIDs(let count):
            if self.forwardToLeader(request, requestID, connection) { return nil }
            try self.requireLead()
            if let refusal = self.health.refusal { throw .refused(refusal) }
            let session = self.sessions.unsaved(connection.session, now: now)
            let first = try self.store.reserveIDs(count, of: connection.session, unsaved: session)
            if let session { self.sessions.noteSaved(session) }
            return .reserved(first, count: count)
        case .putValue:
            // A leader writes it in parts.
            if self.forwardToLeader(request, requestID, connection) { return nil }
            preconditionFailure("a large value waits in a queue of its own")
        case .forwarded(let request, _, let isAgain):
            try self.replica?.requireLead(of: id)
            if isAgain, case .revokeToken(let number) = request, self.tokens.all[number] == nil { return .done }
            return try self.reply(to: request, requestID, connection, now: now, &effects)
        case .transaction, .undo, .redo, .revert, .beginGroup, .endGroup, .importSubtree:
            preconditionFailure("writes are committed before the rest is answered")
        }
    }

    /// The newest revision of a single node is its head; a node of a cluster has asked the log before.
    private func reached(_ atLeast: Revision) -> Revision { atLeast >= .newest ? self.store.head : atLeast }

    /// Revokes a token. Ends its connections after everything that they were sent before, also the one that revokes its
    /// own token.
    private func revokeToken(
        _ number: UInt64,
        _ requestID: UInt32,
        _ connection: EngineConnection,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        try self.requireLead()
        let change = try self.tokens.revoke(number, in: self.store, now: now)
        effects.append(.tokensChanged(change, by: connection.token))
        self.replies.send(.done, connection.id, requestID, &effects)
        self.endConnections(ofToken: number, now: now, &effects)
    }

    func endConnections(ofToken number: UInt64, now: Int64, _ effects: inout [EngineEffect]) {
        for id in self.connections.ids where self.connections[id]?.token == number {
            effects.append(.end(id, EngineTokens.revoked))
            // Its later requests are not performed.
            self.disconnect(id, isExpelled: true, now: now)
        }
    }

    /// Returns the refusal of an object that is known to be outside a scope; it is the same as for an object that never
    /// existed. Reads nothing. Returns `nil` when the object is inside, or when that is not known.
    package func refusal(of object: ObjectID, in scope: AuthorisationScope) -> NestError? {
        guard case .subtree(let grant) = scope, self.scopes.members(grant)?.contains(object) == false else {
            return nil
        }
        return NestError(.notFound, "there is no object with id \(object)", object: object)
    }
}
