import NestModel
import NestProtocol
import NestSchema

/// Reads on the writer's connection, and the trimming of the journal.
extension Store {
    private func table(_ entity: EntityNumber) -> EntityTable { self.objects.table(entity) }

    /// Runs reads as one transaction: by itself each statement would lock and unlock the file, which is a third of the
    /// time that one object takes. `body` must write nothing.
    package func reading<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        // Without a transaction the reads return the same, and report a failure of storage themselves.
        guard !self.connection.isInTransaction, (try? self.connection.statement("BEGIN").run()) != nil else {
            return try body()
        }
        defer {
            if (try? self.connection.statement("COMMIT").run()) == nil { try? self.connection.execute("ROLLBACK") }
        }
        return try body()
    }

    /// The entity and row of an object, or `nil`.
    package func object(_ id: ObjectID) throws(StoreError) -> (layout: EntityLayout, row: ObjectRow)? {
        try self.objects.object(id)
    }

    package func row(_ entity: EntityNumber, _ id: ObjectID) throws(StoreError) -> ObjectRow? {
        try self.table(entity).row(id)
    }

    /// Follows committed changes in the cached counts, so that these need not be counted again.
    package func noteCommitted(_ changes: [ChangeSet]) {
        guard self.ownedCounts.entryCount > 0 else { return }
        for changes in changes { self.ownedCounts.take(changes, self.layout) }
    }

    /// Everything of one object, with the sizes of its to-many relationships: O(n) of one of over 256 objects when it
    /// was not asked for since the store was opened, or since a bulk write.
    package func detail(_ id: ObjectID) throws(StoreError) -> ObjectDetail? {
        try self.objects.detail(id) { (key, read) throws(StoreError) in
            try self.ownedCounts.count(key, head: self.head, read)
        }
    }

    /// Calls `body` with the objects of one owner in order. O(n).
    package func forEach(
        _ toMany: EntityLayout.ToMany,
        of owner: ObjectID,
        _ body: (ObjectID, _ position: Int64) throws(StoreError) -> Void
    ) throws(StoreError) {
        try self.table(toMany.destination).forEach(ofOwner: owner, slot: toMany.inverseSlot, body)
    }

    // MARK: Journal

    /// Calls `body` with every header of the journal, oldest first.
    package func forEachHeader(_ body: (JournalHeader) throws(StoreError) -> Void) throws(StoreError) {
        try self.journal.forEachHeader(body)
    }

    /// A page of headers before a revision (the newest when it is 0), newest first.
    package func headers(before: Revision, limit: Int) throws(StoreError) -> [JournalHeader] {
        try self.journal.headers(before: before, limit: limit)
    }

    /// The headers of revisions that the journal has, newest first, and how many it took to find them. Those that share
    /// a transaction are read together: once `readMax` have been read, the rest is left out.
    package func headers(
        of revisions: [Revision],
        readMax: Int
    ) throws(StoreError) -> (headers: [JournalHeader], count: Int) {
        try self.journal.headers(of: revisions, readMax: readMax)
    }

    /// Calls `change` with each object changed after `base` and `reposition` with each renumbering, oldest revision
    /// first.
    package func forEachChange(
        after base: Revision,
        _ change: (Revision, ObjectChange) throws(StoreError) -> Void,
        reposition: (Revision, Reposition) throws(StoreError) -> Void
    ) throws(StoreError) {
        var last = base
        while let row = try self.journal.row(after: last), let end = row.last?.header.revision, end > last {
            for (header, inline) in row where header.revision > base {
                let (changes, repositions) = try self.journal.inlineChanges(inline)
                for object in changes { try change(header.revision, object) }
                for number in 0..<header.blockCount {
                    for object in try self.journal.block(header.revision, number).changes {
                        try change(header.revision, object)
                    }
                }
                for moved in repositions { try reposition(header.revision, moved) }
            }
            last = end
        }
    }

    /// Calls `body` with every object of a change set just committed that is of concern, and some that are not; whole
    /// before and whole after.
    package func forEachChangedObject(
        _ changes: ChangeSet,
        withBlocks: Bool = true,
        _ body: (TouchedObject) throws(StoreError) -> Void
    ) throws(StoreError) {
        for object in changes.touched { try body(object) }
        guard withBlocks else { return }
        for number in changes.concernedBlocks {
            for change in try self.journal.block(changes.revision, number).changes {
                guard let layout = self.layout[change.entity] else { continue }
                try body(change.touched(layout, revision: changes.revision))
            }
        }
    }

    // MARK: Trimming

    /// Drops the oldest of the journal while it is over its bounds; the newest row always stays. Answers the new base
    /// when something was dropped. Call outside a group; at most `rowsMax` rows a call, so that no request waits long.
    package func trimJournal(
        now: Int64,
        revisionsMax: Int = Limits.journalRevisionsMax,
        bytesMax: Int = Limits.journalBytesMax,
        secondsMax: Int = Limits.journalSeconds,
        rowsMax: Int = 256
    ) throws(StoreError) -> Revision? {
        var dropped: Revision?
        let oldestTime = try self.journal.oldestTime() ?? now
        let isOld = { (time: Int64) in time > 0 && now - time > Int64(secondsMax) * 1_000_000 }
        var isOver =
            self.head.rawValue - self.oldestBase.rawValue > UInt64(revisionsMax) || self.journalBytes > Int64(bytesMax)
            || isOld(oldestTime)
        guard isOver else { return nil }
        try self.connection.statement("BEGIN IMMEDIATE").run()
        do {
            for _ in 0..<rowsMax where isOver {
                guard let row = try self.journal.dropOldest() else { break }
                dropped = row.last
                self.journalBytes -= row.bytes
                let oldest = try self.journal.oldestTime() ?? now
                isOver =
                    self.head.rawValue - row.last.rawValue > UInt64(revisionsMax) || self.journalBytes > Int64(bytesMax)
                    || isOld(oldest)
            }
            if let dropped { try self.forgetBlocked(through: dropped) }
            Failpoint.trimWritten.pass()
            try self.connection.statement("COMMIT").run()
        } catch {
            if self.connection.isInTransaction { try self.connection.statement("ROLLBACK").run() }
            self.journalBytes = try self.journal.size().bytes
            throw error
        }
        if let dropped { self.oldestBase = dropped }
        return dropped
    }
}
