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
    package mutating func undo() -> UndoStart {
        let targets = self.newestEntry
        if let redone = self.redone.last, targets.allSatisfy({ $0.id <= redone.newest }) {
            self.redone.removeLast()
            return .added(self.add(isRedo: false, [], of: redone))
        }
        if targets.contains(where: { $0.state == .open }) { return .open }
        if targets.count == 1, let write = self.withdraw(targets[0].id) { return .withdrew(write) }
        self.reconsider()
        for target in targets { if let index = self.index(target.id) { self.writes[index].isRetracted = true } }
        return .added(self.add(isRedo: false, targets))
    }

    /// Does again what the server has undone last.
    package mutating func redo() -> PendingUndo.ID {
        let id = self.add(isRedo: true, [])
        self.redone.append(Redone(id: id, newest: self.newest))
        return id
    }

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
    /// one entry.
    private var newestEntry: [Write] {
        let isBegun = { (write: Write) in write.state != .open || !write.transaction.mutations.isEmpty }
        let candidates = self.writes.filter { isBegun($0) && !$0.isRetracted && !$0.isSettled && $0.state != .parked }
        guard let last = candidates.last else { return [] }
        guard let key = last.coalescing else { return [last] }
        return Array(candidates.suffix { $0.coalescing == key })
    }

    /// The undo that is to be sent next; `nil` while it waits for the revision of what it takes back.
    package var sendableUndo: PendingUndo? {
        guard let undo = self.undos.first(where: { !$0.isSent }) else { return nil }
        let isKnown = undo.targets.allSatisfy { target in
            self[target].map { if case .committed = $0.state { true } else { false } } ?? true
        }
        guard isKnown, undo.targets.isEmpty && undo.redo == nil || undo.expected != nil else { return nil }
        return undo
    }

    /// The writes that may be sent, oldest first, with those that are under way or confirmed. The others wait for a
    /// group that has not ended, or for an undo that was asked for before them.
    package var sendable: ArraySlice<Write> {
        let last = self.undos.first { !$0.isSent }?.newest
        return self.writes.prefix { write in write.state != .open && last.map { write.id <= $0 } ?? true }
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

extension Array {
    /// Returns the longest end of the array whose elements all match.
    fileprivate func suffix(while matches: (Element) -> Bool) -> ArraySlice<Element> {
        var start = self.endIndex
        while start > self.startIndex, matches(self[start - 1]) { start -= 1 }
        return self[start...]
    }
}
