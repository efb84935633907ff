import NestModel
import NestStore

/// Sessions by their secret id and public number, each with its undo stacks; and the keys of all.
struct Sessions {
    private var numbers: [Identifier128: UInt64] = [:]
    private var ids: [UInt64: Identifier128] = [:]
    private var stacks: [UInt64: SessionStacks] = [:]
    private var saved: Set<UInt64> = []
    private var nextNumber: UInt64 = 1
    var keys = KeyIndex()

    /// From the store's journal.
    init(_ store: Store) throws {
        for (number, id) in try store.sessions() {
            self.numbers[id] = number
            self.ids[number] = id
            self.saved.insert(number)
            self.nextNumber = max(self.nextNumber, number + 1)
        }
        try store.forEachHeader { self.record($0) }
    }

    /// The session's number; a new one for an unknown session.
    mutating func number(of id: Identifier128) -> UInt64 {
        if let number = self.numbers[id] { return number }
        let number = self.nextNumber
        self.nextNumber += 1
        self.numbers[id] = number
        self.ids[number] = id
        return number
    }

    /// What must be written down before the session's first entry is; `nil` when it has been.
    func unsaved(_ number: UInt64) -> Identifier128? {
        self.saved.contains(number) ? nil : self.ids[number]
    }

    subscript(_ number: UInt64) -> SessionStacks { self.stacks[number] ?? SessionStacks() }

    /// Takes a committed transaction.
    mutating func record(_ header: JournalHeader) {
        self.saved.insert(header.sessionNumber)
        self.nextNumber = max(self.nextNumber, header.sessionNumber + 1)
        self.stacks[header.sessionNumber, default: SessionStacks()].record(header)
        self.keys.record(header)
    }

    mutating func dropJournal(through revision: Revision) {
        for number in self.stacks.keys { self.stacks[number]!.drop(through: revision) }
    }

    /// A session that never wrote and whose connection is gone leaves nothing.
    mutating func forget(_ number: UInt64) {
        guard !self.saved.contains(number), let id = self.ids.removeValue(forKey: number) else { return }
        self.numbers[id] = nil
    }

    var count: Int { self.numbers.count }
}
