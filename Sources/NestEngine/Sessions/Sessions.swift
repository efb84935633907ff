import NestModel
import NestStore
import NestProtocol

/// The sessions, by their secret id and public number: their undo stacks, open groups and idempotency keys.
package final class Sessions {
    /// A standby gives numbers too.
    package let numbers = SessionNumbers()
    private var stacks: [UInt64: SessionStacks] = [:]
    /// When the store last noted that a session writes.
    private var saved: [UInt64: Int64] = [:]
    var keys = KeyIndex()
    var coalescing = UndoCoalescing()
    /// Sessions whose undo state may be another than their connections know.
    package var changed: Set<UInt64> = []
    /// How often the store notes at most that a session writes.
    private static let savedMicroseconds: Int64 = 24 * 3_600 * 1_000_000

    /// From the store's journal.
    package init(_ store: Store) throws(StoreError) {
        for session in try store.sessions() {
            self.numbers.add(session.id, session.number)
            self.saved[session.number] = session.written
        }
        let answers = try store.blocked()
        let blocked = Set(answers.map(\.revision))
        try store.forEachHeader { header in
            self.record(header)
            self.coalescing.restore(header)
            if blocked.contains(header.revision) { self.block(header.revision, header.sessionNumber) }
        }
        for answer in answers { if let header = answer.answer { self.keys.record(header, isChanged: false) } }
        self.changed = []
    }

    /// The session's number; a new one for an unknown session.
    package func number(of id: Identifier128) -> UInt64 { self.numbers.number(of: id) }

    /// What must be written down before the session's next entry is; `nil` when it has been.
    func unsaved(_ number: UInt64, now: Int64) -> Store.Session? {
        if let saved = self.saved[number], now - saved < Self.savedMicroseconds { return nil }
        return self.numbers.id(of: number).map { Store.Session(number: number, id: $0, written: now) }
    }

    func noteSaved(_ session: Store.Session) {
        self.saved[session.number] = session.written
    }

    subscript(number: UInt64) -> SessionStacks { self.stacks[number] ?? SessionStacks() }

    /// Takes a committed transaction.
    func record(_ header: JournalHeader) {
        if self.saved[header.sessionNumber] == nil {
            self.saved[header.sessionNumber] = header.time
            self.numbers.noteGiven(header.sessionNumber)
        }
        self.stacks[header.sessionNumber, default: SessionStacks()].record(header)
        self.keys.record(header)
        self.changed.insert(header.sessionNumber)
    }

    /// Passes over an undo entry from now on; `answer`: to the request, when it had a key.
    func block(_ revision: Revision, _ number: UInt64, answer: JournalHeader? = nil) {
        self.stacks[number]?.block(revision)
        if let answer { self.keys.record(answer, isChanged: false) }
        self.changed.insert(number)
    }

    func dropJournal(through revision: Revision) {
        for number in self.stacks.keys where self.stacks[number]!.drop(through: revision) {
            self.changed.insert(number)
        }
    }

    /// A session that never wrote and whose connection is gone leaves nothing.
    func forget(_ number: UInt64) {
        guard self.saved[number] == nil else { return }
        self.remove(number)
    }

    private func remove(_ number: UInt64) {
        _ = self.numbers.remove(number)
        self.stacks[number] = nil
        self.saved[number] = nil
    }

    /// Closes idle groups and forgets what no request can name any more.
    func tick(now: Int64) {
        self.keys.drop(before: now - Int64(Limits.idempotencyKeySeconds) * 1_000_000)
        self.changed.formUnion(self.coalescing.closeIdle(now: now))
        self.coalescing.dropRuns(before: now - Int64(Limits.coalesceMillisecondsMax) * 1_000)
    }

    /// The connection is gone: ends its group.
    func leave(_ connection: EngineConnection) {
        if self.coalescing.leave(connection.id) { self.changed.insert(connection.session) }
    }

    /// Forgets sessions that have been unused for long, with their undo entries.
    func forgetUnused(_ store: Store, _ connections: EngineConnections, now: Int64) throws(StoreError) {
        let expired = self.expired(before: now - Int64(Limits.sessionSeconds) * 1_000_000, connections)
        let forgotten = expired + self.surplus(over: Limits.sessionsMax, besides: expired, connections)
        guard !forgotten.isEmpty else { return }
        try store.forgetSessions(forgotten)
        for number in forgotten { self.remove(number) }
    }

    /// Sessions that are not connected and have not written since a time. Not the newest: its number must not be given
    /// again.
    private func expired(before time: Int64, _ connections: EngineConnections) -> [UInt64] {
        let next = self.numbers.next
        return self.saved.filter {
            $0.value < time && $0.key + 1 < next && !connections.isConnected(session: $0.key)
        }.map(\.key)
    }

    /// Sessions beyond a count that are not connected, those first that have not written for longest.
    private func surplus(over max: Int, besides expired: [UInt64], _ connections: EngineConnections) -> [UInt64] {
        let count = self.saved.count - expired.count - max
        guard count > 0 else { return [] }
        let expired = Set(expired)
        let next = self.numbers.next
        let candidates = self.saved.filter {
            $0.key + 1 < next && !expired.contains($0.key) && !connections.isConnected(session: $0.key)
        }
        return candidates.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.prefix(count).map(\.key)
    }

    var count: Int { self.numbers.count }
}
