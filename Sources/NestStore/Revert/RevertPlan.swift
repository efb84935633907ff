import NestModel
import NestSchema

/// The work of a revert, found by a look at every object of a transaction before the first write.
struct RevertPlan {
    struct Restoration {
        var table: EntityTable
        var id: ObjectID
        var place: Int
        var record: PlaceRecord
        /// The whole object, when it was deleted and comes back, without the owners that are alive; `nil` for one that
        /// was moved.
        var row: ObjectRow?
        /// It goes back under no other existing owner.
        var isOnly = true
        /// It gets another owner than it had: it becomes the last there.
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

    /// An object that goes back under another, in a relationship that must not have a cycle.
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

    /// The two objects of a pair, in either order: a relationship that is its own inverse has each pair twice.
    struct Ends: Hashable {
        var table: EntityNumber
        var objects: Set<ObjectID>
    }

    /// Inserted objects under which others are now, and how many.
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
    /// Deleted objects that come back.
    let returning: ObjectIDSet
    /// One-to-one slots of living objects that the transaction changed, and that hold what it set or what was before.
    var partners: Set<SlotKey> = []

    // The work.
    /// Objects that go back under an owner that is alive, from left to right. Of those that come back with a row, not
    /// the ones in `left`.
    let restorations: Restorations
    /// Deleted objects under owners of which some are alive and some come back too, without the former. They are there
    /// before anything is put in its place: others go back next to them.
    var partly: [(table: EntityTable, id: ObjectID, row: ObjectRow)] = []
    /// With what is left as it is taken out.
    var updates: [(change: ObjectChange, table: EntityTable)] = []
    /// Inserted objects that are under no other of them; the first, when they are many.
    var insertedTops: [(table: EntityTable, id: ObjectID)] = []
    /// Pairs that go; the first, when they are many.
    var insertedPairs: [(table: EntityTable, id: ObjectID, ends: Ends)] = []
    /// There are more than the plan holds: they are looked for in the transaction again.
    var hasMoreTops = false
    var hasMorePairs = false
    /// Of those, pairs that stay: a later transaction has moved them.
    var keptPairs: Set<Ends> = []
    /// Pairs that come back: only one of two objects' pairs can be there.
    var deletedPairs: [(id: ObjectID, ends: Ends)] = []
    /// Inserted objects with later work that the undo deletes nevertheless, by their delete rules.
    var forced: [ObjectID] = []
    /// Their references with a delete rule, and those of other inserted objects, that lead elsewhere than when they
    /// were inserted.
    var reassigned: Set<SlotKey> = []
    /// The ordered relationships by which inserted objects are below others.
    var placesInside: Set<PlaceInside> = []
    /// Deleted objects that do not come back.
    let left: ObjectIDSet
    /// The values with which deleted objects come back instead of their old ones, by slot.
    var replaced: [ObjectID: [Int: AttributeValue]] = [:]
    /// Of these, the objects that may lack a required value.
    var emptied: [(table: EntityTable, id: ObjectID)] = []
    /// Under which objects that are alive something comes back without having a place there.
    var climbs: [Climb] = []
    var strangers: [Strangers] = []
    /// How many objects this transaction itself moved under each owner: they go back before it is deleted.
    var movedInto: [Inside: Int] = [:]

    // Conflicts.
    var refusals: [String] = []
    var refusalCount = 0
    /// An object that would come back was under an object that is gone.
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

    /// Whether the undo is going to delete an owner to which an object cannot go back for that reason. What the entry
    /// inserted can, as it goes itself; and what an older transaction of the entry moves out again in time.
    func goes(_ owner: ObjectID, with id: ObjectID, _ slot: Int) throws(StoreError) -> Bool {
        guard let deletions = self.context.deletions else { return false }
        guard try deletions.contains(owner), try !deletions.inserted.contains(id) else { return false }
        return try !deletions.moves(.init(id: id, slot: slot), awayFrom: owner, after: self.revision)
    }

    /// Whether the undo is going to delete one of the two that a pair is of. A pair that the entry made goes with what
    /// the entry inserted.
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

    /// Pairs that a later transaction has moved stay, and the pairs that they replaced do not come back.
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

    /// Refuses when later work conflicts, or when an object would come back under one that is gone.
    func refuseIfAnythingStands() throws(StoreError) {
        if let orphan = self.orphan {
            let why =
                try self.goes(orphan.owner)
                ? "which is inside what this would delete: rehome" : "which is gone: bring that back first, or rehome"
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
