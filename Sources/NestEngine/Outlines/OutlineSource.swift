import NestModel
import NestSchema
import NestStore

/// What an outline shows: the objects below an owner by a relationship to their own table, in preorder, as far as the
/// rows above them are unfolded and the filter admits them.
struct OutlineSource: Sendable {
    /// The objects directly below the owner: a membership with a place, a filter that reads no more than the row and
    /// objects behind to-one relationships, and no sort keys.
    let children: ResultSource
    /// The object above the outline.
    let root: ObjectID
    /// The slot that refers to the parent, and the index of the row's place among its siblings.
    let slot: Int
    let place: Int
    var folds: OutlineFolds
    /// The rows that the outline may have, in its window or not.
    var rowsMax: Int

    /// Whether every child of an object is a row, so that its row need not be read.
    var admitsAll: Bool { !self.children.isFiltered }
    var table: EntityNumber { self.children.table }
    /// Whether a row must be read to know if it is shown and unfolded.
    var needsRows: Bool { !self.admitsAll || self.folds.attributeSlot != nil }
    /// The paths to other objects that decide which rows are shown.
    var filterPaths: [CompiledPath] { self.children.filter?.relatedValues.flatMap(\.watched) ?? [] }
    /// The paths to other objects that the columns read.
    var columnPaths: [CompiledPath] { self.children.related.flatMap(\.watched) }

    /// The tables of other objects that the filter and the columns read.
    var watchedTables: Set<EntityNumber> { Self.tables(of: self.filterPaths + self.columnPaths) }

    static func tables(of paths: [CompiledPath]) -> Set<EntityNumber> {
        Set(paths.flatMap { [$0.table] + $0.steps.map(\.table) })
    }

    /// Whether an object is shown if its parent is shown and unfolded.
    func admits<Objects: RelatedObjects>(
        _ id: ObjectID,
        _ row: ObjectRow,
        _ related: Objects
    ) throws(Objects.Failure) -> Bool {
        guard self.children.hasKind(row.entity) else { return false }
        guard let filter = self.children.filter else { return true }
        return try filter.admits(id, row, related)
    }

    var tooManyRows: StoreError {
        .refused(.limitExceeded, "the outline would have over \(self.rowsMax) rows: fold some of them")
    }

    /// The children of an owner as a source of their own.
    func children(of owner: ObjectID) -> ResultSource {
        var source = self.children
        source.membership = .owned(slot: self.slot, place: self.place, owner: owner)
        return source
    }
}

/// The fold states of an outline.
struct OutlineFolds: Hashable, Sendable {
    /// The state of all objects but the exceptions; with an attribute, its value is the state.
    var isExpanded = false
    /// The slot of the boolean attribute; `nil`: none.
    var attributeSlot: Int?
    var exceptions: Set<ObjectID> = []

    /// `row` is needed if there is an attribute.
    func isExpanded(_ id: ObjectID, _ row: ObjectRow?) -> Bool {
        self.usual(row) != self.exceptions.contains(id)
    }

    private func usual(_ row: ObjectRow?) -> Bool {
        guard let slot = self.attributeSlot else { return self.isExpanded }
        return row?.values[slot] == .boolean(true)
    }

    /// Sets the state of an object. `row`: the object; `nil` if it does not exist or is not visible.
    mutating func set(_ id: ObjectID, _ isExpanded: Bool, _ row: ObjectRow?) {
        if self.usual(row) == isExpanded { self.exceptions.remove(id) } else { self.exceptions.insert(id) }
    }

    /// Gives objects the other state; doing it twice changes nothing.
    mutating func toggle(_ ids: [ObjectID]) {
        for id in ids where self.exceptions.remove(id) == nil { self.exceptions.insert(id) }
    }

    /// Throws if there are too many exceptions.
    func check() throws(StoreError) {
        guard self.exceptions.count <= Limits.outlineExceptionsMax else {
            throw .refused(
                .limitExceeded,
                "an outline may have \(Limits.outlineExceptionsMax) objects whose fold state differs from its expansion"
            )
        }
    }
}
