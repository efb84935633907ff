import NestModel
import NestProtocol
import NestSchema
import NestTestSupport
import Testing

@testable import NestStore

/// Files of stores that are in a cluster, come into one, or leave it.
@Suite struct ReplicaFileTests {
    private let directory = TemporaryDirectory(inMemory: true)
    private let fixture: Fixture
    private let replica: Replica

    init() throws {
        self.fixture = try Fixture(inMemory: true, isReplicated: true)
        self.replica = try #require(self.fixture.replica)
    }

    private func path(_ name: String) -> String { "\(self.directory.path)/\(name)" }

    private func open(
        _ path: String,
        log: MemoryLog?,
        model: ManagedObjectModel = .nestedList,
        migrates: Bool = false
    ) throws -> Store {
        var configuration = Store.Configuration(location: .file(path), model: model)
        configuration.log = log
        configuration.migratesReplica = migrates
        return try Store(configuration, newHistoryID: Identifier128(high: 40, low: 2))
    }

    private func expectMismatch(_ words: String, _ body: () throws -> Void) {
        do {
            try body()
            Issue.record("not refused: \(words)")
        } catch StoreError.clusterMismatch(_, let reason) {
            #expect(reason.contains(words))
        } catch {
            Issue.record(error)
        }
    }

    @Test func aStoreOfAClusterIsRefusedWithoutItsLogAndTheReverse() throws {
        let path = self.path("replica.sqlite")
        try Replica.layDown(try self.fixture.store.reader.snapshot(bytesLeftMin: 0), at: path)
        self.expectMismatch("--log") { _ = try self.open(path, log: nil) }
        try self.open(path, log: self.replica.log).close()
        self.expectMismatch("--log") { _ = try self.open(path, log: nil) }
        let single = self.path("single.sqlite")
        try self.open(single, log: nil).close()
        self.expectMismatch("no cluster") { _ = try self.open(single, log: self.replica.log) }
        try self.open(single, log: nil).close()
        self.expectMismatch("does not exist") { _ = try self.open(self.path("none.sqlite"), log: self.replica.log) }
        #expect(!FileBytes.exists(self.path("none.sqlite")))
    }

    @Test func aStoreOfAClusterHasAFormatThatAnOlderServerRefuses() throws {
        let path = self.path("replica.sqlite")
        try Replica.layDown(try self.fixture.store.reader.snapshot(bytesLeftMin: 0), at: path)
        // The user version of SQLite's header.
        #expect(FileBytes.read(path)[60..<64] == [0, 0, 0, 11])
        let single = self.path("single.sqlite")
        try self.open(single, log: nil).close()
        #expect(FileBytes.read(single)[60..<64] == [0, 0, 0, 10])
    }

    /// During a rolling upgrade a node takes over the file, or a snapshot, of the version before.
    @Test func aFileOfAnOlderNodeIsUpgraded() throws {
        try self.fixture.perform(Fixture.insert("a"))
        let path = self.path("replica.sqlite")
        try Replica.layDown(try self.fixture.store.reader.snapshot(bytesLeftMin: 0), at: path)
        var bytes = FileBytes.read(path)
        bytes[63] = 6
        FileBytes.write(bytes, to: path)
        let state = try #require(self.fixture.store.logState)
        #expect(try Store.replicaFile(at: path) == .replica(state, historyID: self.fixture.store.historyID))
        self.expectMismatch("--log") { _ = try self.open(path, log: nil) }
        let store = try self.open(path, log: self.replica.log)
        #expect(try store.tableHash() == self.fixture.store.tableHash())
        #expect(store.logState == state)
        try store.close()
        #expect(FileBytes.read(path)[60..<64] == [0, 0, 0, 11])
    }

    @Test func theStateOfAClosedFileIsRead() throws {
        let path = self.path("replica.sqlite")
        #expect(try Store.replicaFile(at: path) == .missing)
        try Replica.layDown(try self.fixture.store.reader.snapshot(bytesLeftMin: 0), at: path)
        let state = try #require(self.fixture.store.logState)
        #expect(try Store.replicaFile(at: path) == .replica(state, historyID: self.fixture.store.historyID))
        let single = self.path("single.sqlite")
        try self.open(single, log: nil).close()
        #expect(try Store.replicaFile(at: single) == .ordinary)
    }

    @Test func theCheckFindsNothingWrongWithANodesFile() throws {
        try self.fixture.perform(Fixture.insert("a"))
        let path = self.path("replica.sqlite")
        try Replica.layDown(try self.fixture.store.reader.snapshot(bytesLeftMin: 0), at: path)
        let report = try Store.check(path) { _ in }
        #expect(report.problems.isEmpty, "\(report)")
    }

    // MARK: Snapshots

    @Test func aSnapshotIsTheStoreAtItsPosition() throws {
        for number in 0..<50 { try self.fixture.perform(Fixture.insert("item \(number)")) }
        let snapshot = try self.fixture.store.reader.snapshot(bytesLeftMin: 0)
        let hash = try self.fixture.store.tableHash()
        #expect(snapshot.description.position == self.fixture.store.logState?.position)
        #expect(snapshot.description.revision == self.fixture.store.head)
        #expect(snapshot.description.modelHash == self.fixture.store.layout.model.hash)
        // Later commits are not in it.
        try self.fixture.perform(Fixture.insert("later"))
        let path = self.path("replica.sqlite")
        try Replica.layDown(snapshot, at: path)
        let store = try self.open(path, log: self.replica.log)
        #expect(try store.tableHash() == hash)
        #expect(store.historyID == self.fixture.store.historyID)
        for entry in self.replica.log.entries(after: snapshot.description.position.position) {
            _ = try store.apply(entry, isConcerned: { _ in true })
        }
        #expect(try store.tableHash() == self.fixture.store.tableHash())
        try store.close()
    }

    @Test func aSnapshotTakesThePlaceOfAnOlderFileWithItsLog() throws {
        let path = self.path("replica.sqlite")
        try Replica.layDown(try self.fixture.store.reader.snapshot(bytesLeftMin: 0), at: path)
        var store = try self.open(path, log: self.replica.log)
        let old = try #require(store.logState)
        try self.fixture.perform(Fixture.insert("a"))
        for entry in self.replica.log.entries(after: old.position.position) {
            _ = try store.apply(entry, isConcerned: { _ in true })
        }
        // As a crash leaves the files: the newest record is only in SQLite's log.
        let crashed = self.path("crashed.sqlite")
        for suffix in ["", "-wal"] { FileBytes.write(FileBytes.read(path + suffix), to: crashed + suffix) }
        try store.close()
        for number in 0..<20 { try self.fixture.perform(Fixture.insert("\(number)")) }
        try Replica.layDown(try self.fixture.store.reader.snapshot(bytesLeftMin: 0), at: crashed)
        store = try self.open(crashed, log: self.replica.log)
        #expect(try store.tableHash() == self.fixture.store.tableHash())
        try store.close()
    }

    @Test func aDamagedSnapshotIsRefusedAndTheOldFileStays() throws {
        let snapshot = try self.fixture.store.reader.snapshot(bytesLeftMin: 0)
        let path = self.path("replica.sqlite")
        try Replica.layDown(snapshot, at: path)
        let before = FileBytes.read(path)
        for fault in 0..<3 {
            let download = try SnapshotDownload(snapshot.description, at: path)
            #expect(throws: StoreError.self) {
                for index in 0..<snapshot.description.partCount where fault != 2 {
                    var part = try snapshot.part(index)
                    if fault == 0 { part.removeLast(9) }
                    if fault == 1 {
                        let zeros = [UInt8](repeating: 0, count: Int(snapshot.description.byteCount))
                        part = PackedBytes.pack(zeros, nil)
                    }
                    try download.add(part)
                }
                try download.publish(store: 1)
            }
        }
        #expect(FileBytes.read(path) == before)
        #expect(!FileBytes.exists(path + ".being-made"))
    }

    @Test func onlyOneSnapshotIsMadeAtATime() throws {
        FileBytes.write([], to: StoreReader.snapshotName(self.fixture.path))
        expectRefusal(.busy) { _ = try self.fixture.store.reader.snapshot(bytesLeftMin: 0) }
        expectRefusal(.diskFull) {
            StoreFile.removePartial(StoreReader.snapshotName(self.fixture.path))
            _ = try self.fixture.store.reader.snapshot(bytesLeftMin: 1 << 60)
        }
        #expect(!FileBytes.exists(StoreReader.snapshotName(self.fixture.path)))
    }

    // MARK: Leaving

    @Test func aNodeThatLeavesIsAnOrdinaryStoreWithANewHistory() throws {
        try self.fixture.perform(Fixture.insert("a"))
        try self.replica.catchUp()
        let history = self.fixture.store.historyID
        let path = self.fixture.path
        try self.fixture.store.close()
        let new = Identifier128(high: 90, low: 1)
        #expect(try Store.leaveCluster(path, newHistoryID: new))
        #expect(try !Store.leaveCluster(path, newHistoryID: history))
        let store = try self.open(path, log: nil)
        #expect(store.historyID == new)
        #expect(store.head == Revision(1))
        #expect(store.logState == nil)
        try store.close()
    }

    /// A backup leaves the cluster: it is an ordinary store with a history of its own.
    @Test func aBackupOfANodeIsAnOrdinaryStore() throws {
        try self.fixture.perform(Fixture.insert("a"))
        let backup = try self.fixture.store.reader.backup(isCompressed: false, bytesLeftMin: 0, deadline: .none) {
            _,
            packed in packed
        }
        let path = self.path("backup.sqlite")
        var bytes: [UInt8] = []
        var offset = 0
        while let (chunk, next) = try backup.chunks.chunk(at: offset) {
            bytes += try PackedBytes.unpack(chunk, sizeMax: Limits.chunkUnpackedBytesMax)
            offset = next
        }
        FileBytes.write(bytes, to: path)
        self.expectMismatch("no cluster") { _ = try self.open(path, log: self.replica.log) }
        let store = try self.open(path, log: nil)
        #expect(store.restoredHistoryID == self.fixture.store.historyID)
        #expect(store.head == self.fixture.store.head)
        try store.close()
    }

    @Test func aDivergedFileIsKeptUnderANewName() throws {
        let path = self.path("replica.sqlite")
        for name in ["replica.sqlite.diverged-12", "replica.sqlite.diverged-12-2"] {
            try Replica.layDown(try self.fixture.store.reader.snapshot(bytesLeftMin: 0), at: path)
            #expect(try Store.setAside(path, divergedAt: 12) == self.path(name))
            #expect(!FileBytes.exists(path))
            #expect(try Store.replicaFile(at: self.path(name)) != .missing)
        }
    }

    // MARK: Migration

    @Test func aCutLeadsToTheSnapshotOfTheMigratedStore() throws {
        var user = EntityDraft(name: "User")
        user.attributes = [AttributeDraft("name")]
        let fixture = try Fixture(ModelDraft(entities: [user]).compile(), inMemory: true, isReplicated: true)
        let replica = try #require(fixture.replica)
        try fixture.perform(.insert(entity: EntityNumber(1), values: [], placements: []))
        try replica.catchUp()
        user.attributes.append(AttributeDraft("mail"))
        let model = try ModelDraft(entities: [user]).compile()
        let path = self.path("migrating.sqlite")
        try Replica.layDown(try replica.store.reader.snapshot(bytesLeftMin: 0), at: path)
        self.expectMismatch("another model") { _ = try self.open(path, log: replica.log, model: model) }

        let migrating = try self.open(path, log: replica.log, model: model, migrates: true)
        let writer = LogRecord.Writer(node: Identifier128(high: 6, low: 6), epoch: 50)
        let cut = try migrating.makeCut(as: writer, now: 9)
        let snapshot = try migrating.reader.snapshot(bytesLeftMin: 0)
        try migrating.close()
        #expect(snapshot.description.position == cut.position)
        #expect(snapshot.description.modelHash == model.hash)
        #expect(replica.log.append(cut.record, chain: cut.position.chain, after: cut.after) == .appended)

        let applied = try #require(try replica.catchUp().last)
        #expect(applied.reopen == .cut)
        #expect(replica.store.logState?.position == cut.after)
        // The old leader is behind the cut too.
        #expect(throws: StoreError.self) { try fixture.perform(Fixture.insert("late")) }
        let joined = self.path("joined.sqlite")
        try Replica.layDown(snapshot, at: joined)
        let store = try self.open(joined, log: replica.log, model: model)
        #expect(store.layout.model.hash == model.hash)
        #expect(store.head == Revision(1))
        try replica.lead(store)
        try store.close()
    }
}
