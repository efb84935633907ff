import NestModel
import NestSchema

/// One undo, over all transactions that it reverts, newest first: what it leaves, and why.
package final class UndoContext {
    /// The content of a slot that the undo leaves as it is.
    enum Content: Equatable {
        case value(AttributeValue)
        case place(PlaceRecord?)

        static func == (a: Content, b: Content) -> Bool {
            switch (a, b) {
            case (.value(let a), .value(let b)): a == b
            // A placement is known by its stamp, unless there was no order yet.
            case (.place(let a), .place(let b)):
                a?.owner == b?.owner
                    && (a?.place.stamp == b?.place.stamp || a?.isOfNoOrder == true || b?.isOfNoOrder == true)
            default: false
            }
        }
    }

    private struct Left {
        /// What the undo would set.
        var wanted: Content
        var found: Content
        var conflict: UndoConflict
        var base: Revision
    }

    /// Identifies a conflict: each object and property is reported once.
    private struct Subject: Hashable {
        var object: ObjectID
        var property: PropertyNumber
    }

    package let options: UndoOptions
    /// Of the client that asks for the undo.
    let confinement: Confinement?
    /// Slots that hold something else than the newest transaction gave them: older ones leave them too.
    private var left: [RevertPlan.SlotKey: Left] = [:]
    private var order: [RevertPlan.SlotKey] = []
    private var reported: Set<Subject> = []
    /// Objects that are reported as a whole: they may be all of a large import.
    private var reportedObjects = RangeSet<Int64>()
    /// Each conflict, with the transaction after which the conflicting change was made.
    private var found: [(conflict: UndoConflict, base: Revision)] = []
    private var count = 0
    /// The objects that a forced undo will delete, when it also puts objects back; see `ObjectGraph.prepare`.
    var deletions: UndoDeletions?
    var isPrepared = false

    package init(_ options: UndoOptions, _ confinement: Confinement? = nil) {
        self.options = options
        self.confinement = confinement
    }

    /// Leaves a slot as it is.
    func leave(
        _ key: RevertPlan.SlotKey,
        wanted: Content,
        found: Content,
        _ conflict: UndoConflict,
        after base: Revision
    ) {
        self.left[key] = Left(wanted: wanted, found: found, conflict: conflict, base: base)
        self.order.append(key)
    }

    /// Whether a newer transaction has found that the slot is to be left; then an older one, which changed it from
    /// `before` to `after`, tells what it would have become.
    func isLeft(_ key: RevertPlan.SlotKey, before: Content, after: Content) -> Bool {
        guard let left = self.left[key] else { return false }
        if left.wanted == after { self.left[key]!.wanted = before }
        return true
    }

    /// Whether a newer transaction has left the slot.
    func hasLeft(_ key: RevertPlan.SlotKey) -> Bool { self.left[key] != nil }

    func append(_ conflict: UndoConflict, after base: Revision) {
        guard self.isNew(conflict) else { return }
        self.count += 1
        if self.found.count < Limits.undoConflictsMax { self.found.append((conflict, base)) }
    }

    /// An object is deleted that the undo's entry did not insert. Each is once, and they may be many: those that are
    /// only counted are not remembered.
    func appendLost(_ conflict: () -> UndoConflict) {
        guard self.found.count < Limits.undoConflictsMax else { return self.count += 1 }
        self.append(conflict(), after: Revision(0))
    }

    private func isNew(_ conflict: UndoConflict) -> Bool {
        if let property = conflict.property {
            return self.reported.insert(Subject(object: conflict.object, property: property)).inserted
        }
        let id = conflict.object.rawValue
        guard !self.reportedObjects.contains(id) else { return false }
        self.reportedObjects.insert(contentsOf: id..<(id + 1))
        return true
    }

    /// When all is done: everything that was left. A strict undo is refused for it. `author` finds who made the change
    /// that stands against it: from the object's last change back to, but without, a revision.
    package func finish(
        _ layout: ModelLayout,
        author: (UndoConflict, _ after: Revision) throws(StoreError) -> (revision: Revision, sessionNumber: UInt64)?
    ) throws(StoreError) -> UndoConflicts {
        for key in self.order {
            guard let left = self.left[key], left.wanted != left.found else { continue }
            self.append(left.conflict, after: left.base)
        }
        (self.left, self.order) = ([:], [])
        try self.deletions?.discard()
        if self.options.policy == .strict { try self.refuse(layout) }
        var conflicts = UndoConflicts()
        for (conflict, base) in self.found {
            var conflict = conflict
            let author = try author(conflict, base)
            conflict.revision = author?.revision
            conflict.sessionNumber = author?.sessionNumber
            conflicts.append(conflict)
        }
        conflicts.addUnlisted(self.count - self.found.count)
        return conflicts
    }

    private func refuse(_ layout: ModelLayout) throws(StoreError) {
        let strict = self.found.map(\.conflict).filter { $0.reason != .rehomed }
        guard !strict.isEmpty else { return }
        let count = self.count - (self.found.count - strict.count)
        throw .refused(
            .undoConflict,
            RevertPlan.joined(strict.map { ObjectGraph.describe($0, layout) }, count: count)
        )
    }
}
