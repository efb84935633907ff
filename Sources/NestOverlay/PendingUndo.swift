import NestModel

/// An undo or a redo that a client has asked for and that is not answered. It has its place among the writes: it is
/// sent after those that were made before it, and before those that are made after it.
package struct PendingUndo: Sendable {
    package struct ID: Hashable, Sendable {
        let rawValue: UInt64
    }

    package let id: ID
    package let isRedo: Bool
    /// The pending writes that it takes back: one entry of the server's undo stack. Empty: it takes back, or does
    /// again, what the server has as the newest entry.
    package let targets: [PendingWrites.ID]
    /// The redo that it takes back, if it comes after one.
    let redo: ID?
    /// The newest write that was made before it.
    let newest: PendingWrites.ID
    package internal(set) var isSent = false
    /// How often the server could not say what became of it.
    package internal(set) var failures = 0
    /// The revision of the entry, once the server has it.
    package internal(set) var expected: Revision?
    /// Whether there is nothing to take back: the redo has done nothing.
    var isVain = false
}

/// A redo that was asked for and that was not undone.
struct Redone: Sendable {
    let id: PendingUndo.ID
    /// The newest write before it.
    let newest: PendingWrites.ID
    /// `nil` before its answer.
    var revision: Revision?
}

extension PendingWrites {
    /// What becomes of an undo that the client asks for.
    package enum UndoStart {
        /// The newest write was not sent, and is gone.
        case withdrew(Write)
        /// The newest write is a group that has not ended.
        case open
        case added(PendingUndo.ID)
    }

    /// Undoes the newest write that is not undone. A pending one is shown no more at once. What the server has done
    /// again since is undone before it.
    ///
    /// `isConnected`: lists wait for its answer, if they have what it takes back.
    package mutating func undo(isConnected: Bool = true) -> UndoStart {
        let targets = Array(self.newestEntry)
        if let redone = self.redone.last, self.isNewest(redone, than: targets) {
            self.redone.removeLast()
            return .added(self.add(isRedo: false, [], of: redone))
        }
        if targets.contains(where: { $0.state == .open }) { return .open }
        if targets.count == 1, let write = self.withdraw(targets[0].id) { return .withdrew(write) }
        self.reconsider()
        for target in targets {
            guard let index = self.index(target.id) else { continue }
            self.writes[index].isRetracted = true
            if case .committed = target.state, !isConnected { self.writes[index].isUndone = true }
        }
        return .added(self.add(isRedo: false, targets))
    }

    /// Whether nothing was written since a redo, or only what is undone. Of a write that is settled that is not known:
    /// what the server has as the newest entry is undone then, whatever it is.
    private func isNewest(_ redone: Redone, than targets: [Write]) -> Bool {
        targets.isEmpty ? redone.newest == self.newest : targets.allSatisfy { $0.id <= redone.newest }
    }

    /// Does again what the server has undone last.
    package mutating func redo() -> PendingUndo.ID {
        let id = self.add(isRedo: true, [])
        self.redone.append(Redone(id: id, newest: self.newest))
        if self.redone.count > Self.redoneMax { self.redone.removeFirst() }
        return id
    }

    /// How many redos it remembers.
    private static let redoneMax = 64

    private mutating func add(isRedo: Bool, _ targets: [Write], of redone: Redone? = nil) -> PendingUndo.ID {
        let id = PendingUndo.ID(rawValue: self.nextUndo)
        self.nextUndo += 1
        var undo = PendingUndo(
            id: id,
            isRedo: isRedo,
            targets: targets.map(\.id),
            redo: redone?.id,
            newest: self.newest,
            expected: redone?.revision
        )
        for target in targets { if case .committed(let revision) = target.state { undo.expected = revision } }
        self.undos.append(undo)
        return id
    }

    /// The pending writes that the server has, or will have, as its newest entry, oldest first. Those that coalesce are
    /// one entry, if nothing lies between them.
    private var newestEntry: ArraySlice<Write> {
        let isCandidate = { (write: Write) in
            let isBegun = write.state != .open || !write.transaction.mutations.isEmpty
            return isBegun && !write.isRetracted && !write.isSettled && write.state != .parked
        }
        guard let last = self.writes.lastIndex(where: isCandidate) else { return [] }
        guard let key = self.writes[last].coalescing else { return self.writes[last...last] }
        var first = last
        while first > 0 {
            let (before, after) = (self.writes[first - 1], self.writes[first])
            let isUndoBetween = self.undos.contains { before.id <= $0.newest && $0.newest < after.id }
            guard before.coalescing == key, isCandidate(before), !isUndoBetween else { break }
            first -= 1
        }
        return self.writes[first...last]
    }

    /// The undo that is to be sent now; `nil` while it waits for the revision of what it takes back, or for the answer
    /// to the undo before it.
    package var sendableUndo: PendingUndo? {
        guard let undo = self.undos.first, !undo.isSent else { return nil }
        if undo.targets.isEmpty, undo.redo == nil {
            // It takes what is the newest entry then.
            let waits = self.writes.contains { write in
                let isBegun = write.state == .open && !write.transaction.mutations.isEmpty
                return write.id <= undo.newest && (write.state == .queued || isBegun)
            }
            return waits ? nil : undo
        }
        let isKnown = undo.targets.allSatisfy { target in
            self[target].map { if case .committed = $0.state { true } else { false } } ?? true
        }
        return isKnown && undo.expected != nil ? undo : nil
    }

    /// The writes that may be sent, oldest first, with those that are under way or confirmed. The others wait for a
    /// group that has not ended, or for the answer to an undo that was asked for before them: it may be repeated.
    package var sendable: [Write] {
        let last = self.undos.first?.newest
        return self.writes.prefix { $0.state != .open }.filter { write in last.map { write.id <= $0 } ?? true }
    }

    package mutating func undoSent(_ id: PendingUndo.ID) {
        if let index = self.undos.firstIndex(where: { $0.id == id }) { self.undos[index].isSent = true }
    }

    /// The undo could not be carried out now. It waits to be sent again, with its key.
    package mutating func undoRequeued(_ id: PendingUndo.ID, isFailure: Bool = false) {
        guard let index = self.undos.firstIndex(where: { $0.id == id }) else { return }
        self.undos[index].isSent = false
        if isFailure { self.undos[index].failures += 1 }
    }

    /// An undo or a redo was answered, or is given up. `receipt`: `nil` if it was not carried out. Then the writes are
    /// shown again that an undo was to take back.
    package mutating func undoEnded(_ id: PendingUndo.ID, _ receipt: Receipt?) {
        guard let index = self.undos.firstIndex(where: { $0.id == id }) else { return }
        let undo = self.undos.remove(at: index)
        // A redo that changes nothing makes no entry.
        if undo.isRedo { self.redoEnded(id, at: receipt.flatMap { $0.isChanged ? $0.revision : nil }) }
        for target in undo.targets {
            guard let index = self.index(target) else { continue }
            if receipt != nil { self.writes[index].isUndone = true } else { self.writes[index].isRetracted = false }
        }
    }

    /// `revision`: `nil` if it has done nothing.
    private mutating func redoEnded(_ id: PendingUndo.ID, at revision: Revision?) {
        if let index = self.undos.firstIndex(where: { $0.redo == id }) {
            self.undos[index].expected = revision
            self.undos[index].isVain = revision == nil
        }
        guard let index = self.redone.firstIndex(where: { $0.id == id }) else { return }
        self.redone[index].revision = revision
        if revision == nil { self.redone.remove(at: index) }
    }

    /// Removes and returns the undos that have nothing to take back: the server has refused the writes, or they, or the
    /// redo, have changed nothing.
    package mutating func takeVainUndos() -> [PendingUndo.ID] {
        let isVain = { (undo: PendingUndo) in
            undo.isVain
                || !undo.isSent && !undo.targets.isEmpty && undo.expected == nil
                    && undo.targets.allSatisfy { self.index($0) == nil }
        }
        let vain = self.undos.filter(isVain).map(\.id)
        self.undos.removeAll { vain.contains($0.id) }
        return vain
    }

    /// The server has a write that an undo may wait for.
    mutating func noteUndoable(_ write: ID, _ revision: Revision) {
        for index in self.undos.indices where self.undos[index].targets.contains(write) {
            self.undos[index].expected = max(self.undos[index].expected ?? revision, revision)
        }
    }
}
