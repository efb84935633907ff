import NestModel
import NestProtocol
import NestSchema

/// A committed transaction, read from the journal by an undo.
package final class PastTransaction {
    package let header: JournalHeader
    private let inline: [UInt8]
    private let journal: Journal
    /// Its objects, when they are few and have been read: they are looked at several times.
    private var changes: [ObjectChange]?
    /// Up to so many are kept.
    private static let keptMax = 4_096
    /// By table: under whom the objects were that have been deleted since.
    private var formerOwners: [FormerOwnersKey: [ObjectID: ObjectID]] = [:]

    private struct FormerOwnersKey: Hashable {
        var table: EntityNumber
        var slot: Int
    }

    init(_ header: JournalHeader, _ inline: [UInt8], _ journal: Journal) {
        self.header = header
        self.inline = inline
        self.journal = journal
    }

    package var revision: Revision { self.header.revision }

    /// Calls `body` with each object that it changed. A bulk change set is read block by block.
    package func forEach(_ body: (ObjectChange) throws(StoreError) -> Void) throws(StoreError) {
        if let changes {
            for change in changes { try body(change) }
            return
        }
        var kept: [ObjectChange]? = []
        try self.journal.forEachChange(self.header, self.inline) { (change) throws(StoreError) in
            kept?.append(change)
            if let count = kept?.count, count > Self.keptMax { kept = nil }
            try body(change)
        }
        self.changes = kept
    }

    /// What it did to an object, looked for in its row of the journal and in as many blocks as are left.
    func change(of id: ObjectID, _ blocksLeft: inout Int) throws(StoreError) -> ObjectChange? {
        // That of an import is the first of a million.
        if let inserted = self.insertion(of: id) { return inserted }
        if let change = try self.journal.inlineChanges(self.inline).changes.first(where: { $0.id == id }) {
            return change
        }
        for number in 0..<self.header.blockCount where blocksLeft > 0 {
            blocksLeft -= 1
            let changes = try self.journal.block(self.revision, number).changes
            if let change = changes.first(where: { $0.id == id }) { return change }
        }
        return nil
    }

    /// That it inserted an object, when the header says so, without the values.
    private func insertion(of id: ObjectID) -> ObjectChange? {
        let isResult = self.header.results.contains { run in
            !run.isFound && run.first <= id && id.rawValue - run.first.rawValue < Int64(run.count)
        }
        guard isResult else { return nil }
        return ObjectChange(kind: .insert, entity: EntityNumber(0), id: id, revisionBefore: Revision(0))
    }

    /// How many objects it changed, when that is not a bulk change set. O(its bytes).
    package func inlineCount() throws(StoreError) -> Int? {
        guard self.header.blockCount == 0 else { return nil }
        var count = 0
        try self.forEach { _ in count += 1 }
        return count
    }

    /// What an object, deleted since, was under when it was deleted last: the value of a to-one slot. The first call
    /// reads the journal from this transaction on, and keeps an entry for every object of the table that was deleted.
    func formerOwner(of id: ObjectID, _ layout: EntityLayout, slot: Int) throws(StoreError) -> ObjectID? {
        let key = FormerOwnersKey(table: layout.number, slot: slot)
        if let owners = self.formerOwners[key] { return owners[id] }
        var owners: [ObjectID: ObjectID] = [:]
        let place = layout.placeOfSlot[slot]
        try self.journal.forEachEntry(after: self.revision) { (header, inline) throws(StoreError) in
            try self.journal.forEachChange(
                header,
                inline,
                { change in
                    guard change.kind == .delete, self.journal.layout[change.entity] === layout else { return }
                    owners[change.id] =
                        place >= 0
                        ? change.placings.first { $0.place == place }?.before?.owner
                        : change.values.first { $0.slot == slot }?.before.referenceValue
                }
            )
        }
        self.formerOwners[key] = owners
        return owners[id]
    }
}

extension Store {
    /// A transaction by its revision; `nil` when the journal no longer has it.
    package func pastTransaction(_ revision: Revision) throws(StoreError) -> PastTransaction? {
        guard let (header, inline) = try self.journal.entry(revision) else { return nil }
        return PastTransaction(header, inline, self.journal)
    }

    /// Which change gave an object the value that a property has: looked for from its last change back to `base`, over
    /// at most `Limits.changesSearchedMax` changes of the object. Failing that, its last change, which is not exact.
    package func author(
        of property: PropertyNumber?,
        of id: ObjectID,
        from last: Revision,
        after base: Revision
    ) throws(StoreError) -> (revision: Revision, sessionNumber: UInt64, isExact: Bool)? {
        var found: (revision: Revision, sessionNumber: UInt64, isExact: Bool)?
        var next = last
        for _ in 0..<Limits.changesSearchedMax where next > base {
            guard let transaction = try self.pastTransaction(next) else { break }
            if found == nil { found = (next, transaction.header.sessionNumber, false) }
            // A bulk change set is not searched.
            guard let property, transaction.header.blockCount == 0 else { break }
            var change: ObjectChange?
            try transaction.forEach { if $0.id == id { change = $0 } }
            guard let change, let layout = self.layout[change.entity] else { break }
            if change.sets(property, layout) { return (next, transaction.header.sessionNumber, true) }
            next = change.revisionBefore
        }
        return found
    }
}

extension ObjectChange {
    fileprivate func sets(_ property: PropertyNumber, _ layout: EntityLayout) -> Bool {
        self.values.contains { layout.properties[$0.slot] == property }
            || self.placings.contains { layout.properties[layout.placedSlots[$0.place]] == property }
    }
}
