import NestModel
import NestStore
import NestProtocol

/// The sessions, by their secret id and public number: their undo stacks, open groups and idempotency keys.
package final class Sessions {
    /// The numbers of the sessions, which a standby assigns too.
    package let numbers = SessionNumbers()
    private var stacks: [UInt64: SessionStacks] = [:]
    /// The time when the store last noted that a session writes, by session number.
    private var saved: [UInt64: Int64] = [:]
    var keys = KeyIndex()
    var coalescing = UndoCoalescing()
    /// Sessions whose undo state may differ from the one that their connections know.
    package var changed: Set<UInt64> = []
    /// The minimum time between two notes in the store that a session writes.
    private static let savedMicroseconds: Int64 = 24 * 3_600 * 1_000_000

    /// Rebuilds the sessions from the store's journal.
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

    /// Returns the session's number; a new one for an unknown session.
    package func number(of id: Identifier128) -> UInt64 { self.numbers.number(of: id) }

    /// Returns the record to save with the session's next entry; `nil` if it is saved already.
    func unsaved(_ number: UInt64, now: Int64) -> Store.Session? {
        if let saved = self.saved[number], now - saved < Self.savedMicroseconds { return nil }
        return self.numbers.id(of: number).map { Store.Session(number: number, id: $0, written: now) }
    }

    func noteSaved(_ session: Store.Session) {
        self.saved[session.number] = session.written
        self.numbers.noteSaved(session.number)
    }

    subscript(number: UInt64) -> SessionStacks { self.stacks[number] ?? SessionStacks() }

    /// Records a committed transaction.
    func record(_ header: JournalHeader) { self.record(1) { _ in header } }

    /// Records `count` committed transactions. Consecutive ones are often of one session, which is looked up once.
    @inline(__always)
    func record(_ count: Int, _ header: (Int) -> JournalHeader) {
        var start = 0
        while start < count {
            let first = header(start)
            var end = start + 1
            while end < count, header(end).sessionNumber == first.sessionNumber { end += 1 }
            self.noteWriting(first)
            self.record(start..<end, header, in: &self.stacks[first.sessionNumber, default: SessionStacks()])
            start = end
        }
    }

    private func noteWriting(_ header: JournalHeader) {
        if self.saved[header.sessionNumber] == nil {
            self.saved[header.sessionNumber] = header.time
            self.numbers.noteGiven(header.sessionNumber)
        }
        self.changed.insert(header.sessionNumber)
    }

    @inline(__always)
    private func record(_ range: Range<Int>, _ header: (Int) -> JournalHeader, in stacks: inout SessionStacks) {
        for index in range {
            let header = header(index)
            stacks.record(header)
            if header.key != nil { self.keys.record(header) }
        }
    }

    /// Skips an undo entry from now on. `answer`: the answer to the request, if it had a key.
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

    /// Forgets a session that never wrote and whose connection is gone.
    func forget(_ number: UInt64) {
        guard number > 0, self.saved[number] == nil else { return }
        self.remove(number)
    }

    private func remove(_ number: UInt64) {
        _ = self.numbers.remove(number)
        self.stacks[number] = nil
        self.saved[number] = nil
    }

    /// Closes idle groups, and forgets keys and runs that have expired.
    func tick(now: Int64) {
        self.keys.drop(before: now - Int64(Limits.idempotencyKeySeconds) * 1_000_000)
        self.changed.formUnion(self.coalescing.closeIdle(now: now))
        self.coalescing.dropRuns(before: now - Int64(Limits.coalesceMillisecondsMax) * 1_000)
    }

    /// Ends the group of a connection that is gone.
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

    /// Returns the sessions that are not connected and have not written since a time. The newest is not among them: its
    /// number must not be assigned again.
    private func expired(before time: Int64, _ connections: EngineConnections) -> [UInt64] {
        let next = self.numbers.next
        return self.saved.filter {
            $0.value < time && $0.key + 1 < next && !connections.isConnected(session: $0.key)
        }.map(\.key)
    }

    /// Returns the sessions above a maximum count that are not connected, those first that have not written for
    /// longest.
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

    // MARK: Cluster

    /// Begins to assign numbers, because this node leads.
    func lead() { self.numbers.beginAssigning() }

    /// Ends what only a leader knows: open groups, and the numbers of sessions that have never written.
    func follow() {
        self.changed.formUnion(self.coalescing.endGroups())
        self.numbers.endAssigning(keeping: self.saved.keys)
    }

    /// Whether all nodes know the session.
    func isKnown(_ number: UInt64) -> Bool { self.saved[number] != nil }

    /// Takes a session that another node has saved.
    func take(_ session: Store.Session) {
        self.numbers.add(session.id, session.number)
        self.noteSaved(session)
        self.changed.insert(session.number)
    }

    /// Forgets a session that the leader has forgotten.
    func drop(_ number: UInt64) {
        self.numbers.drop(number)
        self.stacks[number] = nil
        self.saved[number] = nil
    }
}
