import NestModel
import NestSchema

/// Does to a store, in the open transaction, what a record says. `finish` then makes it known to the store's memory.
struct RecordApplication {
    private let store: Store
    private let record: LogRecord
    private let isConcerned: (ChangedRow) -> Bool
    private var headers: [JournalHeader] = []
    private var changes: [ChangeSet] = []
    private var blocked: [(revision: Revision, answer: JournalHeader?)] = []
    /// The change of the journal's size.
    private var journalBytes: Int64 = 0
    private var oldestBase: Revision?
    private var historyID: Identifier128?
    private var reserved = ReservedIDs()
    /// The id after the last one that is reserved, if the record says so.
    private var nextUnreserved: Int64 = 0

    init(_ store: Store, _ record: LogRecord, isConcerned: @escaping (ChangedRow) -> Bool) {
        self.store = store
        self.record = record
        self.isConcerned = isConcerned
    }

    mutating func run() throws(StoreError) {
        guard (self.record.kind == .group) == (self.record.row != nil),
            self.record.blockCount == 0 || self.record.row != nil || self.isOfValue
        else { throw .logDamaged("its kind does not fit its content") }
        do throws(StoreError) {
            if let row = self.record.row {
                try self.apply(row)
            } else if self.record.head != self.store.head {
                throw .diverged("it is at revision \(self.record.head), the store at \(self.store.head)")
            }
        } catch .corrupt(_, let reason) {
            // The journal cannot read what has just been written there.
            throw .logDamaged(reason)
        }
        for note in self.record.notes { try self.apply(note) }
        _ = try self.reserved.write(self.store.connection)
        // A session that has used ids has not more than before.
        if self.nextUnreserved > self.record.row?.nextObjectID ?? self.store.nextObjectID {
            try ReservedIDs.setNext(self.nextUnreserved, self.store.connection)
        }
    }

    /// Call it after the commit.
    consuming func finish(at position: LogPosition) -> AppliedRecord {
        if let row = self.record.row {
            self.store.head = row.last
            self.store.nextObjectID = row.nextObjectID
        }
        if self.nextUnreserved > 0 { self.store.hasReservedIDs = true }
        self.store.nextObjectID = max(self.store.nextObjectID, self.nextUnreserved)
        self.store.journalBytes += self.journalBytes
        if let oldestBase { self.store.oldestBase = oldestBase }
        var applied = AppliedRecord(record: self.record, position: position)
        applied.headers = self.headers
        applied.changes = self.changes
        applied.blocked = self.blocked
        if let historyID, historyID != self.store.historyID {
            self.store.historyID = historyID
            applied.reopen = .historyRenewed
        }
        return applied
    }

    // MARK: Revisions

    private mutating func apply(_ row: LogRecord.Row) throws(StoreError) {
        guard row.first == self.store.head.next else {
            throw .diverged("it begins at revision \(row.first), behind the store's \(self.store.head)")
        }
        guard row.last >= row.first, row.last == self.record.head else {
            throw .logDamaged("it ends at revision \(row.last)")
        }
        guard row.nextObjectID >= self.store.nextObjectID else {
            throw .diverged("its next object id is \(row.nextObjectID), the store's is \(self.store.nextObjectID)")
        }
        let journal = self.store.journal
        try journal.append(row)
        self.journalBytes += Int64(row.byteCount)
        try self.record.forEachBlock { (block) throws(StoreError) in
            guard row.first <= block.revision, block.revision <= row.last else {
                throw .logDamaged("it has a block of revision \(block.revision)")
            }
            try journal.append(block)
            self.journalBytes += Int64(block.bytes.count)
        }
        var next = row.first
        var blockCount = 0
        for (header, inline) in try journal.entries(headers: row.headers, changes: row.changes) {
            guard header.revision == next, header.blockCount <= self.record.blockCount - blockCount else {
                throw .logDamaged("the header of revision \(header.revision) is out of place")
            }
            guard UInt64(header.revisionCount) <= next.rawValue - row.first.rawValue + 1 else {
                throw .logDamaged("revision \(header.revision) has parts before the record")
            }
            var application = ChangeApplication(self.store, header.revision, row, self.isConcerned)
            self.changes.append(try application.run(inline, blockCount: header.blockCount))
            self.headers.append(header)
            blockCount += header.blockCount
            next = next.next
        }
        guard next == row.last.next, blockCount == self.record.blockCount else {
            throw .logDamaged("a revision or a block of it is missing")
        }
        try self.store.connection.pendingInserts.write()
        guard self.store.connection.deferredForeignKeyViolations() == 0 else {
            throw .diverged("it leaves references to missing objects")
        }
    }

    // MARK: Notes

    /// Whether the blocks of the record are the pieces of a large value.
    private var isOfValue: Bool {
        self.record.row == nil && self.record.notes.contains { if case .value = $0 { true } else { false } }
    }

    private func apply(_ row: ValueTable.Row, first: Int, isLast: Bool) throws(StoreError) {
        guard self.isOfValue, self.store.layout.hasLargeValues else {
            throw .logDamaged("it has a large value that cannot be here")
        }
        let values = self.store.values
        var pieces: [[UInt8]] = []
        try self.record.forEachBlock { (block) throws(StoreError) in
            guard block.revision == Revision(0), block.number == first + pieces.count else {
                throw .logDamaged("a piece of a large value is out of place")
            }
            pieces.append(block.bytes)
        }
        do throws(StoreError) {
            try values.write(ValuePart(row: row, first: first, isLast: isLast, pieces: pieces))
        } catch .refused(let error) {
            throw .diverged("a part of a large value: \(error.message)")
        }
        guard isLast else { return }
        var verifier = ValueVerifier(row.type)
        try values.forEachPiece(of: row.value.id) { (_, bytes) throws(StoreError) in verifier.add(bytes) }
        if let fault = verifier.fault(length: row.value.length, digest: row.value.digest) {
            throw .logDamaged("a large value: \(fault.message)")
        }
    }

    private mutating func apply(_ note: LogNote) throws(StoreError) {
        switch note {
        case .session(let session):
            try self.store.write(session)
        case .forgetSessions(let numbers):
            try self.store.deleteSessions(numbers)
        case .blocked(let revision, let answer):
            self.blocked.append((revision, try Self.header(answer)))
            try self.store.block(revision, answer: answer)
        case .tokenCreated(let token):
            try self.store.insertToken(
                number: token.description.number,
                token.description.grant,
                secretHash: token.secretHash,
                created: token.description.created
            )
        case .tokenRevoked(let number):
            try self.store.deleteToken(number)
        case .reserved(let session, let pieces):
            try self.reserved.set(pieces, of: session, self.store.connection)
            self.nextUnreserved = max(self.nextUnreserved, (pieces.last?.upperBound ?? 0) + 1)
        case .value(let row, let first, let isLast): try self.apply(row, first: first, isLast: isLast)
        case .dropArriving(let id):
            guard self.store.layout.hasLargeValues else { throw .logDamaged("it drops a large value") }
            try self.store.values.dropArriving(id)
        case .trim(let revision): try self.trim(through: revision)
        case .dropValues: try self.store.dropValues(base: self.store.oldestBase, now: self.record.time)
        case .leader(_, let historyID):
            guard self.record.kind == .leader else { throw .logDamaged("a note of a leader is not in its record") }
            try Store.setHistoryID(self.store.connection, historyID)
            self.historyID = historyID
        }
    }

    private static func header(_ bytes: [UInt8]) throws(StoreError) -> JournalHeader? {
        guard !bytes.isEmpty else { return nil }
        do {
            return try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in try reader.header() }
        } catch {
            throw .logDamaged("the reply of a blocked undo: \(error)")
        }
    }

    private mutating func trim(through revision: Revision) throws(StoreError) {
        guard revision >= self.store.oldestBase, revision < self.record.head else {
            throw .diverged("it drops the history through revision \(revision)")
        }
        self.journalBytes -= try self.store.journal.drop(through: revision)
        try self.store.forgetBlocked(through: revision)
        try self.store.dropValues(base: revision, now: self.record.time)
        self.oldestBase = revision
    }
}
