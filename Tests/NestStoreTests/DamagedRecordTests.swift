import NestModel
import NestProtocol
import NestSchema
import NestTestSupport
import Testing

@testable import NestStore

/// Records that are damaged, of another log, or do not fit: the store refuses them and is unchanged.
@Suite struct DamagedRecordTests {
    private let fixture: Fixture
    private let replica: Replica

    init() throws {
        self.fixture = try Fixture(inMemory: true, isReplicated: true) { configuration in
            configuration.streamedFrom = 1
            configuration.inlineBytesMax = 40
        }
        self.replica = try #require(self.fixture.replica)
        try self.replica.catchUp()
    }

    private var store: Store { self.replica.store }

    private func entry(_ bytes: [UInt8], chain: Chain? = nil) throws -> LogEntry {
        let here = try #require(self.store.logState).position
        let bytes = LogBytes(bytes)
        let position = here.position + 1
        let own = try chain ?? here.chain.followed(by: bytes, at: position)
        return LogEntry(position: LogPosition(position: position, chain: own), bytes: bytes)
    }

    /// Applies a record to the follower. Returns the error, which is never a crash.
    private func apply(_ entry: LogEntry, to store: Store? = nil) -> StoreError? {
        do {
            _ = try (store ?? self.store).apply(entry, isConcerned: { _ in true })
            return nil
        } catch {
            return error
        }
    }

    /// Returns the record of a transaction of every kind of change, which the follower does not have yet.
    private func nextRecord() throws -> LogEntry {
        let ids = try self.fixture.perform(Fixture.insert("a"), Fixture.insert("b"), Fixture.insert("c"))
        try self.replica.catchUp()
        try self.fixture.inGroup { group in
            _ = try group.request(inSavepoint: true) { graph in
                let moved = Fixture.move(ids[2], under: ids[1])
                let mutations: [Mutation] = [Fixture.insert("d", .first), moved, .delete(.object(ids[0]))]
                _ = try graph.perform(WriteTransaction(mutations: mutations))
                return Fixture.description
            }
            let session = Store.Session(number: 3, id: Identifier128(high: 3, low: 3), written: 17)
            try self.fixture.store.saveSession(session)
        }
        let here = try #require(self.store.logState).position.position
        return try #require(self.replica.log.entries(after: here).first)
    }

    @Test func everyFlippedBitIsFoundByTheChain() throws {
        let entry = try self.nextRecord()
        let bytes = try entry.bytes.all()
        let before = try self.store.tableHash()
        for index in bytes.indices {
            var flipped = bytes
            flipped[index] ^= 1 << UInt8(index % 8)
            guard case .logDamaged = self.apply(try self.entry(flipped, chain: entry.position.chain)) else {
                Issue.record("byte \(index)")
                continue
            }
        }
        #expect(try self.store.tableHash() == before)
        #expect(self.apply(entry) == nil)
        #expect(try self.store.tableHash() == self.fixture.store.tableHash())
    }

    /// Not damage on the way, but a record that was written so: it is refused, or it is a change that the store can
    /// hold.
    @Test func aRecordThatWasWrittenWrongDoesNotCrashTheNode() throws {
        let bytes = try self.nextRecord().bytes.all()
        let files = self.fixture.directory.path + "/untouched.sqlite"
        Self.copy(self.store.path, to: files)
        var store = try self.open(files, as: "0.sqlite")
        let before = try store.tableHash()
        for seed in Seeds.range(0..<1) {
            var random = SeededRandom(seed: seed)
            var refused = 0
            var accepted = 0
            for index in bytes.indices {
                var changed = bytes
                changed[index] = UInt8(random.below(256))
                guard let error = self.apply(try self.entry(changed), to: store) else {
                    accepted += 1
                    try store.close()
                    store = try self.open(files, as: "\(accepted).sqlite")
                    continue
                }
                refused += 1
                switch error {
                case .logDamaged, .diverged: break
                default: Issue.record("NEST_SEED=\(seed), byte \(index): \(error)")
                }
                let isUnchanged = try store.tableHash() == before
                #expect(isUnchanged, "NEST_SEED=\(seed), byte \(index) is \(changed[index])")
                #expect(self.apply(try self.entry(Array(bytes[..<index])), to: store) != nil, "cut at \(index)")
            }
            #expect(refused > 100 && accepted > 0)
        }
        try store.close()
    }

    /// It says how many revisions a write has made: receipts count back from the newest one.
    @Test(arguments: [0, 2, 1 << 40]) func aHeaderWithAWrongNumberOfRevisionsIsRefused(count: Int) throws {
        try self.fixture.perform(Fixture.insert("a"))
        try self.replica.catchUp()
        try self.fixture.perform(Fixture.insert("b"))
        let here = try #require(self.store.logState).position.position
        let entry = try #require(self.replica.log.entries(after: here).first)
        let record = try LogRecord(decoding: entry.bytes)
        var row = try #require(record.row)
        #expect(row.last > Revision(1))
        let headers = try self.store.access { () throws(StoreError) in try self.store.journal.headers(row.headers) }
        var writer = ByteWriter()
        writer.write(headers: headers.map { $0.answering($0.key, $0.conflicts, revisionCount: count) })
        row.headers = writer.bytes
        let changed = try LogRecord(
            record.kind,
            writer: record.writer,
            time: record.time,
            head: record.head,
            row: row,
            notes: record.notes,
            directory: self.fixture.directory.path
        )
        let before = try self.store.tableHash()
        guard case .logDamaged = self.apply(try self.entry(try changed.bytes.all())) else {
            Issue.record("not refused: \(count)")
            return
        }
        #expect(try self.store.tableHash() == before)
        #expect(self.apply(entry) == nil)
    }

    /// A record of a newer version, or with a kind or a note that this version does not know, changes nothing, and the
    /// error says what to do.
    @Test func recordsOfANewerVersionAreRefusedWithWhatToDo() throws {
        let bytes = try self.nextRecord().bytes.all()
        let before = try self.store.tableHash()
        // The note of a session, as it begins.
        var note = ByteWriter()
        note.write(byte: 1)
        note.write(varint: 3)
        note.write(identifier: Identifier128(high: 3, low: 3))
        let noteIndex = try #require(bytes.firstRange(of: note.bytes)).lowerBound
        for (field, index) in [("version", 4), ("kind", 5), ("note", noteIndex)] {
            var changed = bytes
            changed[index] = 200
            guard case .logDamaged(let text) = self.apply(try self.entry(changed)) else {
                Issue.record("\(field)")
                continue
            }
            #expect(text.contains("\(field): a newer nestd wrote it; install that version here too"))
            #expect(try self.store.tableHash() == before)
        }
    }

    private func open(_ file: String, as name: String) throws -> Store {
        let path = "\(self.fixture.directory.path)/\(name)"
        Self.copy(file, to: path)
        var configuration = Store.Configuration(location: .file(path), model: .nestedList)
        configuration.log = self.replica.log
        return try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
    }

    /// Copies a store as a crash at this moment would leave it.
    private static func copy(_ path: String, to other: String) {
        for suffix in ["", "-wal"] where FileBytes.exists(path + suffix) {
            FileBytes.write(FileBytes.read(path + suffix), to: other + suffix)
        }
    }

    @Test func aRecordOfAnotherLogIsRefused() throws {
        let other = try Fixture(inMemory: true, isReplicated: true)
        try other.replica?.lead(other.store)
        try self.fixture.perform(Fixture.insert("own"))
        try self.replica.catchUp()
        try other.perform(Fixture.insert("other"))
        let here = try #require(self.store.logState).position.position
        let foreign = try #require(other.replica?.log.entries(after: here).first)
        let before = try self.store.tableHash()
        guard case .logDamaged = self.apply(foreign) else {
            Issue.record("a foreign record was applied")
            return
        }
        #expect(try self.store.tableHash() == before)
    }

    @Test func aRecordOutOfOrderIsRefused() throws {
        try self.fixture.perform(Fixture.insert("a"))
        try self.fixture.perform(Fixture.insert("b"))
        let here = try #require(self.store.logState).position.position
        let entries = self.replica.log.entries(after: here)
        guard case .logDamaged = self.apply(entries[1]) else {
            Issue.record("a record was left out")
            return
        }
        #expect(self.apply(entries[0]) == nil)
        guard case .logDamaged = self.apply(entries[0]) else {
            Issue.record("a record was applied twice")
            return
        }
        #expect(self.apply(entries[1]) == nil)
    }

    /// The follower's row was changed behind the log's back.
    @Test(arguments: [
        "UPDATE Item SET title = 'x' WHERE id = ?", "UPDATE Item SET nest_parent_position = 5 WHERE id = ?",
        "UPDATE Item SET nest_revision = 77 WHERE id = ?", "DELETE FROM Item WHERE id = ?",
    ])
    func aRecordWhoseBeforeIsNotThereDiverges(sql: String) throws {
        let id = try #require(try self.fixture.perform(Fixture.insert("a"), Fixture.insert("b")).first)
        try self.replica.catchUp()
        try self.store.access { try self.store.connection.execute(sql.replacing("?", with: "\(id)")) }
        let before = try self.store.tableHash()
        try self.fixture.perform(
            Mutation.update(.object(id), values: [PropertyAssignment(Fixture.title, .value(.string("new")))]),
            Fixture.move(id, under: ObjectID(1), .last)
        )
        let here = try #require(self.store.logState).position.position
        let entry = try #require(self.replica.log.entries(after: here).first)
        guard case .diverged(let reason) = self.apply(entry) else {
            Issue.record("not refused: \(sql)")
            return
        }
        #expect(reason.contains("does not fit this store"))
        #expect(try self.store.tableHash() == before)
    }

    /// The local commit fails behind the append: nothing is acknowledged, and the record is applied at the next start.
    @Test func filesCopiedAroundTheAppendAreBehindTheLogAndCatchUp() throws {
        let directory = TemporaryDirectory(inMemory: true)
        let path = self.fixture.path
        let copies = [directory.path + "/before.sqlite", directory.path + "/after.sqlite"]
        self.replica.log.onAppend { Self.copy(path, to: copies[0]) }
        try self.fixture.perform(Fixture.insert("a"))
        self.replica.log.onAppend(nil)
        Self.copy(path, to: copies[1])
        let head = self.replica.log.head
        for (index, copy) in copies.enumerated() {
            let store = try self.open(copy, as: "\(index)-copy.sqlite")
            let position = try #require(store.logState).position
            #expect(position.position == head.position - (index == 0 ? 1 : 0))
            for entry in self.replica.log.entries(after: position.position) {
                _ = try store.apply(entry, isConcerned: { _ in true })
            }
            #expect(try store.tableHash() == self.fixture.store.tableHash())
            try store.close()
        }
    }
}
