import NestModel
import NestOrder
import NestSchema

/// The totals of a result and of its sections, kept up to date with the changes of its rows. A changed row costs O(1)
/// in a sum and O(log n) in a least or greatest value, in the whole and in its section.
package struct ResultTotals {
    /// The values that a sum or an order gathers. Totals that need the same ones share them.
    private struct Gathered: Hashable {
        var column: Int
        var type: AttributeType
    }

    /// Where a total is read.
    private enum Reading {
        case count
        case sum(AggregateFunction, index: Int)
        case ordered(AggregateFunction, index: Int, column: Int)
    }

    /// The rows of the result, or of a section.
    private struct Group {
        var rowCount = 0
        var sums: [ValueSum]
        var orders: [OrderedValues]

        var byteCount: Int {
            self.orders.reduce(self.sums.reduce(64) { $0 + 16 + $1.byteCount }) { $0 + 16 + $1.byteCount }
        }
    }

    /// What the last changes of the result have changed.
    package struct Changed {
        package var isAny = false
        /// The starts of the sections.
        package var sections: Set<SortKey> = []
    }

    private let readings: [Reading]
    private let summed: [Gathered]
    private let ordered: [Gathered]
    private let sectioning: Sectioning?
    private let emptyGroup: Group
    private var whole: Group
    private var sections: [SortKey: Group] = [:]
    package private(set) var changed = Changed()
    /// The estimated memory, in bytes.
    package private(set) var byteCount = 0

    /// Makes the totals of a result without rows; `nil`: none are asked for.
    package init?(_ source: ResultSource) {
        guard !source.totals.isEmpty else { return nil }
        var summed: [Gathered] = []
        var ordered: [Gathered] = []
        func index(_ values: Gathered, in all: inout [Gathered]) -> Int {
            if let known = all.firstIndex(of: values) { return known }
            all.append(values)
            return all.count - 1
        }
        self.readings = source.totals.map { total in
            guard case .function(let function, let column, let type) = total else { return .count }
            let values = Gathered(column: column, type: type)
            return function.isOfOrder
                ? .ordered(function, index: index(values, in: &ordered), column: column)
                : .sum(function, index: index(values, in: &summed))
        }
        self.summed = summed
        self.ordered = ordered
        self.sectioning = Sectioning(source)
        self.emptyGroup = Group(
            sums: summed.map { ValueSum(of: $0.type) },
            orders: ordered.map { OrderedValues(of: $0.type, []) }
        )
        self.whole = self.emptyGroup
        self.byteCount = self.whole.byteCount
    }

    /// Makes the totals of rows. O(n log n) for least and greatest values, otherwise O(n).
    init?(_ source: ResultSource, _ members: [ObjectID: LiveResult.Member]) {
        self.init(source)
        for (id, member) in members { self.apply(id, from: nil, to: member) }
        self.changed = Changed()
    }

    // MARK: Changes

    /// Forgets what earlier changes have changed.
    mutating func beginChanges() { self.changed = Changed() }

    /// Applies the change of a row. `before`, `after`: the row, if it was or is one.
    mutating func apply(_ id: ObjectID, from before: LiveResult.Member?, to after: LiveResult.Member?) {
        // Without sections a row is not looked at: that would copy it.
        let old = self.sectioning == nil ? nil : before.flatMap(self.start)
        let new = self.sectioning == nil ? nil : after.flatMap(self.start)
        if let before, let after, old == new, !self.isChanged(before, after) { return }
        self.changed.isAny = true
        if let old { self.changed.sections.insert(old) }
        if let new { self.changed.sections.insert(new) }
        self.byteCount -= self.whole.byteCount
        Self.change(&self.whole, id, before, after, self.summed, self.ordered)
        self.byteCount += self.whole.byteCount
        if old == new {
            if let new { self.change(new, id, before, after) }
        } else {
            if let old { self.change(old, id, before, nil) }
            if let new { self.change(new, id, nil, after) }
        }
    }

    private func start(_ member: LiveResult.Member) -> SortKey? { self.sectioning?.start(of: member.key.sort) }

    private func isChanged(_ before: LiveResult.Member, _ after: LiveResult.Member) -> Bool {
        self.summed.contains { before.columns[$0.column] != after.columns[$0.column] }
            || self.ordered.contains { before.columns[$0.column] != after.columns[$0.column] }
    }

    /// Changes the section with a start, which goes with its last row.
    private mutating func change(
        _ start: SortKey,
        _ id: ObjectID,
        _ before: LiveResult.Member?,
        _ after: LiveResult.Member?
    ) {
        guard let place = self.sections.index(forKey: start) else {
            var group = self.emptyGroup
            Self.change(&group, id, before, after, self.summed, self.ordered)
            self.byteCount += group.byteCount
            self.sections[start] = group
            return
        }
        self.byteCount -= self.sections.values[place].byteCount
        Self.change(&self.sections.values[place], id, before, after, self.summed, self.ordered)
        if self.sections.values[place].rowCount == 0 {
            self.sections.remove(at: place)
        } else {
            self.byteCount += self.sections.values[place].byteCount
        }
    }

    /// Static, so that a group that is part of a value changes in place.
    private static func change(
        _ group: inout Group,
        _ id: ObjectID,
        _ before: LiveResult.Member?,
        _ after: LiveResult.Member?,
        _ summed: [Gathered],
        _ ordered: [Gathered]
    ) {
        if before == nil { group.rowCount += 1 }
        if after == nil { group.rowCount -= 1 }
        for index in summed.indices {
            let column = summed[index].column
            if let before { group.sums[index].remove(before.columns[column]) }
            if let after { group.sums[index].add(after.columns[column]) }
        }
        for index in ordered.indices {
            let column = ordered[index].column
            group.orders[index].replace(id, before?.columns[column], after?.columns[column])
        }
    }

    // MARK: Reading

    /// A total that no number of its type can hold.
    package struct Overflow: Error {
        /// The index of the total in the request.
        package var index: Int
    }

    /// Returns the totals of the section with a start, or of the whole result (`nil`). `member`: returns a row.
    func values(
        ofSection start: SortKey?,
        _ member: (ObjectID) -> LiveResult.Member?
    ) throws(Overflow) -> [AttributeValue] {
        let group = start.map { self.sections[$0] ?? self.emptyGroup } ?? self.whole
        var values: [AttributeValue] = []
        values.reserveCapacity(self.readings.count)
        for (total, reading) in self.readings.enumerated() {
            switch reading {
            case .count:
                values.append(.integer(Int64(group.rowCount)))
            case .sum(let function, let index):
                guard let value = group.sums[index].value(function) else { throw Overflow(index: total) }
                values.append(value)
            case .ordered(let function, let index, let column):
                values.append(group.orders[index].object(function).flatMap(member)?.columns[column] ?? .null)
            }
        }
        return values
    }
}
