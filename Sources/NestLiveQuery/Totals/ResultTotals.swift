import NestModel
import NestSchema

/// The totals of a result and of its sections, kept up to date with the changes of its rows. A changed row costs O(1)
/// in a sum and O(log n) in a least or greatest value, in the whole and in its section.
package struct ResultTotals {
    private enum Accumulator {
        case sum(ValueSum)
        case ordered(OrderedValues)
        /// While it is being changed.
        case none

        var byteCount: Int {
            switch self {
            case .none: 0
            case .sum(let sum): 16 + sum.byteCount
            case .ordered(let values): 16 + values.byteCount
            }
        }
    }

    /// The values that an accumulator gathers. Totals that need the same one share it.
    private struct Gathered: Hashable {
        var column: Int
        var type: AttributeType
        var isOrdered: Bool
    }

    private struct Group {
        var rowCount = 0
        var accumulators: [Accumulator]

        var byteCount: Int { self.accumulators.reduce(64) { $0 + $1.byteCount } }
    }

    /// What the last changes of the result have changed.
    package struct Changed {
        package var isAny = false
        /// The starts of the sections.
        package var sections: Set<SortKey> = []
    }

    private let totals: [ResultTotal]
    private let gathered: [Gathered]
    private let sectioning: Sectioning?
    private var whole: Group
    private var sections: [SortKey: Group] = [:]
    package private(set) var changed = Changed()
    /// The estimated memory, in bytes.
    package private(set) var byteCount = 0

    /// Makes the totals of a result without rows; `nil`: none are asked for.
    package init?(_ source: ResultSource) {
        guard !source.totals.isEmpty else { return nil }
        self.totals = source.totals
        var gathered: [Gathered] = []
        for case .function(let function, let column, let type) in source.totals {
            let values = Gathered(column: column, type: type, isOrdered: function.isOfOrder)
            if !gathered.contains(values) { gathered.append(values) }
        }
        self.gathered = gathered
        self.sectioning = Sectioning(source)
        self.whole = Group(accumulators: [])
        self.whole = self.emptyGroup
    }

    /// Makes the totals of rows. O(n log n) for least and greatest values, otherwise O(n).
    init?(_ source: ResultSource, _ members: [ObjectID: LiveResult.Member]) {
        self.init(source)
        for (id, member) in members { self.add(id, member, 1) }
        self.changed = Changed()
        self.byteCount = self.sections.values.reduce(self.whole.byteCount) { $0 + $1.byteCount }
    }

    private var emptyGroup: Group {
        Group(
            accumulators: self.gathered.map {
                $0.isOrdered ? .ordered(OrderedValues(of: $0.type, [])) : .sum(ValueSum(of: $0.type))
            }
        )
    }

    // MARK: Changes

    /// Forgets what earlier changes have changed.
    mutating func beginChanges() { self.changed = Changed() }

    /// Applies the change of a row. `before`, `after`: the row, if it was or is one.
    mutating func apply(_ id: ObjectID, from before: LiveResult.Member?, to after: LiveResult.Member?) {
        let sections = (before.flatMap(self.start), after.flatMap(self.start))
        if let before, let after, sections.0 == sections.1,
            self.gathered.allSatisfy({ before.columns[$0.column] == after.columns[$0.column] })
        {
            return
        }
        self.changed.isAny = true
        if let start = sections.0 { self.changed.sections.insert(start) }
        if let start = sections.1 { self.changed.sections.insert(start) }
        if let before { self.add(id, before, -1) }
        if let after { self.add(id, after, 1) }
    }

    private func start(_ member: LiveResult.Member) -> SortKey? { self.sectioning?.start(of: member.key.sort) }

    /// Adds a row, or removes it (-1).
    private mutating func add(_ id: ObjectID, _ member: LiveResult.Member, _ sign: Int) {
        let values = self.gathered.map { member.columns[$0.column] }
        self.byteCount -= self.whole.byteCount
        Self.add(id, values, sign, to: &self.whole)
        self.byteCount += self.whole.byteCount
        guard let start = self.start(member) else { return }
        // Taken out, so that it has one owner and changes in place.
        let known = self.sections.removeValue(forKey: start)
        if let known { self.byteCount -= known.byteCount }
        var group = known ?? self.emptyGroup
        Self.add(id, values, sign, to: &group)
        guard group.rowCount > 0 else { return }
        self.byteCount += group.byteCount
        self.sections[start] = group
    }

    /// Static, so that a group that is part of a value changes in place.
    private static func add(_ id: ObjectID, _ values: [AttributeValue], _ sign: Int, to group: inout Group) {
        group.rowCount += sign
        for (index, value) in values.enumerated() where !value.isNull {
            let accumulator = group.accumulators[index]
            // Leaves the accumulator with one owner.
            group.accumulators[index] = .none
            switch accumulator {
            case .none: break
            case .sum(var sum):
                if sign > 0 { sum.add(value) } else { sum.remove(value) }
                group.accumulators[index] = .sum(sum)
            case .ordered(var ordered):
                if sign > 0 { ordered.insert(id, value) } else { ordered.remove(id, value) }
                group.accumulators[index] = .ordered(ordered)
            }
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
        for (index, total) in self.totals.enumerated() {
            switch total {
            case .count: values.append(.integer(Int64(group.rowCount)))
            case .function(let function, let column, let type):
                let wanted = Gathered(column: column, type: type, isOrdered: function.isOfOrder)
                guard let place = self.gathered.firstIndex(of: wanted) else { preconditionFailure("made by init") }
                switch group.accumulators[place] {
                case .sum(let sum):
                    guard let value = sum.value(function) else { throw Overflow(index: index) }
                    values.append(value)
                case .none: values.append(.null)
                case .ordered(let ordered):
                    values.append(ordered.object(function).flatMap(member)?.columns[column] ?? .null)
                }
            }
        }
        return values
    }
}
