import NestModel
import NestProtocol
import NestSchema

/// Reads on the writer's connection, and trims the journal.
extension Store {
    private func table(_ entity: EntityNumber) -> EntityTable { self.objects.table(entity) }

    /// Runs reads in one transaction. Otherwise each statement would lock and unlock the file, which is a third of the
    /// time that reading one object takes. `body` must write nothing.
    package func reading<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        // If BEGIN fails, the reads run without a transaction: they return the same, and report a storage failure
        // themselves.
        guard !self.connection.isInTransaction, (try? self.connection.statement("BEGIN").run()) != nil else {
            return try body()
        }
        defer {
            if (try? self.connection.commit()) == nil { try? self.connection.execute("ROLLBACK") }
        }
        return try body()
    }

    /// Returns the entity and row of an object, or `nil`.
    package func object(_ id: ObjectID) throws(StoreError) -> (layout: EntityLayout, row: ObjectRow)? {
        try self.objects.object(id)
    }

    package func row(_ entity: EntityNumber, _ id: ObjectID) throws(StoreError) -> ObjectRow? {
        try self.table(entity).row(id)
    }

    /// Applies committed changes to what is cached: relationship counts and bodies of objects.
    package func noteCommitted(_ changes: [ChangeSet]) {
        if self.ownedCounts.entryCount > 0 { for changes in changes { self.ownedCounts.take(changes, self.layout) } }
        if !self.objectBodies.isEmpty { for changes in changes { self.objectBodies.take(changes) } }
    }

    /// The memory of the bodies of objects that are kept.
    package var objectBodyBytes: Int { self.objectBodies.byteCount }

    /// Returns `detail` as the body of OBJECT. The body of an object that has not changed is not made again.
    package func body(_ id: ObjectID) throws(StoreError) -> ObjectBody? {
        if let known = self.objectBodies.body(id, head: self.head) { return known }
        let body = try self.objects.body(id) { (key, read) throws(StoreError) in
            try self.ownedCounts.count(key, head: self.head, read)
        }
        if let body { self.objectBodies.keep(body, of: id, head: self.head) }
        return body
    }

    /// Returns all values of one object, with the sizes of its to-many relationships. Counting a relationship is O(n).
    /// The count of a large one (256 objects or more) is cached until a bulk write.
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

    /// Returns a page of headers before a revision (the newest if it is 0), newest first.
    package func headers(before: Revision, limit: Int) throws(StoreError) -> [JournalHeader] {
        try self.journal.headers(before: before, limit: limit)
    }

    /// Returns the newest headers after a revision, at most `countMax`, ascending, and how many headers were read to
    /// find them. Headers of one journal row are read together.
    package func headers(
        after base: Revision,
        countMax: Int
    ) throws(StoreError) -> (headers: [JournalHeader], count: Int) {
        try self.journal.headers(after: base, countMax: countMax)
    }

    /// Returns the headers of those revisions that the journal has, newest first, and how many headers were read to
    /// find them. Headers of one journal row are read together. Once `readMax` headers have been read, the rest is left
    /// out.
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

    /// Calls `body` with changed objects of a change set just committed, with their whole rows before and after: all
    /// that `isConcerned` accepted, and some others.
    package func forEachChangedObject(
        _ changes: ChangeSet,
        withBlocks: Bool = true,
        _ body: (ChangedRow) throws(StoreError) -> Void
    ) throws(StoreError) {
        for object in changes.changedRows { try body(object) }
        guard withBlocks else { return }
        for number in changes.concernedBlocks {
            for change in try self.journal.block(changes.revision, number).changes {
                guard let layout = self.layout[change.entity] else { continue }
                try body(change.changedRow(layout, revision: changes.revision))
            }
        }
    }

    // MARK: Trimming

    /// Drops the oldest rows of the journal while it exceeds its limits; the newest row always stays. Returns the new
    /// base if it dropped any. Then it deletes large values that are unreachable, as many as one step may. It drops at
    /// most `rowsMax` rows, so that no request waits long. Call it outside a group. Does nothing on a follower, which
    /// drops what the leader drops.
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
        var bytes = self.journalBytes + (try self.freedValueBytes(after: self.oldestBase))
        var isOver =
            self.head.rawValue - self.oldestBase.rawValue > UInt64(revisionsMax) || bytes > Int64(bytesMax)
            || isOld(oldestTime)
        let time = max(now, self.membership?.state.time ?? now)
        let hasUnreachable = try self.hasUnreachableValues(base: self.oldestBase, now: time)
        guard isOver || hasUnreachable, self.membership?.mayAppend ?? true else { return nil }
        try self.connection.beginWriting()
        do {
            for _ in 0..<rowsMax where isOver {
                let base = dropped ?? self.oldestBase
                guard let row = try self.journal.dropOldest() else { break }
                dropped = row.last
                self.journalBytes -= row.bytes
                bytes -= row.bytes + (try self.freedValueBytes(after: base, through: row.last))
                let oldest = try self.journal.oldestTime() ?? now
                isOver =
                    self.head.rawValue - row.last.rawValue > UInt64(revisionsMax) || bytes > Int64(bytesMax)
                    || isOld(oldest)
            }
            if let dropped { try self.forgetBlocked(through: dropped) }
            let base = dropped ?? self.oldestBase
            let hasValues = try self.hasUnreachableValues(base: base, now: time)
            if hasValues { try self.dropValues(base: base, now: time) }
            Failpoint.trimWritten.pass()
            if let membership = self.membership, hasValues || dropped != nil {
                let note = dropped.map { LogNote.trim(through: $0) } ?? .dropValues
                try self.append(try self.record([note], time: time, membership), membership)
            } else {
                try self.connection.commit()
            }
        } catch {
            try self.connection.rollBack()
            self.journalBytes = try self.journal.size().bytes
            throw error
        }
        if let dropped { self.oldestBase = dropped }
        return dropped
    }
}
