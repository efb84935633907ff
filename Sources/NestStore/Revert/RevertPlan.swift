import NestModel
import NestSchema

/// What a revert has to do, found by looking at every object of a transaction before anything is written.
struct RevertPlan {
    struct Restoration {
        var table: EntityTable
        var id: ObjectID
        var place: Int
        var record: PlaceRecord
        /// The whole object, when it was deleted and comes back, without the owners that are alive; `nil` for one that was
        /// moved.
        var row: ObjectRow?
        /// It goes back under no other owner that is alive.
        var isOnly = true
        /// Its owner is another than it had: it becomes the last there.
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

    /// An object that is to be under another again, in a relationship that must not close a circle.
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

    // What the first look finds.
    let inserted: ObjectIDSet
    /// Deleted objects that are to come back.
    let returning: ObjectIDSet
    /// One-to-one slots of living objects that the transaction changed, and that hold what it set or what was before.
    var partners: Set<SlotKey> = []

    // What is to be done.
    /// Objects that go back under an owner that is alive, from left to right. Of those that come back with a row, not the
    /// ones in `left`.
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
    /// Of those, pairs that stay: somebody has moved them.
    var keptPairs: Set<Ends> = []
    /// Pairs that come back: only one of two objects' pairs can be there.
    var deletedPairs: [(id: ObjectID, ends: Ends)] = []
    /// Inserted objects that hold later work and go nevertheless, by their delete rules.
    var forced: [ObjectID] = []
    /// Their references with a delete rule, and those of other inserted objects, that lead elsewhere than when they were
    /// inserted.
    var reassigned: Set<SlotKey> = []
    /// The places by which others are under one of them.
    var placesInside: Set<PlaceInside> = []
    /// Deleted objects that do not come back.
    let left: ObjectIDSet
    /// What deleted objects come back with instead of what they had, by slot.
    var replaced: [ObjectID: [Int: AttributeValue]] = [:]
    /// Those of them that may lack something that is required.
    var emptied: [(table: EntityTable, id: ObjectID)] = []
    /// Under which objects that are alive something comes back without having a place there.
    var climbs: [Climb] = []
    var strangers: [Strangers] = []
    /// How many objects this transaction itself moved under each owner: they go back before it is deleted.
    var movedInto: [Inside: Int] = [:]

    // What stands against it.
    var refusals: [String] = []
    var refusalCount = 0
    /// Something that would come back was under an object that is gone.
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

    /// Whether an object is there, and is going to be deleted by this undo.
    func goes(_ id: ObjectID) throws(StoreError) -> Bool { try self.context.deletions?.contains(id) ?? false }

    /// Whether an object is there, goes, and did not come with the entry.
    func goesToo(_ id: ObjectID) throws(StoreError) -> Bool {
        guard let deletions = self.context.deletions else { return false }
        guard try deletions.contains(id) else { return false }
        return try !deletions.inserted.contains(id)
    }

    /// Whether the undo is going to delete an owner to which an object cannot go back for that reason. What the entry inserted
    /// can, as it goes itself; and what an older transaction of the entry moves out again in time.
    func goes(_ owner: ObjectID, with id: ObjectID, _ slot: Int) throws(StoreError) -> Bool {
        guard let deletions = self.context.deletions else { return false }
        guard try deletions.contains(owner), try !deletions.inserted.contains(id) else { return false }
        return try !deletions.moves(.init(id: id, slot: slot), awayFrom: owner, after: self.revision)
    }

    /// Whether the undo is going to delete one of the two that a pair is of. A pair that the entry made goes with what the
    /// entry inserted.
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

    /// Gives back what the plan has in temporary tables. When the revert is rolled back, that goes anyway.
    func discard() throws(StoreError) {
        for set in [self.inserted, self.returning, self.left] { try set.discard() }
        try self.restorations.discard()
    }

    /// Pairs that somebody has moved stay, and those that they were made instead of do not come back.
    mutating func keepMovedPairs() throws(StoreError) {
        guard !self.keptPairs.isEmpty else { return }
        self.insertedPairs.removeAll { self.keptPairs.contains($0.ends) }
        let replaced = Set(self.deletedPairs.filter { self.keptPairs.contains($0.ends) }.map(\.id))
        for id in replaced { try self.left.insert(id) }
        self.partly.removeAll { replaced.contains($0.id) }
    }

    /// The undo does not do this, or does it in another way.
    func tell(_ conflict: UndoConflict) {
        self.context.append(conflict, after: self.revision)
    }

    /// Refuses when later work stands against it, or when something would come back under what is gone.
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
