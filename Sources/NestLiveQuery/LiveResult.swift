import NestModel

/// What the rows of a live result are: part of what makes two requests share one.
package struct ResultSource: Hashable, Sendable {
    package var entity: EntityNumber
    /// The slot of the rows that points to the owner.
    package var slot: Int
    /// `ObjectRow.places` of that slot; `nil` for an unordered relationship, whose rows are in the order of their ids.
    package var place: Int?
    package var owner: ObjectID

    package init(entity: EntityNumber, slot: Int, place: Int?, owner: ObjectID) {
        self.entity = entity
        self.slot = slot
        self.place = place
        self.owner = owner
    }

    /// The row's key in this result, or `nil` when the object is not in it.
    package func key(_ id: ObjectID, _ row: ObjectRow?) -> RowKey? {
        guard let row, row.values[self.slot].referenceValue == self.owner else { return nil }
        return RowKey(position: self.place.map { row.places[$0].position } ?? 0, id: id)
    }
}

/// The maintained result of a fetch request: its rows in order, and what happened to them.
///
/// Holds ids and keys only; values are read where they are sent. No I/O.
package final class LiveResult {
    package let source: ResultSource
    package private(set) var tree: OrderStatisticTree
    /// The revision of the last change.
    package private(set) var revision: Revision
    package private(set) var log: RowLog

    package static let sectionKey = AttributeValue.string("")
    package static let sectionHash = Digest.sectionHash(LiveResult.sectionKey)

    /// From the rows of the store at a revision, in order.
    package init(source: ResultSource, sorted keys: [RowKey], revision: Revision) {
        self.source = source
        self.tree = OrderStatisticTree(sorted: keys, sectionHash: Self.sectionHash)
        self.revision = revision
        self.log = RowLog(base: revision)
    }

    /// With about what an empty result takes where it is kept.
    package var byteCount: Int { 1_024 + self.tree.byteCount + self.log.byteCount }

    /// What a touched object means for this result; `nil` when nothing.
    package static func rowChange(_ source: ResultSource, _ object: TouchedObject) -> RowChange? {
        let before = source.key(object.id, object.before)
        let after = source.key(object.id, object.after)
        guard before != nil || after != nil else { return nil }
        var change = RowChange(
            id: object.id,
            before: before,
            after: after,
            isPlaced: before == nil || after == nil,
            isDeleted: object.after == nil
        )
        if let old = object.before, before != nil, after == nil {
            // It may come back with other values that nobody here will see change: remember all of them.
            change.changed = old.values.enumerated().map { ($0, $1) }
        } else if let old = object.before, let new = object.after {
            for slot in old.values.indices where old.values[slot] != new.values[slot] {
                change.changed.append((slot, old.values[slot]))
            }
            if let place = source.place, old.places[place].stamp != new.places[place].stamp { change.isPlaced = true }
        }
        return change
    }

    /// Takes the changes of one revision.
    package func apply(_ changes: [RowChange], at revision: Revision) {
        precondition(revision >= self.revision, "revisions only grow: \(self.revision) then \(revision)")
        for change in changes where change.before != change.after {
            if let before = change.before {
                let wasThere = self.tree.remove(before)
                precondition(wasThere, "the row \(change.id) is not where the change set says it was")
            }
            if let after = change.after {
                let isNew = self.tree.insert(after)
                precondition(isNew, "the row \(change.id) is in the result already")
            }
        }
        self.log.append(revision, changes)
        self.revision = revision
    }

    /// Puts the changes of older revisions, read from the journal, before the log.
    package func prepend(_ older: RowLog) {
        self.log.prepend(older)
    }

    package func dropOldestLogEntry() -> Bool { self.log.dropOldest() }

    package func dropLog(through revision: Revision) { self.log.drop(through: revision) }

    /// The state at an earlier revision that the log still reaches, and the net changes since: the tree of now with the
    /// changed rows put back where they were. O(k log n); both trees share what did not change.
    package func state(at base: Revision) -> (tree: OrderStatisticTree, changes: [ObjectID: RowChange]) {
        let changes = self.log.folded(after: base)
        var tree = self.tree
        for change in changes.values where change.before != change.after {
            if let after = change.after { tree.remove(after) }
        }
        for change in changes.values where change.before != change.after {
            if let before = change.before { tree.insert(before) }
        }
        return (tree, changes)
    }
}
