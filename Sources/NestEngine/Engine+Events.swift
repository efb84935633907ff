import NestModel
import NestStore
import NestProtocol

/// Passes events other than requests to the parts that they concern.
extension Engine {
    func block(_ id: ConnectionID) {
        if let connection = self.connections[id] { self.queries.catchUpPushes.block(connection) }
    }

    /// Brings the subscriptions of a connection to the head, then sends the replies that waited for them.
    func drain(_ id: ConnectionID, now: Int64, _ effects: inout [EngineEffect]) {
        guard let connection = self.connections[id] else { return }
        self.changeFeeds.drained(connection)
        self.admission.drained(connection)
        defer { self.admission.giveTurn(connection) }
        guard connection.isBlocked else { return self.changeFeeds.sendNextPages(connection, &effects) }
        self.queries.catchUpPushes.unblock(connection, now: now, &effects)
        self.undoStates.push(to: connection, &effects)
        if !connection.isWaiting { self.replies.release(connection, &effects) }
    }

    /// `isExpelled`: the server has ended the connection, and does not wait for its session.
    func disconnect(_ id: ConnectionID, isExpelled: Bool = false, now: Int64) {
        guard let connection = self.connections.remove(id) else { return }
        self.presence.disconnect(id, isExpelled: isExpelled, now: now)
        self.presence.disconnect(.node(id), now: now)
        self.turns.remove(id)
        self.puts.remove(id)
        self.scopes.release(connection.scope, id, now: now)
        self.admission.release(connection.awaitedSubtrees)
        self.queries.subscriptions.leaveAll(connection, now: now)
        self.changeFeeds.endAll(connection)
        self.undoStates.leave(id)
        self.sessions.leave(connection)
        self.replica?.leave(id)
        self.replica?.reads.remove(id)
        // The record whose fate is open may save the session.
        guard self.replica?.open == nil, !self.connections.isConnected(session: connection.session) else { return }
        self.sessions.forget(connection.session)
    }

    /// Forgets a connection that is refused now, although a standby has answered its HELLO.
    func forgetWelcomed(_ id: ConnectionID, _ session: Identifier128) {
        let number = self.sessions.number(of: session)
        self.sessions.numbers.release(number)
        self.connections.changed.note(id)
        if !self.connections.isConnected(session: number) { self.sessions.forget(number) }
    }

    /// Trims the journal and forgets unused sessions. In a cluster the leader does it for all nodes.
    private func shrink(now: Int64, _ effects: inout [EngineEffect]) {
        if let replica, !replica.takesWrites { return }
        do throws(StoreError) {
            // More rows than were added since the last tick, so that the journal shrinks under any load.
            let rowsMax = 256 + 2 * self.counters.takeGroupsSinceTrim()
            if let dropped = try self.store.trimJournal(now: now, rowsMax: rowsMax) {
                self.sessions.dropJournal(through: dropped)
            }
            try self.sessions.forgetUnused(self.store, self.connections, now: now)
        } catch {
            // The next tick trims again; nothing is lost by a longer journal.
            if let replica { self.note(error, replica, .maintenance, &effects) }
        }
    }

    /// Enforces the limits of time and memory.
    func tick(now: Int64, _ effects: inout [EngineEffect]) {
        self.turns.forgetHalf()
        self.preparations.resume()
        ProgressMarks(connections: self.connections, store: self.store).push(to: self.connections.ids, &effects)
        self.sessions.tick(now: now)
        self.shrink(now: now, &effects)
        // The next tick notes them again.
        try? self.store.noteUse(self.tokens.takeUses(now: now))
        if let replica { replica.report(at: self.store.logState, &effects) }
        self.tickForwards(&effects)
        self.queries.live.dropUnused(now: now)
        self.scopes.dropUnused(before: now - Int64(Limits.unusedResultSeconds) * 1_000_000)
        self.queries.tick(now: now, &effects)
        if let replica { self.refuse(replica.reads.tick(self.store), &effects) }
    }
}
