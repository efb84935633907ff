import NestModel

/// What predicates, orders and columns need to know of objects other than the row itself, as they are now.
package protocol RelatedObjects {
    /// Why an object cannot be read.
    associatedtype Failure: Error

    func row(_ table: EntityNumber, _ id: ObjectID) throws(Failure) -> ObjectRow?
    /// The row of a table of pairs whose slots refer to these.
    func pair(_ join: EntityNumber, _ slots: [(slot: Int, id: ObjectID)]) throws(Failure) -> ObjectRow?
    /// How many of the objects that a tally is of count, for one owner.
    func count(_ tally: Tally, of owner: ObjectID) throws(Failure) -> Int
    func contains(_ subtree: SubtreeKey, _ id: ObjectID) throws(Failure) -> Bool
}

/// All objects below one, by a to-many relationship to its own table.
package struct SubtreeKey: Hashable, Sendable {
    package var table: EntityNumber
    /// The slot that refers to the object above.
    package var slot: Int
    package var root: ObjectID
    /// Only as long as the root is this object or below it: to a token that is confined to this object, nothing else is there.
    package var limit: ObjectID?

    package init(table: EntityNumber, slot: Int, root: ObjectID, limit: ObjectID? = nil) {
        self.table = table
        self.slot = slot
        self.root = root
        self.limit = limit == root ? nil : limit
    }

    /// The same, wherever the root is.
    package var unlimited: SubtreeKey { SubtreeKey(table: self.table, slot: self.slot, root: self.root) }
}

/// How many of an owner's related objects there are, or satisfy a comparison.
package final class Tally: Hashable, Sendable {
    /// From the owner to everything that is read: its first step is to many. A second one is the last: its objects are counted.
    package let path: CompiledPath
    /// From an object that the first step leads to.
    private let compared: RelatedValue
    /// `nil`: all of them.
    private let comparison: Comparison?
    private let test: CompiledComparison?
    /// Those are counted of which the comparison is false.
    private let isNegated: Bool

    package init(_ path: CompiledPath, _ test: CompiledComparison? = nil, isNegated: Bool = false) {
        // `RelatedValue.tally` begins it there.
        precondition(path.steps.first?.isToMany ?? false, "a tally begins with a step to many")
        self.path = path
        let rest = CompiledPath(table: path.table(after: 1), steps: Array(path.steps.dropFirst()), leaf: path.leaf)
        self.compared = RelatedValue.tally(rest) ?? .path(rest)
        var comparison = test?.comparison
        comparison?.quantifier = .any
        comparison?.path = PropertyPath(leaf: .object)
        self.comparison = comparison
        self.test = test
        self.isNegated = isNegated
    }

    package func counts(_ value: AttributeValue) -> Bool {
        self.test.map { $0.isTrue(of: value) != self.isNegated } ?? true
    }

    /// Nothing is compared.
    package var countsAll: Bool { self.test == nil }

    /// What an object at the end of the first step says is enough.
    package var isDirect: Bool { self.path.steps.count == 1 }

    /// What it compares, when that is a count.
    package var inner: Tally? { self.compared.tally }

    /// Whether an object that the first step leads to counts.
    package func counts<Objects: RelatedObjects>(
        _ id: ObjectID,
        _ row: ObjectRow,
        _ related: Objects
    ) throws(Objects.Failure) -> Bool {
        guard self.test != nil else { return true }
        return self.counts(try self.compared.value(id, row, related))
    }

    package static func == (a: Tally, b: Tally) -> Bool {
        a === b || (a.path == b.path && a.comparison == b.comparison && a.isNegated == b.isNegated)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.path)
        hasher.combine(self.comparison)
        hasher.combine(self.isNegated)
    }
}

extension CompiledPath {
    /// The value at its end. Null, when a reference on the way is null. Precondition: its steps are to one.
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

    private func end<Objects: RelatedObjects>(
        _ id: ObjectID,
        _ row: ObjectRow,
        _ related: Objects
    ) throws(Objects.Failure) -> (id: ObjectID, row: ObjectRow)? {
        var (id, row) = (id, row)
        for step in self.steps {
            // `RelatedValue.tally` has taken every path with a to-many step.
            guard case .toOne(let slot, let table) = step else { preconditionFailure("a path to many has many ends") }
            guard let next = row.values[slot].referenceValue, let found = try related.row(table, next) else {
                return nil
            }
            (id, row) = (next, found)
        }
        return (id, row)
    }
}

/// A value of a row that other objects have a say in.
package enum RelatedValue: Hashable, Sendable {
    /// Steps to one.
    case path(CompiledPath)
    /// Of the object that `owner` leads to.
    case count(owner: CompiledPath, Tally)

    /// A quantifier or a count makes one value of the objects of a step to many, so `path` has at most two of those: a
    /// quantifier's, and then a count's, which is the last. `nil`: it has none.
    package static func tally(
        _ path: CompiledPath,
        _ test: CompiledComparison? = nil,
        isNegated: Bool = false
    ) -> RelatedValue? {
        guard let index = path.steps.firstIndex(where: \.isToMany) else { return nil }
        var owner = CompiledPath(table: path.table, steps: Array(path.steps[..<index]), leaf: .object)
        let rest = CompiledPath(table: owner.table(after: index), steps: Array(path.steps[index...]), leaf: path.leaf)
        if case .toOne(let slot, _)? = owner.steps.last {
            owner.steps.removeLast()
            owner.leaf = .slot(slot)
        }
        return .count(owner: owner, Tally(rest, test, isNegated: isNegated))
    }

    package func value<Objects: RelatedObjects>(
        _ id: ObjectID,
        _ row: ObjectRow,
        _ related: Objects
    ) throws(Objects.Failure) -> AttributeValue {
        switch self {
        case .path(let path):
            return try path.value(id, row, related)
        case .count(let owner, let tally):
            guard let owner = try owner.value(id, row, related).referenceValue else { return .null }
            return .integer(Int64(try related.count(tally, of: owner)))
        }
    }

    /// Everything that can change it, as one path from the row.
    package var watched: CompiledPath {
        switch self {
        case .path(let path): return path
        case .count(let owner, let tally):
            var path = owner
            if case .slot(let slot) = owner.leaf { path.steps.append(.toOne(slot: slot, table: tally.path.table)) }
            path.steps += tally.path.steps
            path.leaf = tally.path.leaf
            return path
        }
    }

    /// What it counts, and what is counted for that.
    package var tallies: [Tally] {
        [self.tally, self.tally?.inner].compactMap { $0 }
    }

    package var tally: Tally? {
        if case .count(_, let tally) = self { tally } else { nil }
    }
}
