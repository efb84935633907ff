import NestModel
import NestSchema

/// The state of one undo, over all transactions that it reverts, newest first: what it leaves, and why.
package final class UndoContext {
    /// The content of a slot that the undo leaves as it is.
    enum Content: Equatable {
        case value(AttributeValue)
        case place(PlaceRecord?)

        static func == (a: Content, b: Content) -> Bool {
            switch (a, b) {
            case (.value(let a), .value(let b)): a == b
            // A placement is identified by its stamp, unless there was no order yet.
            case (.place(let a), .place(let b)):
                a?.owner == b?.owner
                    && (a?.place.stamp == b?.place.stamp || a?.isOfNoOrder == true || b?.isOfNoOrder == true)
            default: false
            }
        }
    }

    private struct Left {
        /// The content that the undo would set.
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
    /// The token scope of the client that requests the undo.
    let confinement: Confinement?
    /// The session whose newest work the undo takes back; `nil` for a revert of any transaction.
    let session: UInt64?
    /// Slots of objects that this undo itself has rehomed, in newer transactions of the entry.
    var rehomed: Set<RevertPlan.SlotKey> = []
    /// The parts of the journal that the undo may still read to distinguish its session's changes from those of
    /// others. Beyond it, every change counts as that of another session.
    var journalReadsLeft = UndoContext.journalReadsMax
    private static let journalReadsMax = 1_024
    /// Slots that hold another content than the newest transaction gave them: the reverts of older transactions leave
    /// them too.
    private var left: [RevertPlan.SlotKey: Left] = [:]
    private var order: [RevertPlan.SlotKey] = []
    private var reported: Set<Subject> = []
    /// Objects that are reported as a whole: these may be all objects of a large import.
    private var reportedObjects = RangeSet<Int64>()
    /// Each conflict, with the transaction after which the conflicting change was made.
    private var found: [(conflict: UndoConflict, base: Revision)] = []
    private var count = 0
    /// The objects that a forced undo will delete, if it also restores or moves objects; see `ObjectGraph.prepare`.
    var deletions: UndoDeletions?
    var isPrepared = false

    package init(_ options: UndoOptions, _ confinement: Confinement? = nil, session: UInt64? = nil) {
        self.options = options
        self.confinement = confinement
        self.session = session
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

    /// Whether the revert of a newer transaction has left the slot. If so, the content that the undo would set becomes
    /// the one from before an older transaction, which changed the slot from `before` to `after`.
    func isLeft(_ key: RevertPlan.SlotKey, before: Content, after: Content) -> Bool {
        guard let left = self.left[key] else { return false }
        if left.wanted == after { self.left[key]!.wanted = before }
        return true
    }

    /// Whether the revert of a newer transaction has left the slot.
    func hasLeft(_ key: RevertPlan.SlotKey) -> Bool { self.left[key] != nil }

    func append(_ conflict: UndoConflict, after base: Revision) {
        guard self.isNew(conflict) else { return }
        self.count += 1
        if self.found.count < Limits.undoConflictsMax { self.found.append((conflict, base)) }
    }

    /// Adds an object that the undo deletes although its entry did not insert it. Each object is added once. They may
    /// be many: those beyond the limit are only counted, not remembered.
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

    /// Returns all conflicts. Call it after the last revert. A strict undo with conflicts is refused. `author` finds
    /// the change that conflicts, from the object's last change back to a revision, which is excluded.
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
