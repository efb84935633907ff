import NestLiveQuery
import NestModel
import NestProtocol
import NestSchema
import NestStore

/// The sums, and the least and greatest values, of the related objects that live results aggregate:
/// `phones.@sum.minutes` of each owner that was asked for. Kept up to date with each batch: a changed value costs O(1)
/// in a sum and O(log n) in an order.
final class RelatedAggregates {
    /// The state of one owner.
    private enum State {
        case sum(ValueSum)
        /// The least and the greatest of few values, or of too many bytes to be kept in order. A change drops them, and
        /// they are read again.
        case few(minimum: AttributeValue, maximum: AttributeValue)
        case many(OrderedValues)

        var byteCount: Int {
            switch self {
            case .sum(let sum): 48 + sum.byteCount
            case .few(let minimum, let maximum): 144 + minimum.byteCount + maximum.byteCount
            case .many(let values): 48 + values.byteCount
            }
        }
    }

    /// The number of related objects whose values are read again after a change instead of being kept in order.
    static let fewMax = 32

    private struct Kept {
        var uses = 0
        var owners: [ObjectID: State] = [:]
        /// The estimated memory of the owners' states.
        var byteCount = 0

        subscript(_ owner: ObjectID) -> State? { self.owners[owner] }

        mutating func set(_ owner: ObjectID, _ state: State?) {
            self.byteCount += state?.byteCount ?? 0
            let before = if let state { self.owners.updateValue(state, forKey: owner) } else { self.take(owner) }
            if state != nil { self.byteCount -= before?.byteCount ?? 0 }
        }

        /// Removes a state, so that it has one owner and changes in place.
        mutating func take(_ owner: ObjectID) -> State? {
            guard let state = self.owners.removeValue(forKey: owner) else { return nil }
            self.byteCount -= state.byteCount
            return state
        }

        /// Applies a value that an owner has got (1) or lost (-1).
        mutating func apply(_ values: AggregatedValues, _ owner: ObjectID, _ member: Member, _ sign: Int) {
            guard !member.value.isNull, let state = self.take(owner) else { return }
            switch state {
            case .sum(var sum):
                if sign > 0 { sum.add(member.value) } else { sum.remove(member.value) }
                self.set(owner, .sum(sum))
            case .few:
                break
            case .many(var ordered):
                if sign > 0 { ordered.insert(member.id, member.value) } else { ordered.remove(member.id, member.value) }
                self.set(owner, .many(ordered))
            }
        }
    }

    /// An object, or a pair, behind the to-many step, and its value.
    private typealias Member = (id: ObjectID, value: AttributeValue)

    private let objects: ObjectReader
    /// Whether few states are kept, for a read that may ask for each owner once.
    private let isTransient: Bool
    /// Above so many bytes no further states are kept: their values are read whenever they are needed.
    private let bytesMax: Int
    private let fewMax: Int
    /// The values that may be read before the work is postponed.
    private var rowsLeft = Int.max
    private var kept: [AggregatedValues: Kept] = [:]

    init(
        _ objects: ObjectReader,
        isTransient: Bool,
        bytesMax: Int = Limits.aggregateBytesMax,
        fewMax: Int = RelatedAggregates.fewMax
    ) {
        self.objects = objects
        self.isTransient = isTransient
        self.bytesMax = bytesMax
        self.fewMax = fewMax
    }

    /// Limits the values that are read from now on, until `endTurn`. With more, reading throws
    /// `postponed(.resultTooExpensive)`.
    func beginTurn(rowsMax: Int) { self.rowsLeft = rowsMax }

    func endTurn() { self.rowsLeft = .max }

    func retain(_ source: ResultSource) {
        for value in source.relatedValues {
            if let aggregate = value.aggregate { self.kept[aggregate.values, default: Kept()].uses += 1 }
        }
    }

    func release(_ source: ResultSource) {
        for value in source.relatedValues {
            guard let values = value.aggregate?.values else { continue }
            self.kept[values]?.uses -= 1
            if self.kept[values]?.uses == 0 { self.kept[values] = nil }
        }
    }

    /// Forgets all states, after changes that were not followed.
    func forget() {
        for values in self.kept.keys { self.kept[values] = Kept(uses: self.kept[values]?.uses ?? 0) }
    }

    var ownerCount: Int { self.kept.values.reduce(0) { $0 + $1.owners.count } }
    var byteCount: Int { self.kept.values.reduce(0) { $0 + $1.byteCount } }

    // MARK: Reading

    /// Returns the value of a function for an owner. Throws VALUE_TOO_LARGE if no number of its type can hold it.
    func value(_ aggregate: RelatedAggregate, of owner: ObjectID) throws(StoreError) -> AttributeValue {
        let values = aggregate.values
        let state: State
        if let known = self.kept[values]?[owner] {
            state = known
        } else {
            state = try self.read(values, of: owner)
            if self.isTransient, self.byteCount > Self.transientBytesMax { self.forget() }
            if self.byteCount + state.byteCount <= self.bytesMax { self.kept[values]?.set(owner, state) }
        }
        switch state {
        case .sum(let sum):
            guard let value = sum.value(aggregate.function) else { throw Self.overflow(aggregate, of: owner) }
            return value
        case .few(let minimum, let maximum):
            return aggregate.function == .maximum ? maximum : minimum
        case .many(let ordered):
            guard let member = ordered.object(aggregate.function) else { return .null }
            return try self.objects.value(values, ofMember: member) ?? .null
        }
    }

    private static func overflow(_ aggregate: RelatedAggregate, of owner: ObjectID) -> StoreError {
        .refused(
            .valueTooLarge,
            "@\(aggregate.function.name) of the objects of \(owner) is beyond the numbers of its type",
            object: owner
        )
    }

    private func read(_ values: AggregatedValues, of owner: ObjectID) throws(StoreError) -> State {
        guard values.isOrdered else {
            var sum = ValueSum(of: values.type)
            try self.forEachValue(values, of: owner) { sum.add($1) }
            return .sum(sum)
        }
        var members: [Member] = []
        var extremes = ExtremeValues(of: values.type)
        var bytes = 0
        var visited = 0
        try self.forEachValue(values, of: owner) { id, value in
            extremes.note(id, value)
            visited += 1
            bytes += value.isNull ? 0 : Self.memberBytes + value.byteCount
            if bytes > Self.orderedBytesMax {
                members = []
            } else if !value.isNull {
                members.append((id, value))
            }
        }
        if visited > self.fewMax, bytes <= Self.orderedBytesMax {
            return .many(OrderedValues(of: values.type, members))
        }
        return .few(minimum: extremes.minimum, maximum: extremes.maximum)
    }

    /// Calls `body` with each value. Throws `postponed(.resultTooExpensive)` if there are more than the turn may read.
    private func forEachValue(
        _ values: AggregatedValues,
        of owner: ObjectID,
        _ body: (ObjectID, AttributeValue) -> Void
    ) throws(StoreError) {
        var left = self.rowsLeft
        defer { self.rowsLeft = left }
        try self.objects.forEachValue(values, of: owner) { (id, value) throws(StoreError) in
            guard left > 0 else { throw .postponed(.resultTooExpensive) }
            left -= 1
            body(id, value)
        }
    }

    /// Above so many bytes a background read forgets its states.
    private static let transientBytesMax = 16 << 20
    /// Above so many bytes the values of one owner are not kept in order; they are read again when one changes.
    private static let orderedBytesMax = 16 << 20
    /// The estimated memory of a value in order, beside the value itself.
    private static let memberBytes = 32

    // MARK: Changes

    /// Applies the changes of a batch.
    func take(_ changes: DependencyChanges) throws(StoreError) {
        for values in self.kept.keys {
            guard var kept = self.kept.removeValue(forKey: values) else { continue }
            defer { self.kept[values] = kept }
            guard !kept.owners.isEmpty else { continue }
            for (id, change) in changes[values.path.table] where change.after == nil { kept.set(id, nil) }
            if let targetSlot = values.targetSlot {
                try self.update(&kept, values, targetSlot, changes)
            } else {
                Self.update(&kept, values, changes)
            }
        }
    }

    private static func update(_ kept: inout Kept, _ values: AggregatedValues, _ changes: DependencyChanges) {
        for (id, change) in changes[values.memberTable] {
            let (before, after) = (change.before?.values, change.after?.values)
            if let before, let after, before.isSame(values.ownerSlot, as: after),
                before.isSame(values.valueSlot, as: after)
            {
                continue
            }
            for (row, sign) in [(before, -1), (after, 1)] {
                guard let row, let owner = row.reference(values.ownerSlot) else { continue }
                kept.apply(values, owner, (id, row[values.valueSlot]), sign)
            }
        }
    }

    /// Updates values behind pairs. A value comes or goes with its pair, or changes at the other end of pairs that
    /// stay.
    private func update(
        _ kept: inout Kept,
        _ values: AggregatedValues,
        _ targetSlot: Int,
        _ changes: DependencyChanges
    ) throws(StoreError) {
        let pairs = changes[values.memberTable]
        let targets = changes[values.valueTable]
        for (id, change) in pairs {
            for (pair, isBefore) in [(change.before, true), (change.after, false)] {
                guard let pair, let owner = pair.values.reference(values.ownerSlot), kept[owner] != nil,
                    let target = pair.values.reference(targetSlot)
                else { continue }
                let known = targets[target]
                var row = isBefore ? known?.before : known?.after
                if known == nil { row = try self.objects.row(values.valueTable, target) }
                kept.apply(values, owner, (id, row?.values[values.valueSlot] ?? .null), isBefore ? -1 : 1)
            }
        }
        for (target, change) in targets {
            guard let before = change.before?.values[values.valueSlot],
                let after = change.after?.values[values.valueSlot], before != after
            else { continue }
            for id in try self.objects.ids(referringTo: target, values.memberTable, targetSlot) where pairs[id] == nil {
                guard let owner = try self.objects.row(values.memberTable, id)?.values.reference(values.ownerSlot)
                else { continue }
                kept.apply(values, owner, (id, before), -1)
                kept.apply(values, owner, (id, after), 1)
            }
        }
    }
}
