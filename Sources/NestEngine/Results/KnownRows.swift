import NestModel
import NestSchema

/// Objects as of the last revision of a difference, as far as the engine knows them without reading the store.
struct KnownRows {
    /// Changed objects; an inner `nil` means deleted.
    private var rows: [ObjectID: ObjectRow?] = [:]
    private var revisionCount = 0

    /// For the difference between two results at one revision: no object is created or deleted in between.
    static let ofOneRevision = KnownRows()
    /// For a difference of any number of revisions whose objects are not known.
    static let ofSeveralRevisions = KnownRows(revisionCount: .max)

    init() {}

    private init(revisionCount: Int) {
        self.revisionCount = revisionCount
    }

    /// Whether the difference has several revisions. A revision that did not affect the result may then have deleted a
    /// row that left, or restored it elsewhere.
    var isOfSeveralRevisions: Bool { self.revisionCount > 1 }

    subscript(_ id: ObjectID) -> ObjectRow? { self.rows[id] ?? nil }

    /// Whether the object exists; `nil` when only the store knows.
    func exists(_ id: ObjectID) -> Bool? { self.rows[id].map { $0 != nil } }

    /// Makes room for this number of objects.
    mutating func reserve(_ count: Int) { self.rows.reserveCapacity(count) }

    /// Applies the changes of the next revision.
    mutating func take(_ changes: ChangeSet) {
        self.revisionCount += 1
        // A bulk write does not list all its objects: it may have changed any of the known ones.
        if changes.blockCount > 0 { self.rows.removeAll() }
        for object in changes.changedRows { self.rows[object.id] = .some(object.after) }
    }
}
