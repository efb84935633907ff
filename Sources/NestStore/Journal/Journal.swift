import NestProtocol
import NestModel
import NestSchema

/// The journal in the store: one row per group commit, and blocks for bulk writes. A class, because each commit uses
/// it: a copy of its parts would retain each of them.
final class Journal {
    let connection: Connection
    let layout: ModelLayout
    private let compressor = Zstandard.Compressor()
    private let insertRow: LazyStatement

    init(connection: Connection, layout: ModelLayout) {
        self.connection = connection
        self.layout = layout
        self.insertRow = LazyStatement(
            connection,
            """
            INSERT INTO nest_journal (last_revision, first_revision, next_object_id, time, headers, changes)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """
        )
    }

    /// Writes the row of a group, and returns it. `changes` are the inline change sets of its requests, one after the
    /// other.
    func append(
        _ all: [JournalHeader],
        changes: [UInt8],
        nextObjectID: Int64,
        time: Int64
    ) throws(StoreError) -> LogRecord.Row {
        guard let first = all.first?.revision, let last = all.last?.revision else {
            preconditionFailure("a journal row has a revision")
        }
        var writer = ByteWriter(capacity: all.count * 64)
        writer.write(headers: all)
        let row = LogRecord.Row(
            first: first,
            last: last,
            nextObjectID: nextObjectID,
            time: time,
            headers: writer.bytes,
            changes: self.pack(changes)
        )
        try self.append(row)
        return row
    }

    func append(_ row: LogRecord.Row) throws(StoreError) {
        let statement = try self.insertRow.get()
        statement.bind(1, Int64(row.last.rawValue))
        statement.bind(2, Int64(row.first.rawValue))
        statement.bind(3, row.nextObjectID)
        statement.bind(4, row.time)
        // SQLite reads both where they are, so the statement runs while the pointers are valid.
        let result = row.headers.withUnsafeBytes { headers in
            row.changes.withUnsafeBytes { changes in
                Result { () throws(StoreError) in
                    defer { statement.forgetBindings() }
                    statement.bind(5, uncopiedData: headers)
                    statement.bind(6, uncopiedData: changes)
                    try statement.run()
                }
            }
        }
        try result.get()
    }

    /// Writes one block. Returns the number of bytes that it takes.
    func appendBlock(_ revision: Revision, _ number: Int, _ bytes: [UInt8]) throws(StoreError) -> Int {
        let packed = self.pack(bytes)
        try self.append(LogRecord.Block(revision: revision, number: number, bytes: packed))
        Failpoint.blockWritten.pass()
        return packed.count
    }

    func append(_ block: LogRecord.Block) throws(StoreError) {
        let statement = try self.connection.statement(
            "INSERT INTO nest_journal_block (revision, number, bytes) VALUES (?1, ?2, ?3)"
        )
        statement.bind(1, Int64(block.revision.rawValue))
        statement.bind(2, Int64(block.number))
        statement.bind(3, blob: block.bytes)
        try statement.run()
    }

    // MARK: Reading

    /// Returns the revision and the next object id of the newest row.
    func newest() throws(StoreError) -> (revision: Revision, nextObjectID: Int64)? {
        let statement = try self.connection.statement(
            "SELECT last_revision, next_object_id FROM nest_journal ORDER BY last_revision DESC LIMIT 1"
        )
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return (Revision(UInt64(clamping: statement.integer(0))), statement.integer(1))
    }

    /// Returns the oldest base: all revisions after it are in the journal.
    func oldestBase() throws(StoreError) -> Revision? {
        let statement = try self.connection.statement(
            "SELECT first_revision FROM nest_journal ORDER BY last_revision LIMIT 1"
        )
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return Revision(UInt64(max(statement.integer(0) - 1, 0)))
    }

    /// Calls `body` with every header, oldest first.
    func forEachHeader(_ body: (JournalHeader) throws(StoreError) -> Void) throws(StoreError) {
        let statement = try self.connection.statement("SELECT headers FROM nest_journal ORDER BY last_revision")
        defer { statement.reset() }
        while try statement.step() {
            for header in try self.headers(statement.blob(0)) { try body(header) }
        }
    }

    /// Returns a page of headers, newest first: those before a revision, or the newest ones if it is 0. Does not read
    /// the rows of later revisions.
    func headers(before: Revision, limit: Int) throws(StoreError) -> [JournalHeader] {
        let statement = try self.connection.statement(
            """
            SELECT headers FROM nest_journal
            WHERE last_revision <= ifnull((SELECT min(last_revision) FROM nest_journal WHERE last_revision >= ?1), ?1)
            ORDER BY last_revision DESC
            """
        )
        defer { statement.reset() }
        statement.bind(1, before == Revision(0) ? Int64.max : Int64(clamping: before.rawValue - 1))
        var page: [JournalHeader] = []
        while page.count < limit, try statement.step() {
            for header in try self.headers(statement.blob(0)).reversed() where page.count < limit {
                if before == Revision(0) || header.revision < before { page.append(header) }
            }
        }
        return page
    }

    /// Returns the newest headers after a revision, at most `countMax`, ascending, and how many headers were read to
    /// find them.
    func headers(after base: Revision, countMax: Int) throws(StoreError) -> (headers: [JournalHeader], count: Int) {
        let statement = try self.connection.statement(
            "SELECT headers FROM nest_journal WHERE last_revision > ?1 ORDER BY last_revision DESC"
        )
        defer { statement.reset() }
        statement.bind(1, Int64(clamping: base.rawValue))
        var newest: [JournalHeader] = []
        var count = 0
        while newest.count < countMax, try statement.step() {
            let row = try self.headers(statement.blob(0))
            count += row.count
            newest += row.reversed().prefix(countMax - newest.count).filter { $0.revision > base }
        }
        return (newest.reversed(), count)
    }

    /// Returns the headers of revisions, which must descend, and how many headers were read to find them. Stops when it
    /// has read `readMax` headers, but not before it has found one.
    func headers(of revisions: [Revision], readMax: Int) throws(StoreError) -> (headers: [JournalHeader], count: Int) {
        let statement = try self.connection.statement(
            "SELECT headers FROM nest_journal WHERE last_revision >= ?1 ORDER BY last_revision LIMIT 1"
        )
        defer { statement.reset() }
        var page: [JournalHeader] = []
        var row: [JournalHeader] = []
        var count = 0
        for revision in revisions {
            if row.first.map({ revision < $0.revision }) ?? true {
                guard page.isEmpty || count < readMax else { break }
                statement.bind(1, Int64(clamping: revision.rawValue))
                row = try statement.step() ? self.headers(statement.blob(0)) : []
                statement.reset()
                count += row.count + 1
            }
            // A row's revisions have no gap.
            guard let first = row.first?.revision, first <= revision else { continue }
            let index = Int(revision.rawValue - first.rawValue)
            if index < row.count { page.append(row[index]) }
        }
        return (page, count)
    }

    /// Calls `body` with the blocks of a range of revisions as they are stored, in order, one at a time.
    func forEachBlock(
        from first: Revision,
        through last: Revision,
        _ body: (LogRecord.Block) throws(StoreError) -> Void
    ) throws(StoreError) {
        let statement = try self.connection.statement(
            """
            SELECT revision, number, bytes FROM nest_journal_block WHERE revision BETWEEN ?1 AND ?2
            ORDER BY revision, number
            """
        )
        defer { statement.reset() }
        statement.bind(1, Int64(first.rawValue))
        statement.bind(2, Int64(last.rawValue))
        while try statement.step() {
            try body(
                LogRecord.Block(
                    revision: Revision(UInt64(clamping: statement.integer(0))),
                    number: Int(statement.integer(1)),
                    bytes: statement.blob(2)
                )
            )
        }
    }

    func headers(_ bytes: [UInt8]) throws(StoreError) -> [JournalHeader] {
        try self.decoding { () throws(DecodingFailure) in
            try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in try reader.headers() }
        }
    }

    /// Returns the header and inline change set of one revision; `nil` if the journal no longer has it.
    func entry(_ revision: Revision) throws(StoreError) -> (header: JournalHeader, changes: [UInt8])? {
        let statement = try self.connection.statement(
            """
            SELECT headers, changes FROM nest_journal WHERE last_revision >= ?1 ORDER BY last_revision LIMIT 1
            """
        )
        defer { statement.reset() }
        statement.bind(1, Int64(revision.rawValue))
        guard try statement.step() else { return nil }
        return try self.entries(statement).first { $0.header.revision == revision }
    }

    /// Calls `body` with each revision after `base`, oldest first.
    func forEachEntry(after base: Revision, _ body: (JournalHeader, [UInt8]) throws(StoreError) -> Void)
        throws(StoreError)
    {
        let statement = try self.connection.statement(
            "SELECT headers, changes FROM nest_journal WHERE last_revision > ?1 ORDER BY last_revision"
        )
        defer { statement.reset() }
        statement.bind(1, Int64(base.rawValue))
        while try statement.step() {
            for entry in try self.entries(statement) where entry.header.revision > base {
                try body(entry.header, entry.changes)
            }
        }
    }

    /// Returns the revisions of the row that contains the first one after `base`, oldest first; `nil` if there is none.
    func row(after base: Revision) throws(StoreError) -> [(header: JournalHeader, changes: [UInt8])]? {
        let statement = try self.connection.statement(
            "SELECT headers, changes FROM nest_journal WHERE last_revision > ?1 ORDER BY last_revision LIMIT 1"
        )
        defer { statement.reset() }
        statement.bind(1, Int64(base.rawValue))
        return try statement.step() ? self.entries(statement) : nil
    }

    private func entries(_ statement: Statement) throws(StoreError) -> [(header: JournalHeader, changes: [UInt8])] {
        try self.entries(headers: statement.blob(0), changes: statement.blob(1))
    }

    /// Returns the revisions of a row.
    func entries(
        headers: [UInt8],
        changes packed: [UInt8]
    ) throws(StoreError) -> [(header: JournalHeader, changes: [UInt8])] {
        let changes = try self.unpack(packed)
        var offset = 0
        return try self.headers(headers).map { (header) throws(StoreError) in
            guard header.inlineBytes <= changes.count - offset else { throw self.damaged("a change set is cut short") }
            defer { offset += header.inlineBytes }
            return (header, Array(changes[offset..<(offset + header.inlineBytes)]))
        }
    }

    /// Calls `body` with every object of a revision's change set, then `repositions` with its renumberings.
    func forEachChange(
        _ header: JournalHeader,
        _ inline: [UInt8],
        _ body: (ObjectChange) throws(StoreError) -> Void,
        repositions: (Reposition) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) {
        let (changes, moved) = try self.inlineChanges(inline)
        for change in changes { try body(change) }
        try self.forEachChange(ofBlocks: header.blockCount, revision: header.revision, body)
        for reposition in moved { try repositions(reposition) }
    }

    func forEachChange(
        ofBlocks count: Int,
        revision: Revision,
        _ body: (ObjectChange) throws(StoreError) -> Void
    ) throws(StoreError) {
        for number in 0..<count {
            // Reads a whole block before it calls `body`, which may use the connection.
            for change in try self.block(revision, number).changes { try body(change) }
        }
    }

    /// Returns the objects of one block, and its unpacked size in bytes.
    func block(_ revision: Revision, _ number: Int) throws(StoreError) -> (changes: [ObjectChange], byteCount: Int) {
        let statement = try self.connection.statement(
            "SELECT bytes FROM nest_journal_block WHERE revision = ?1 AND number = ?2"
        )
        statement.bind(1, Int64(revision.rawValue))
        statement.bind(2, Int64(number))
        guard try statement.step() else {
            statement.reset()
            throw self.damaged("a block of revision \(revision) is missing")
        }
        let packed = statement.blob(0)
        statement.reset()
        let bytes = try self.unpack(packed)
        var changes: [ObjectChange] = []
        try self.decoding { () throws(DecodingFailure) in
            try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in
                while !reader.isAtEnd { changes.append(try reader.change(self.layout)) }
            }
        }
        return (changes, bytes.count)
    }

    func inlineChanges(_ bytes: [UInt8]) throws(StoreError) -> (changes: [ObjectChange], repositions: [Reposition]) {
        guard !bytes.isEmpty else { return ([], []) }
        return try self.decoding { () throws(DecodingFailure) in
            try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in
                var changes: [ObjectChange] = []
                for _ in 0..<(try reader.count("changes")) { changes.append(try reader.change(self.layout)) }
                var repositions: [Reposition] = []
                for _ in 0..<(try reader.count("repositions")) { repositions.append(try reader.reposition()) }
                return (changes, repositions)
            }
        }
    }

    // MARK: Trimming

    /// Returns the number of revisions and bytes in the journal.
    func size() throws(StoreError) -> (revisions: Int64, bytes: Int64) {
        let statement = try self.connection.statement(
            """
            SELECT ifnull(max(last_revision) - min(first_revision) + 1, 0),
                ifnull(sum(length(headers) + length(changes)), 0)
                + (SELECT ifnull(sum(length(bytes)), 0) FROM nest_journal_block
                    WHERE revision <> \(PreparedBlocks.revision))
            FROM nest_journal
            """
        )
        defer { statement.reset() }
        _ = try statement.step()
        return (statement.integer(0), statement.integer(1))
    }

    /// Drops the oldest row unless it is the only one. Returns its last revision, its time and its size.
    func dropOldest() throws(StoreError) -> (last: Revision, time: Int64, bytes: Int64)? {
        let select = try self.connection.statement(
            """
            SELECT last_revision, time FROM nest_journal
            WHERE (SELECT count(*) FROM (SELECT 1 FROM nest_journal LIMIT 2)) = 2 ORDER BY last_revision LIMIT 1
            """
        )
        guard try select.step() else {
            select.reset()
            return nil
        }
        let last = Revision(UInt64(clamping: select.integer(0)))
        let time = select.integer(1)
        select.reset()
        return (last, time, try self.drop(through: last))
    }

    /// Drops the rows up to a revision, and returns their size.
    func drop(through last: Revision) throws(StoreError) -> Int64 {
        var bytes: Int64 = 0
        for sql in [
            "SELECT ifnull(sum(length(headers) + length(changes)), 0) FROM nest_journal WHERE last_revision <= ?1",
            "SELECT ifnull(sum(length(bytes)), 0) FROM nest_journal_block WHERE revision <= ?1",
        ] {
            let statement = try self.connection.statement(sql)
            statement.bind(1, Int64(last.rawValue))
            _ = try statement.step()
            bytes += statement.integer(0)
            statement.reset()
        }
        for sql in [
            "DELETE FROM nest_journal_block WHERE revision <= ?1", "DELETE FROM nest_journal WHERE last_revision <= ?1",
        ] {
            let statement = try self.connection.statement(sql)
            statement.bind(1, Int64(last.rawValue))
            try statement.run()
        }
        return bytes
    }

    /// Returns the time of the oldest transaction. The row of revision 0 has no time.
    func oldestTime() throws(StoreError) -> Int64? {
        let statement = try self.connection.statement(
            "SELECT time FROM nest_journal WHERE last_revision > 0 ORDER BY last_revision LIMIT 1"
        )
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : nil
    }

    // MARK: Packing

    func pack(_ bytes: [UInt8]) -> [UInt8] { PackedBytes.pack(bytes, self.compressor) }

    private func unpack(_ packed: [UInt8]) throws(StoreError) -> [UInt8] {
        do {
            return try PackedBytes.unpack(packed, sizeMax: Int(Limits.journalBytesMax))
        } catch {
            throw self.damaged("a row cannot be unpacked")
        }
    }

    private func decoding<Result>(_ body: () throws(DecodingFailure) -> Result) throws(StoreError) -> Result {
        do {
            return try body()
        } catch {
            throw self.damaged(error.description)
        }
    }

    private func damaged(_ reason: String) -> StoreError {
        .corrupt(path: self.connection.path, reason: "the journal: \(reason)")
    }
}
