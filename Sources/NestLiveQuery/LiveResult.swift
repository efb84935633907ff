import NestModel

/// The maintained result of a fetch request: its rows in order, and what happened to them.
///
/// Holds ids and keys only; values are read where they are sent. No I/O.
package final class LiveResult {
    package let source: ResultSource
    package private(set) var tree: OrderStatisticTree
    /// The revision of the last change.
    package private(set) var revision: Revision
    package private(set) var log: RowLog
    /// Of a paired result: the key of each row, because neither a pair nor its target alone tells it.
    private var keys: [ObjectID: RowKey] = [:]

    package static let sectionKey = AttributeValue.string("")
    package static let sectionHash = Digest.sectionHash(LiveResult.sectionKey)

    /// From the rows of the store at a revision, in order.
    package init(source: ResultSource, sorted keys: [RowKey], revision: Revision) {
        self.source = source
        self.tree = OrderStatisticTree(sorted: keys, sectionHash: Self.sectionHash)
        self.revision = revision
        self.log = RowLog(base: revision)
        if source.isPaired {
            self.keys.reserveCapacity(keys.count)
            for key in keys { self.keys[key.id] = key }
        }
    }

    /// With about what an empty result takes where it is kept. A row of a paired result is also in a table of keys, and in one
    /// of the registry.
    package var byteCount: Int { 1_024 + self.tree.byteCount + self.log.byteCount + 96 * self.keys.count }

    /// The rows of a paired result, in no order.
    package var members: some Collection<ObjectID> { self.keys.keys }

    /// Of a paired result: the key of a row, `nil` when it is not there.
    package func memberKey(_ id: ObjectID) -> RowKey? { self.keys[id] }

    /// Takes the changes up to a revision, each row at most once.
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
            if self.source.isPaired { self.keys[change.id] = change.after }
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
