import NestModel
import NestSchema

/// Objects as the last revision of a difference leaves them, as far as the engine knows them without a read of the
/// store.
struct KnownRows {
    /// Changed objects; an inner `nil` means deleted.
    private var rows: [ObjectID: ObjectRow?] = [:]
    private var revisionCount = 0

    /// For the difference between two results at one revision: no object is created or deleted in between.
    static let ofOneRevision = KnownRows()
    /// For a difference of any number of revisions, about which nothing is known.
    static let ofSeveralRevisions = KnownRows(revisionCount: .max)

    init() {}

    private init(revisionCount: Int) {
        self.revisionCount = revisionCount
    }

    /// A row that left may have been deleted, or brought back elsewhere, by a revision that did not concern the result.
    var isOfSeveralRevisions: Bool { self.revisionCount > 1 }

    subscript(_ id: ObjectID) -> ObjectRow? { self.rows[id] ?? nil }

    /// Whether the object exists; `nil` when only the store knows.
    func exists(_ id: ObjectID) -> Bool? { self.rows[id].map { $0 != nil } }

    /// Takes the changes of the next revision.
    mutating func take(_ changes: ChangeSet) {
        self.revisionCount += 1
        // A bulk write does not list all its objects: any of those known may be among the others.
        if changes.blockCount > 0 { self.rows.removeAll() }
        for object in changes.touched { self.rows[object.id] = .some(object.after) }
    }
}
