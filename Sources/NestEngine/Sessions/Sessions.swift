import NestModel
import NestStore

/// Sessions by their secret id and public number, each with its undo stacks; and the keys of all.
struct Sessions {
    /// A standby gives numbers too.
    let numbers = SessionNumbers()
    private var stacks: [UInt64: SessionStacks] = [:]
    /// When the store was told last that a session writes.
    private var saved: [UInt64: Int64] = [:]
    var keys = KeyIndex()
    var joins = EntryJoins()
    /// Sessions whose undo state may be another than their connections were told.
    var changed: Set<UInt64> = []
    /// At most so often is the store told that a session writes.
    private static let savedMicroseconds: Int64 = 24 * 3_600 * 1_000_000

    /// From the store's journal.
    init(_ store: Store) throws {
        for session in try store.sessions() {
            self.numbers.add(session.id, session.number)
            self.saved[session.number] = session.written
        }
        let answers = try store.blocked()
        let blocked = Set(answers.map(\.revision))
        try store.forEachHeader { header in
            self.record(header)
            self.joins.restore(header)
            if blocked.contains(header.revision) { self.block(header.revision, header.sessionNumber) }
        }
        for answer in answers { if let header = answer.answer { self.keys.record(header, isChanged: false) } }
        self.changed = []
    }

    /// The session's number; a new one for an unknown session.
    func number(of id: Identifier128) -> UInt64 { self.numbers.number(of: id) }

    /// What must be written down before the session's next entry is; `nil` when it has been.
    func unsaved(_ number: UInt64, now: Int64) -> Store.Session? {
        if let saved = self.saved[number], now - saved < Self.savedMicroseconds { return nil }
        return self.numbers.id(of: number).map { Store.Session(number: number, id: $0, written: now) }
    }

    mutating func noteSaved(_ session: Store.Session) {
        self.saved[session.number] = session.written
    }

    subscript(_ number: UInt64) -> SessionStacks { self.stacks[number] ?? SessionStacks() }

    /// Takes a committed transaction.
    mutating func record(_ header: JournalHeader) {
        if self.saved[header.sessionNumber] == nil {
            self.saved[header.sessionNumber] = header.time
            self.numbers.noteGiven(header.sessionNumber)
        }
        self.stacks[header.sessionNumber, default: SessionStacks()].record(header)
        self.keys.record(header)
        self.changed.insert(header.sessionNumber)
    }

    /// Passes over an undo entry from now on; `answer`: to the request, when it had a key.
    mutating func block(_ revision: Revision, _ number: UInt64, answer: JournalHeader? = nil) {
        self.stacks[number]?.block(revision)
        if let answer { self.keys.record(answer, isChanged: false) }
        self.changed.insert(number)
    }

    mutating func dropJournal(through revision: Revision) {
        for number in self.stacks.keys where self.stacks[number]!.drop(through: revision) {
            self.changed.insert(number)
        }
    }

    /// A session that never wrote and whose connection is gone leaves nothing.
    mutating func forget(_ number: UInt64) {
        guard self.saved[number] == nil else { return }
        self.remove(number)
    }

    private mutating func remove(_ number: UInt64) {
        _ = self.numbers.remove(number)
        self.stacks[number] = nil
        self.saved[number] = nil
    }

    /// Sessions that are not connected and have not written since a time. Not the newest: its number must not be given
    /// again.
    func expired(before time: Int64, isConnected: (UInt64) -> Bool) -> [UInt64] {
        let next = self.numbers.next
        return self.saved.filter { $0.value < time && $0.key + 1 < next && !isConnected($0.key) }.map(\.key)
    }

    /// Sessions above a number that are not connected, those first that have not written for longest.
    func surplus(over max: Int, besides expired: [UInt64], isConnected: (UInt64) -> Bool) -> [UInt64] {
        let count = self.saved.count - expired.count - max
        guard count > 0 else { return [] }
        let expired = Set(expired)
        let next = self.numbers.next
        let candidates = self.saved.filter {
            $0.key + 1 < next && !expired.contains($0.key) && !isConnected($0.key)
        }
        return candidates.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.prefix(count).map(\.key)
    }

    /// Forgets sessions that the store has forgotten.
    mutating func expire(_ numbers: [UInt64]) {
        for number in numbers { self.remove(number) }
    }

    var count: Int { self.numbers.count }
}
