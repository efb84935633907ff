import NestModel
import NestOrder

/// The objects other than the row itself that predicates, orders and columns read, in their current state.
package protocol RelatedObjects {
    /// Why an object cannot be read.
    associatedtype Failure: Error

    func row(_ table: EntityNumber, _ id: ObjectID) throws(Failure) -> ObjectRow?
    /// Returns the row of a table of pairs whose slots refer to these objects.
    func pair(_ join: EntityNumber, _ slots: [(slot: Int, id: ObjectID)]) throws(Failure) -> ObjectRow?
    /// Returns the number of an owner's objects that a relationship count counts.
    func count(_ relationshipCount: RelationshipCount, of owner: ObjectID) throws(Failure) -> Int
    /// Returns the value of an aggregate function of an owner's objects.
    func value(_ aggregate: RelatedAggregate, of owner: ObjectID) throws(Failure) -> AttributeValue
    func contains(_ subtree: SubtreeKey, _ id: ObjectID) throws(Failure) -> Bool
}

/// The objects below a root, by a to-many relationship to its own table.
package struct SubtreeKey: Hashable, Sendable {
    package var table: EntityNumber
    /// The slot that refers to the parent.
    package var slot: Int
    package var root: ObjectID
    /// The root of a confined token. If the sub-tree's root is neither this object nor below it, the sub-tree is empty:
    /// the token cannot see it.
    package var limit: ObjectID?

    package init(table: EntityNumber, slot: Int, root: ObjectID, limit: ObjectID? = nil) {
        self.table = table
        self.slot = slot
        self.root = root
        self.limit = limit == root ? nil : limit
    }

    /// The same sub-tree without the limit.
    package var unlimited: SubtreeKey { SubtreeKey(table: self.table, slot: self.slot, root: self.root) }
}

/// The number of an owner's related objects: of all, of those that satisfy a comparison, or of those that a filter
/// admits. A relationship count.
package final class RelationshipCount: Hashable, Sendable {
    /// The path from the owner to everything that is read. Its first step is to-many. A second to-many step is the
    /// last: its objects are counted. With a filter, the path leads to the counted objects.
    package let path: CompiledPath
    /// The compared value, or the filtered object, from an object at the end of the first step.
    private let compared: RelatedValue
    /// `nil`: counts all objects, or those that the filter admits.
    private let comparison: Comparison?
    private let test: CompiledComparison?
    /// Whether to count the objects for which the comparison is false.
    private let isNegated: Bool
    /// The predicate of a `SUBQUERY`.
    private let filter: RowFilter?

    package init(
        _ path: CompiledPath,
        _ test: CompiledComparison? = nil,
        isNegated: Bool = false,
        filter: RowFilter? = nil
    ) {
        // `RelatedValue.relationshipCount` passes such paths only.
        precondition(path.steps.first?.isToMany ?? false, "a relationship count begins with a to-many step")
        self.path = path
        let rest = CompiledPath(table: path.table(after: 1), steps: Array(path.steps.dropFirst()), leaf: path.leaf)
        self.compared = RelatedValue.relationshipCount(rest) ?? .path(rest)
        var comparison = test?.comparison
        comparison?.quantifier = .any
        comparison?.path = PropertyPath(leaf: .object)
        self.comparison = comparison
        self.test = test
        self.isNegated = isNegated
        self.filter = filter
    }

    package func counts(_ value: AttributeValue) -> Bool {
        self.test.map { $0.isTrue(of: value) != self.isNegated } ?? true
    }

    /// Whether all objects count.
    package var countsAll: Bool { self.test == nil && self.filter == nil }

    /// Whether a changed row of the first step's table suffices to change the count: nothing else is read.
    package var isDirect: Bool { self.path.steps.count == 1 && (self.filter?.isOwn ?? true) }

    /// The relationship counts that it reads.
    package var inner: [RelationshipCount] {
        self.compared.relationshipCounts + (self.filter?.relatedValues.flatMap(\.relationshipCounts) ?? [])
    }

    /// Everything that can change the count, as paths from the owner.
    package var watched: [CompiledPath] { [self.path] + (self.filter?.watched.map(self.path.joined) ?? []) }

    /// Whether an object at the end of the first step counts.
    package func counts<Objects: RelatedObjects>(
        _ id: ObjectID,
        _ row: ObjectRow,
        _ related: Objects
    ) throws(Objects.Failure) -> Bool {
        if let filter = self.filter {
            guard case .path(let rest) = self.compared, let end = try rest.end(id, row, related) else { return false }
            return try filter.admits(end.id, end.row, related)
        }
        guard self.test != nil else { return true }
        return self.counts(try self.compared.value(id, row, related))
    }

    package static func == (a: RelationshipCount, b: RelationshipCount) -> Bool {
        a === b
            || (a.path == b.path && a.comparison == b.comparison && a.isNegated == b.isNegated && a.filter == b.filter)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.path)
        hasher.combine(self.comparison)
        hasher.combine(self.isNegated)
        hasher.combine(self.filter)
    }
}

extension CompiledPath {
    /// Returns the value at the end of the path; null if a reference on the way is null. Precondition: all steps are
    /// to-one.
    package func value<Objects: RelatedObjects>(
        _ id: ObjectID,
        _ row: ObjectRow,
        _ related: Objects
    ) throws(Objects.Failure) -> AttributeValue {
        guard let end = try self.end(id, row, related) else { return .null }
        switch self.leaf {
        case .object: return .reference(end.id)
        case .slot(let slot): return end.row.values[slot]
        }
    }

    /// Returns the object at the end of the steps, with its row.
    fileprivate func end<Objects: RelatedObjects>(
        _ id: ObjectID,
        _ row: ObjectRow,
        _ related: Objects
    ) throws(Objects.Failure) -> (id: ObjectID, row: ObjectRow)? {
        var (id, row) = (id, row)
        for step in self.steps {
            // `RelatedValue.relationshipCount` handles every path with a to-many step.
            guard case .toOne(let slot, let table) = step else { preconditionFailure("a to-many path has many ends") }
            guard let next = row.values.reference(slot), let found = try related.row(table, next) else {
                return nil
            }
            (id, row) = (next, found)
        }
        return (id, row)
    }
}

/// A value of a row that depends on other objects.
package enum RelatedValue: Hashable, Sendable {
    /// A path of to-one steps.
    case path(CompiledPath)
    /// A relationship count of the object at the end of `owner`.
    case count(owner: CompiledPath, RelationshipCount)
    /// A function of the objects of a to-many relationship of the object at the end of `owner`.
    case aggregate(owner: CompiledPath, RelatedAggregate)

    /// Returns the count of a path with a to-many step, or `nil` if it has none. A quantifier or a count makes one
    /// value of the objects of a to-many step, so a path has at most two such steps: a quantifier's, then a count's,
    /// which is the last.
    package static func relationshipCount(
        _ path: CompiledPath,
        _ test: CompiledComparison? = nil,
        isNegated: Bool = false,
        filter: RowFilter? = nil
    ) -> RelatedValue? {
        guard let (owner, rest) = path.splitAtToMany else { return nil }
        return .count(owner: owner, RelationshipCount(rest, test, isNegated: isNegated, filter: filter))
    }

    package func value<Objects: RelatedObjects>(
        _ id: ObjectID,
        _ row: ObjectRow,
        _ related: Objects
    ) throws(Objects.Failure) -> AttributeValue {
        switch self {
        case .path(let path):
            return try path.value(id, row, related)
        case .count(let owner, let count):
            guard let owner = try owner.value(id, row, related).referenceValue else { return .null }
            return .integer(Int64(try related.count(count, of: owner)))
        case .aggregate(let owner, let aggregate):
            guard let owner = try owner.value(id, row, related).referenceValue else { return .null }
            return try related.value(aggregate, of: owner)
        }
    }

    /// Everything that can change the value, as paths from the row.
    package var watched: [CompiledPath] {
        switch self {
        case .path(let path): [path]
        case .count(let owner, let count): count.watched.map(owner.joined)
        case .aggregate(let owner, let aggregate): [owner.joined(aggregate.values.path)]
        }
    }

    /// The relationship count of this value and those that it reads.
    package var relationshipCounts: [RelationshipCount] {
        self.relationshipCount.map { [$0] + $0.inner } ?? []
    }

    package var relationshipCount: RelationshipCount? {
        if case .count(_, let count) = self { count } else { nil }
    }
}

extension CompiledPath {
    /// Returns the path that goes on with `rest` from the object at the end of this one.
    func joined(_ rest: CompiledPath) -> CompiledPath {
        var path = self
        if case .slot(let slot) = self.leaf { path.steps.append(.toOne(slot: slot, table: rest.table)) }
        path.steps += rest.steps
        path.leaf = rest.leaf
        return path
    }
}
