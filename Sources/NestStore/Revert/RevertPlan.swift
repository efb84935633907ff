import NestModel
import NestSchema

/// The work of a revert, planned from all objects of a transaction before the first write.
struct RevertPlan {
    struct Restoration {
        var table: EntityTable
        var id: ObjectID
        var place: Int
        var record: PlaceRecord
        /// The row of a deleted object that is restored, without its existing owners; `nil` for an object that was
        /// moved.
        var row: ObjectRow?
        /// Whether the object is restored under no other existing owner.
        var isOnly = true
        /// Whether the object gets another owner than it had. It then becomes the owner's last object.
        var isRehomed = false
    }

    /// The objects of one relationship of an owner.
    struct Inside: Hashable {
        var owner: ObjectID
        /// The table of the objects, and their slot that points to the owner.
        var table: EntityNumber
        var slot: Int
    }

    struct PlaceInside: Hashable {
        var table: EntityNumber
        var place: Int
    }

    /// An object that goes back under another one, in a relationship that must not have a cycle.
    struct Climb {
        var table: EntityTable
        var id: ObjectID
        var slot: Int
    }

    /// A slot of an object.
    struct SlotKey: Hashable {
        var id: ObjectID
        var slot: Int
    }

    /// The two objects of a pair, in either order: a relationship that is its own inverse stores each pair twice.
    struct Ends: Hashable {
        var table: EntityNumber
        var objects: Set<ObjectID>
    }

    /// An inserted object that now contains objects of other transactions, and how many.
    struct Strangers {
        var inside: Inside
        var name: String
        var count: Int
        var table: EntityTable
    }

    let revision: Revision
    let context: UndoContext
    private let countMax: Int

    // Found by the first pass.
    let inserted: ObjectIDSet
    /// Deleted objects that are restored.
    let returning: ObjectIDSet
    /// One-to-one slots of existing objects that the transaction changed and that the revert changes back.
    var partners: Set<SlotKey> = []

    // The work.
    /// Objects that go back under existing owners, from left to right. Deleted objects that are in `left` are skipped.
    let restorations: Restorations
    /// Deleted objects with both existing owners and owners that are restored too; these rows lack the existing owners.
    /// They are inserted before any object gets its position, because other objects go back next to them.
    var partly: [(table: EntityTable, id: ObjectID, row: ObjectRow)] = []
    /// The updates to revert, without the slots that the undo leaves as they are.
    var updates: [(change: ObjectChange, table: EntityTable)] = []
    /// Inserted objects that are not below other inserted objects; only the first ones if there are many.
    var insertedTops: [(table: EntityTable, id: ObjectID)] = []
    /// Inserted pairs that are deleted; only the first ones if there are many.
    var insertedPairs: [(table: EntityTable, id: ObjectID, ends: Ends)] = []
    /// Whether there are more of them than the plan holds: the others are found by reading the transaction again.
    var hasMoreTops = false
    var hasMorePairs = false
    /// Inserted pairs that stay, because a later transaction has moved them.
    var keptPairs: Set<Ends> = []
    /// Deleted pairs that are restored although their objects have an inserted pair now: two objects can have only one
    /// pair.
    var deletedPairs: [(id: ObjectID, ends: Ends)] = []
    /// Inserted objects with later changes that a forced undo deletes anyway, following their delete rules.
    var forced: [ObjectID] = []
    /// References of inserted objects that have a delete rule, and whose target has changed since the insertion.
    var reassigned: Set<SlotKey> = []
    /// The ordered relationships by which inserted objects are below other inserted objects.
    var placesInside: Set<PlaceInside> = []
    /// Deleted objects that are not restored.
    let left: ObjectIDSet
    /// By slot, the values that replace old values of restored objects.
    var replaced: [ObjectID: [Int: AttributeValue]] = [:]
    /// The objects in `replaced` that may lack a required value.
    var emptied: [(table: EntityTable, id: ObjectID)] = []
    /// Objects that go back under existing objects without a position there: they are checked for cycles at the end.
    var climbs: [Climb] = []
    var strangers: [Strangers] = []
    /// The number of objects that this transaction itself moved under each owner: they are moved back before the owner
    /// is deleted.
    var movedInto: [Inside: Int] = [:]

    // Conflicts.
    var refusals: [String] = []
    var refusalCount = 0
    /// A deleted object that cannot be restored, because its owner no longer exists.
    var orphan: (id: ObjectID, owner: ObjectID, text: String)?

    init(_ revision: Revision, _ context: UndoContext, _ memory: BulkMemory) {
        self.revision = revision
        self.context = context
        self.inserted = ObjectIDSet(memory)
        self.returning = ObjectIDSet(memory)
        self.left = ObjectIDSet(memory)
        self.restorations = Restorations(memory)
        self.countMax = memory.countMax
    }

    var isForced: Bool { self.context.options.policy == .force }

    /// Whether an object exists and this undo will delete it.
    func goes(_ id: ObjectID) throws(StoreError) -> Bool { try self.context.deletions?.contains(id) ?? false }

    /// Whether an object exists, this undo will delete it, and the entry did not insert it.
    func goesToo(_ id: ObjectID) throws(StoreError) -> Bool {
        guard let deletions = self.context.deletions else { return false }
        guard try deletions.contains(id) else { return false }
        return try !deletions.inserted.contains(id)
    }

    /// Whether an object cannot go back to an owner because the undo will delete the owner. It can if the entry
    /// inserted the object, which is then deleted too, or if an older transaction of the entry moves it out again in
    /// time.
    func goes(_ owner: ObjectID, with id: ObjectID, _ slot: Int) throws(StoreError) -> Bool {
        guard let deletions = self.context.deletions else { return false }
        guard try deletions.contains(owner), try !deletions.inserted.contains(id) else { return false }
        return try !deletions.moves(.init(id: id, slot: slot), awayFrom: owner, after: self.revision)
    }

    /// Whether a pair cannot be restored because the undo will delete one of its objects. It can if the entry inserted
    /// the pair and the object, because both are then deleted.
    func goes(_ end: ObjectID, withPair pair: ObjectID) throws(StoreError) -> Bool {
        guard let deletions = self.context.deletions else { return false }
        guard try deletions.contains(end) else { return false }
        guard try deletions.inserted.contains(end) else { return true }
        return try !deletions.inserted.contains(pair)
    }

    mutating func refuse(_ text: String) {
        self.refusalCount += 1
        if self.refusals.count < Limits.faultsPerErrorMax { self.refusals.append(text) }
    }

    mutating func addTop(_ table: EntityTable, _ id: ObjectID) {
        self.hasMoreTops = self.insertedTops.count == self.countMax
        if !self.hasMoreTops { self.insertedTops.append((table, id)) }
    }

    mutating func addPair(_ table: EntityTable, _ id: ObjectID, _ ends: Ends) {
        self.hasMorePairs = self.insertedPairs.count == self.countMax
        if !self.hasMorePairs { self.insertedPairs.append((table, id, ends)) }
    }

    /// Empties the plan's temporary tables. A rollback of the revert empties them too.
    func discard() throws(StoreError) {
        for set in [self.inserted, self.returning, self.left] { try set.discard() }
        try self.restorations.discard()
    }

    /// Pairs that a later transaction has moved stay, and the pairs that they replaced are not restored.
    mutating func keepMovedPairs() throws(StoreError) {
        guard !self.keptPairs.isEmpty else { return }
        self.insertedPairs.removeAll { self.keptPairs.contains($0.ends) }
        let replaced = Set(self.deletedPairs.filter { self.keptPairs.contains($0.ends) }.map(\.id))
        for id in replaced { try self.left.insert(id) }
        self.partly.removeAll { replaced.contains($0.id) }
    }

    /// Reports a change that the undo leaves out, or makes in another way.
    func report(_ conflict: UndoConflict) {
        self.context.append(conflict, after: self.revision)
    }

    /// Refuses the undo if later changes prevent it, or if an object would be restored under an owner that no longer
    /// exists.
    func refuseIfPrevented() throws(StoreError) {
        if let orphan = self.orphan {
            let why =
                try self.goes(orphan.owner)
                ? "which this undo would delete: rehome" : "which no longer exists: restore it first, or rehome"
            throw .refused(
                .ownerGone,
                "\(orphan.text) was under the object \(orphan.owner), \(why)",
                object: orphan.id
            )
        }
        guard self.refusalCount > 0 else { return }
        throw .refused(.undoConflict, Self.joined(self.refusals, count: self.refusalCount))
    }

    static func joined(_ texts: [String], count: Int) -> String {
        let shown = texts.prefix(Limits.faultsPerErrorMax)
        return shown.joined(separator: "; ") + (count > shown.count ? "; and \(count - shown.count) more" : "")
    }
}
