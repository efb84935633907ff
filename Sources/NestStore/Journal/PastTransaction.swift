import NestModel
import NestProtocol
import NestSchema

/// A committed transaction, read from the journal by an undo.
package final class PastTransaction {
    package let header: JournalHeader
    private let inline: [UInt8]
    private let journal: Journal
    /// Its objects, once they have been read, if they are few: an undo reads them several times.
    private var changes: [ObjectChange]?
    /// The largest number of objects that are kept.
    private static let keptMax = 4_096
    /// By table and slot: the last owner of each object that was deleted since.
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

    /// Returns another transaction of the journal.
    func transaction(_ revision: Revision) throws(StoreError) -> PastTransaction? {
        try self.journal.entry(revision).map { PastTransaction($0.0, $0.1, self.journal) }
    }

    /// Returns the transaction as if it had changed only these objects.
    func only(_ changes: [ObjectChange]) -> PastTransaction {
        let past = PastTransaction(self.header, self.inline, self.journal)
        past.changes = changes
        return past
    }

    /// About how many objects the transaction has streamed: so many small ones are in a block.
    package var streamedEstimate: Int { self.header.blockCount * 4_096 }

    /// Returns the objects of the journal's row (part 0) or of one block; `nil` behind the last part.
    func part(_ number: Int) throws(StoreError) -> [ObjectChange]? {
        if number == 0 { return try self.journal.inlineChanges(self.inline).changes }
        return number <= self.header.blockCount ? try self.journal.block(self.revision, number - 1).changes : nil
    }

    /// Calls `body` with each object that the transaction changed. A bulk change set is read block by block.
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

    /// Returns what the transaction did to an object; `nil` if it is not found. Searches the journal row and at most
    /// `blocksLeft` blocks, and subtracts the blocks it has read.
    func change(of id: ObjectID, _ blocksLeft: inout Int) throws(StoreError) -> ObjectChange? {
        // The header lists the inserted objects. For the top of an import this avoids a search of all blocks.
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

    /// Returns an insertion, without the values, if the header lists the object as inserted.
    private func insertion(of id: ObjectID) -> ObjectChange? {
        let isResult = self.header.results.contains { run in
            !run.isFound && run.first <= id && id.rawValue - run.first.rawValue < Int64(run.count)
        }
        guard isResult else { return nil }
        return ObjectChange(kind: .insert, entity: EntityNumber(0), id: id, revisionBefore: Revision(0))
    }

    /// Returns the number of objects that it changed; `nil` for a bulk change set. O(its bytes).
    package func inlineCount() throws(StoreError) -> Int? {
        guard self.header.blockCount == 0 else { return nil }
        var count = 0
        try self.forEach { _ in count += 1 }
        return count
    }

    /// Returns the owner, in a to-one slot, of an object that was deleted since, at its last deletion. The first call
    /// reads the journal after this transaction, and keeps an entry for every deleted object of the table.
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
    /// Returns the transaction of a revision; `nil` if the journal no longer has it.
    package func pastTransaction(_ revision: Revision) throws(StoreError) -> PastTransaction? {
        guard let (header, inline) = try self.journal.entry(revision) else { return nil }
        return PastTransaction(header, inline, self.journal)
    }

    /// Returns the change that set the current value of a property. Searches from the object's last change back to
    /// `base`, at most `Limits.changesSearchedMax` changes of the object. If none of them is the one, returns the
    /// object's last change, which is not exact.
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
