import NestModel
import NestSchema

/// Objects as of the last revision of a difference, as far as the engine knows them without reading the store.
struct KnownRows {
    private struct Known {
        let id: ObjectID
        /// `nil`: deleted.
        let row: ObjectRow?
    }

    /// The changed objects with higher ids than all before them, as new objects have.
    private var ascending: [Known] = []
    /// The other changes, which are later than those in `ascending`; an inner `nil` means deleted.
    private var others: [ObjectID: ObjectRow?] = [:]
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

    subscript(_ id: ObjectID) -> ObjectRow? {
        if !self.others.isEmpty, let row = self.others[id] { return row }
        return self.index(of: id).flatMap { self.ascending[$0].row }
    }

    /// Whether the object exists; `nil` when only the store knows.
    func exists(_ id: ObjectID) -> Bool? {
        if !self.others.isEmpty, let row = self.others[id] { return row != nil }
        return self.index(of: id).map { self.ascending[$0].row != nil }
    }

    private func index(of id: ObjectID) -> Int? {
        var low = 0
        var high = self.ascending.count
        while low < high {
            let middle = (low + high) / 2
            if self.ascending[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < self.ascending.count && self.ascending[low].id == id ? low : nil
    }

    /// Makes room for this number of objects.
    mutating func reserve(_ count: Int) { self.ascending.reserveCapacity(count) }

    /// Applies the changes of the next revision.
    mutating func take(_ changes: ChangeSet) {
        self.revisionCount += 1
        // A bulk write does not list all its objects: it may have changed any of the known ones.
        if changes.blockCount > 0 {
            self.ascending.removeAll()
            self.others.removeAll()
        }
        for object in changes.changedRows {
            if self.ascending.isEmpty || self.ascending[self.ascending.count - 1].id < object.id {
                self.ascending.append(Known(id: object.id, row: object.after))
            } else {
                self.others[object.id] = .some(object.after)
            }
        }
    }
}
