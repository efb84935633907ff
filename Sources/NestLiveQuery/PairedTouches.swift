import NestModel

/// What a batch of revisions did to a paired result's pairs and to the objects they lead to, and what its rows make of that.
///
/// Pairs and objects are touched apart, in any order and in any of the revisions, and what nobody touched is known only as it
/// is now: so the batch is taken as one step, from the state before it to the state after it. Clients are exact at the ends of
/// batches only.
package struct PairedTouches {
    private struct Touch {
        var before: ObjectRow?
        var after: ObjectRow?
    }

    private var pairs: [ObjectID: Touch] = [:]
    private var targets: [ObjectID: Touch] = [:]
    private var renumbered: Set<ObjectID> = []

    package init() {}

    /// A pair that leads from the result's owner, before or after.
    package mutating func note(pair: TouchedObject) {
        self.pairs[pair.id, default: Touch(before: pair.before)].after = pair.after
    }

    /// An object that was a row before the batch.
    package mutating func note(target: TouchedObject) {
        self.targets[target.id, default: Touch(before: target.before)].after = target.after
    }

    package mutating func note(renumberedPair id: ObjectID) {
        self.renumbered.insert(id)
    }

    /// The rows' changes over the batch, ascending by id. `pair` and `target` read a pair and an object as they are at its
    /// end. Above `countMax` the change is a large one, whose values before are not remembered.
    package mutating func rowChanges(
        of result: LiveResult,
        countMax: Int,
        pair: (ObjectID) throws -> ObjectRow?,
        target: (ObjectID) throws -> ObjectRow?
    ) rethrows -> (changes: [RowChange], isLarge: Bool) {
        let source = result.source
        guard case .paired(_, let ownerSlot, let targetSlot, _, let owner) = source.membership else {
            preconditionFailure("the result is a paired one")
        }
        for id in self.renumbered {
            // Its last touch may be older than its last renumbering.
            guard let row = try pair(id) else { continue }
            self.pairs[id, default: Touch(before: row)].after = row
        }
        var before: [ObjectID: ObjectRow] = [:]
        var after: [ObjectID: ObjectRow] = [:]
        for touch in self.pairs.values {
            for (row, isBefore) in [(touch.before, true), (touch.after, false)] {
                guard let row, row.values[ownerSlot].referenceValue == owner,
                    let id = row.values[targetSlot].referenceValue
                else { continue }
                if isBefore { before[id] = row } else { after[id] = row }
            }
        }
        let ids = Set(before.keys).union(after.keys).union(self.targets.keys).sorted()
        let isLarge = ids.count > countMax
        let needsRow = !source.sort.isEmpty || source.isFiltered
        var writer = SortKeyWriter()
        var changes: [RowChange] = []
        for id in ids {
            let known = result.memberKey(id)
            let touch = self.targets[id]
            let isUnpaired = after[id] == nil && (before[id] != nil || known == nil)
            var row = touch?.after
            if touch == nil, isUnpaired ? !isLarge && known != nil : needsRow { row = try target(id) }
            var key: RowKey?
            if !isUnpaired, !needsRow || row.map({ source.admits(id, $0) }) ?? false {
                let place = source.orderingPlace.flatMap { place in after[id].map { $0.places[place] } }
                // A pair that nobody touched leaves its row where it is, unless the row's values decide.
                key = after[id] == nil && source.sort.isEmpty ? known : source.key(id, row, place: place, &writer)
            }
            guard known != nil || key != nil else { continue }
            var change = RowChange(
                id: id,
                before: known,
                after: key,
                isPlaced: known == nil || key == nil,
                isDeleted: key == nil && row == nil
            )
            if !isLarge { change.noteValues(from: touch.map(\.before) ?? row, to: row) }
            if !change.isPlaced {
                if let place = source.orderingPlace {
                    change.isPlaced = before[id]?.places[place].stamp != after[id]?.places[place].stamp
                } else {
                    change.isPlaced = known != key
                }
            }
            changes.append(change)
        }
        return (changes, isLarge)
    }
}
