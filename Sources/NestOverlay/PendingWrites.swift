import NestModel

/// The writes of one client that are not settled, in the order in which the client made them.
///
///      open ──ended──▶ queued
///     queued ──sent──▶ sent ──OWN or RECEIPT──▶ committed(r) ──all views at r──▶ settled
///       ▲               │ ├──RECEIPT, unchanged────────────────────────────────▶ settled
///       │               │ ├──ERROR, not to be repeated──▶ refused
///       │               │ ├──its outcome is unknown──▶ parked
///       │               └──link lost──▶ doubtful ──sent again──▶ sent
///       └──ERROR, to be repeated──┘       queued, doubtful ──another history──▶ parked
///
/// A write is laid over a view until the view's state has it. It decides nothing about when to send, and uses no clock.
package struct PendingWrites: Sendable {
    /// Identifies a write of this client.
    package struct ID: Hashable, Comparable, Sendable {
        package let rawValue: UInt64

        package init(_ rawValue: UInt64) {
            self.rawValue = rawValue
        }

        package static func < (a: ID, b: ID) -> Bool { a.rawValue < b.rawValue }
    }

    package enum State: Hashable, Sendable {
        /// Its group is not ended: steps may follow. It is shown; it and the writes after it wait.
        case open
        case queued
        /// Under way, as the request with this number. The number is the client's: OWN and receipts are found by it.
        case sent(request: UInt64)
        /// The connection was lost before the answer.
        case doubtful
        /// The server has it since this revision. Not every view has reached the revision.
        case committed(Revision)
        /// The store has another history now. Object ids may mean other objects, so it is neither shown nor sent.
        case parked
    }

    package struct Write: Sendable {
        package let id: ID
        /// Its place in the order of the program: one that is made instead of a refused one has that one's.
        package let place: ID
        package internal(set) var transaction: UnconfirmedTransaction
        /// Writes that follow each other with the same key are one entry of the server's undo stack.
        let coalescing: String?
        package internal(set) var state: State
        /// Whether it was sent before.
        var wasSent = false
        /// How often the server could not say what became of it.
        package internal(set) var failures = 0
        /// Whether a connection was lost before its answer. Until the answer it is not known whether the states that
        /// arrive have it.
        var isUnknown = false
        /// Whether the client has asked to undo it. It is then not shown any more.
        package internal(set) var isRetracted = false
        /// Whether the server has it and the undo that was asked for has not arrived: it would be shown again.
        var isBeingUndone: Bool {
            if case .committed = self.state { self.isRetracted && !self.isUndone } else { false }
        }

        var isUndone = false
        /// Whether the server must refuse it, by what was known once. It is then not shown, also when the reason, such
        /// as an own delete, is confirmed and forgotten.
        package internal(set) var isHopeless = false
        /// Whether all views that follow the server have it.
        var isSettled = false
    }

    /// The writes that are not settled, oldest first.
    package internal(set) var writes: [Write] = []
    /// The undos and redos that are not answered, oldest first.
    package internal(set) var undos: [PendingUndo] = []
    private var nextID: UInt64 = 1
    var nextUndo: UInt64 = 1
    /// The redos that were not undone, oldest first.
    var redone: [Redone] = []
    /// The newest write, also if it is settled.
    var newest: ID { ID(self.nextID - 1) }
    /// Revisions of own writes that OWN has named, and whose changes have not arrived completely.
    private var open: Set<Revision> = []
    /// The objects that the last refused writes were to make.
    private var unmade: [(write: ID, objects: Set<ObjectID>)] = []
    private static let unmadeMax = 64

    package init() {}

    package subscript(id: ID) -> Write? { self.writes.first { $0.id == id } }

    /// Whether the changes of an own write are arriving: some views have it, and others do not yet.
    package var isArriving: Bool { !self.open.isEmpty }

    /// Whether the server has a write that the client has taken back, and its undo is not answered: the views would
    /// show it again.
    package var isTakingBack: Bool { self.writes.contains(where: \.isBeingUndone) }

    /// Whether a write is under way again whose answer was lost: the states that arrive may have it already.
    package var isRepeating: Bool {
        self.writes.contains { write in
            if case .sent = write.state { write.isUnknown } else { false }
        }
    }

    // MARK: The client

    /// Adds a write, by default as the last one. `place`: that of a refused write. The new one comes before those that
    /// were made after it and are not sent.
    package mutating func add(
        _ transaction: UnconfirmedTransaction,
        isOpen: Bool = false,
        place: ID? = nil,
        coalescing: String? = nil
    ) -> ID {
        let id = ID(self.nextID)
        self.nextID += 1
        let write = Write(
            id: id,
            place: place ?? id,
            transaction: transaction,
            coalescing: coalescing,
            state: isOpen ? .open : .queued
        )
        for index in self.unmade.indices {
            self.unmade[index].objects.subtract(transaction.mutations.compactMap(\.reserved))
        }
        let index = self.writes.firstIndex { [.open, .queued].contains($0.state) && $0.place > write.place }
        guard let index else {
            self.writes.append(write)
            return id
        }
        self.writes.insert(write, at: index)
        // These may depend on it.
        self.reconsider()
        return id
    }

    /// Whether a write waits that comes before another.
    package func hasQueued(before id: ID) -> Bool {
        self.writes.prefix { $0.id != id }.contains { $0.state == .queued }
    }

    /// Gives an open write other steps: those that it had, and more.
    package mutating func replace(_ id: ID, with transaction: UnconfirmedTransaction) {
        guard let index = self.index(id), self.writes[index].state == .open else { return }
        self.writes[index].transaction = transaction
    }

    /// An open write has all its steps.
    package mutating func close(_ id: ID) {
        guard let index = self.index(id), self.writes[index].state == .open else { return }
        self.writes[index].state = .queued
    }

    /// Forgets a write that was not sent. Returns it, or `nil` if it was.
    package mutating func withdraw(_ id: ID) -> Write? {
        guard let index = self.index(id), !self.writes[index].wasSent,
            self.writes[index].state == .queued || self.writes[index].state == .open
        else { return nil }
        self.reconsider()
        return self.writes.remove(at: index)
    }

    /// Removes a parked write.
    package mutating func discard(_ id: ID) {
        if let index = self.index(id), self.writes[index].state == .parked { self.writes.remove(at: index) }
    }

    // MARK: The connection

    package mutating func sent(_ id: ID, request: UInt64) {
        guard let index = self.index(id) else { return }
        self.writes[index].wasSent = true
        switch self.writes[index].state {
        case .queued, .doubtful, .sent: self.writes[index].state = .sent(request: request)
        case .open, .committed, .parked: break
        }
    }

    /// OWN: a revision that the views reach next is that of a request.
    package mutating func named(_ request: UInt64, _ revision: Revision) {
        guard let index = self.writes.firstIndex(where: { $0.state == .sent(request: request) }) else { return }
        self.writes[index].state = .committed(revision)
        self.writes[index].isUnknown = false
        self.noteUndoable(self.writes[index].id, revision)
        self.open.insert(revision)
    }

    /// PROGRESS: all changes up to a revision have arrived.
    package mutating func progressed(to revision: Revision) {
        self.open = self.open.filter { $0 > revision }
    }

    /// RECEIPT. Returns whether the write is settled, because it changed nothing.
    @discardableResult package mutating func answered(_ id: ID, revision: Revision, isChanged: Bool) -> Bool {
        self.open.remove(revision)
        guard let index = self.index(id) else { return false }
        guard isChanged else {
            self.writes.remove(at: index)
            return true
        }
        self.writes[index].state = .committed(revision)
        self.writes[index].isUnknown = false
        self.noteUndoable(id, revision)
        return false
    }

    /// ERROR that says that a repetition cannot help. Returns the write, which goes.
    package mutating func refused(_ id: ID) -> Write? {
        self.reconsider()
        guard let index = self.index(id) else { return nil }
        let write = self.writes.remove(at: index)
        let objects = Set(write.transaction.mutations.compactMap(\.reserved))
        if !objects.isEmpty { self.unmade.append((id, objects)) }
        if self.unmade.count > Self.unmadeMax { self.unmade.removeFirst() }
        return write
    }

    /// Returns the refused write that was to make an object which another write names.
    package func cause(of id: ID) -> ID? {
        guard !self.unmade.isEmpty, let write = self[id] else { return nil }
        let needed = Set(write.transaction.mutations.flatMap(\.needed))
        return self.unmade.last { !$0.objects.isDisjoint(with: needed) }?.write
    }

    /// Whether a refused write may be the cause of another refusal.
    package func isCause(_ id: ID) -> Bool { self.unmade.contains { $0.write == id } }

    /// It is not known whether the server has a write, or it must not be sent to this one. It is neither shown nor
    /// sent.
    package mutating func park(_ id: ID) { if let index = self.index(id) { self.writes[index].state = .parked } }

    /// The server must refuse these writes, by what is known.
    mutating func foresaw(refusalOf ids: [ID]) {
        for id in ids { if let index = self.index(id) { self.writes[index].isHopeless = true } }
    }

    /// A write is gone that others may have been hopeless for.
    mutating func reconsider() {
        for index in self.writes.indices { self.writes[index].isHopeless = false }
    }

    /// The write could not be carried out now, or that is not known. It waits to be sent again, with its key.
    package mutating func requeue(_ id: ID, isFailure: Bool = false) {
        guard let index = self.index(id), self.writes[index].state != .parked else { return }
        if isFailure { self.writes[index].failures += 1 }
        if case .committed(let revision) = self.writes[index].state { self.open.remove(revision) }
        self.writes[index].state = .queued
    }

    /// Parks the writes that are not under way. Returns them.
    package mutating func parkUnsent() -> [ID] {
        var parked: [ID] = []
        for index in self.writes.indices where [.open, .queued].contains(self.writes[index].state) {
            self.writes[index].state = .parked
            parked.append(self.writes[index].id)
        }
        return parked
    }

    package mutating func connectionLost() {
        self.open = []
        for index in self.writes.indices {
            if case .sent = self.writes[index].state {
                self.writes[index].state = .doubtful
                self.writes[index].isUnknown = true
            }
            // Nothing is held back for an undo whose answer may be far.
            if self.writes[index].isBeingUndone { self.writes[index].isUndone = true }
        }
    }

    /// The store has another history. Returns the writes that are parked for it.
    package mutating func historyChanged() -> [ID] {
        self.open = []
        self.undos = []
        self.redone = []
        self.unmade = []
        var parked: [ID] = []
        for index in self.writes.indices {
            switch self.writes[index].state {
            case .open, .queued, .sent, .doubtful:
                self.writes[index].state = .parked
                parked.append(self.writes[index].id)
            case .committed, .parked: break
            }
        }
        // What the old history had is in no view any more.
        self.writes.removeAll { if case .committed = $0.state { true } else { false } }
        return parked
    }

    // MARK: The views

    /// Whether all views that follow the server have a write, or it is gone.
    package func isSettled(_ id: ID) -> Bool { self[id]?.isSettled ?? true }

    /// Returns the writes to lay over a view at a revision.
    package func laid(at revision: Revision) -> [Write] {
        self.writes.filter { write in
            guard !write.isRetracted, !write.isHopeless else { return false }
            switch write.state {
            case .open, .queued, .sent, .doubtful: return true
            case .committed(let committed): return revision < committed
            case .parked: return false
            }
        }
    }

    /// Returns the writes that a view has got between two revisions, in the server's order.
    func confirmed(from: Revision, to: Revision) -> [Write] {
        self.laid(at: from).filter { write in
            if case .committed(let revision) = write.state { revision <= to } else { false }
        }.sorted { Self.revision($0) < Self.revision($1) }
    }

    private static func revision(_ write: Write) -> Revision {
        if case .committed(let revision) = write.state { revision } else { Revision(0) }
    }

    /// Settles writes. `following`: the lowest revision of the views that follow the server; `all`: that of all views,
    /// also of those that are paused or wait for a snapshot, over which a write stays laid. `nil`: there are none.
    /// Returns the writes that are settled now.
    package mutating func settle(following: Revision?, all: Revision?) -> [ID] {
        var settled: [ID] = []
        for index in self.writes.indices {
            guard case .committed(let committed) = self.writes[index].state, !self.writes[index].isSettled,
                following.map({ $0 >= committed }) ?? true
            else { continue }
            self.writes[index].isSettled = true
            settled.append(self.writes[index].id)
        }
        self.writes.removeAll { write in
            guard write.isSettled, case .committed(let committed) = write.state else { return false }
            return all.map { $0 >= committed } ?? true
        }
        return settled
    }

    func index(_ id: ID) -> Int? { self.writes.firstIndex { $0.id == id } }
}
