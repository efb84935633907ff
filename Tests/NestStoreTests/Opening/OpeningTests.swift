import Glibc
import NestModel
import NestStore
import NestTestSupport
import Testing

@Suite struct OpeningTests {
    private func write(_ bytes: [UInt8], to path: String) {
        let file = fopen(path, "wb")
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }

    private func open(_ path: String, _ model: ManagedObjectModel = .nestedList) throws(StoreError) -> Store {
        try Store(.init(location: .file(path), model: model), newHistoryID: Identifier128(high: 1, low: 1))
    }

    @Test func filesThatAreNotStoresAreRefusedUnchanged() throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/x.sqlite"
        for bytes in [
            [], Array("hello".utf8), [UInt8](repeating: 0, count: 5_000), Array("SQLite format 3".utf8) + [0, 1, 2],
        ] {
            self.write(bytes, to: path)
            #expect(throws: StoreError.self) { _ = try self.open(path) }
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_size == bytes.count)
        }
    }

    /// An SQLite file without any content does not become a store: a store exists completely or not at all.
    @Test func aBlankDatabaseIsRefused() throws {
        let fixture = try Fixture()
        try fixture.store.close()
        unlink(fixture.path)
        // The header page of an empty database in WAL mode, as `PRAGMA journal_mode = WAL` alone writes it.
        var page = [UInt8](repeating: 0, count: 4_096)
        page.replaceSubrange(0..<16, with: Array("SQLite format 3".utf8) + [0])
        page.replaceSubrange(16..<24, with: [0x10, 0, 2, 2, 0, 64, 32, 32])
        page.replaceSubrange(24..<32, with: [0, 0, 0, 1, 0, 0, 0, 1])
        page.replaceSubrange(44..<48, with: [0, 0, 0, 0])
        page.replaceSubrange(92..<100, with: [0, 0, 0, 1, 0, 0x2e, 0x5f, 0x1c])
        page.replaceSubrange(100..<108, with: [13, 0, 0, 0, 0, 0x10, 0, 0])
        self.write(page, to: fixture.path)
        #expect(throws: StoreError.self) { _ = try self.open(fixture.path) }
        #expect(FileBytes.read(fixture.path) == page)
    }

    /// If root creates a token before the first start, the service, which is not root, must still be able to open its
    /// store.
    @Test(.enabled(if: geteuid() == 0, "only root can create files of other users"))
    func filesThatRootCreatesGetTheDirectorysOwner() throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/x.sqlite"
        let owner: uid_t = 65_534
        try #require(chown(directory.path, owner, owner) == 0)
        let store = try self.open(path)
        for suffix in ["", "-wal", "-shm", ".lock"] {
            var status = stat()
            #expect(stat(path + suffix, &status) == 0, "\(suffix)")
            #expect(status.st_uid == owner && status.st_gid == owner, "\(suffix)")
        }
        try store.close()
    }

    @Test func aLockThatIsASymbolicLinkIsRefused() throws {
        let directory = TemporaryDirectory()
        let other = directory.path + "/other"
        self.write(Array("precious".utf8), to: other)
        symlink(other, directory.path + "/x.sqlite.lock")
        #expect(throws: StoreError.self) { _ = try self.open(directory.path + "/x.sqlite") }
        #expect(FileBytes.read(other) == Array("precious".utf8))
    }

    @Test func openingALockedStoreReportsItsProcess() throws {
        let fixture = try Fixture()
        // Under another name of the same file, too.
        let link = fixture.directory.path + "/link.sqlite"
        symlink(fixture.path, link)
        for path in [fixture.path, link] {
            do {
                _ = try self.open(path)
                Issue.record("opened twice")
            } catch {
                guard case .locked(_, let pid) = error else {
                    Issue.record("\(error)")
                    continue
                }
                #expect(pid == getpid())
            }
        }
    }

    @Test func aHardLinkAndAnotherModelAreRefused() throws {
        let fixture = try Fixture()
        try fixture.store.close()
        let other = ManagedObjectModel(entities: [
            EntityDescription(
                number: 1,
                name: "Item",
                attributes: [AttributeDescription(number: 1, name: "title", type: .string)],
                relationships: []
            )
        ])
        #expect(throws: StoreError.self) { _ = try self.open(fixture.path, other) }
        link(fixture.path, fixture.directory.path + "/hard.sqlite")
        #expect(throws: StoreError.self) { _ = try self.open(fixture.path) }
        unlink(fixture.directory.path + "/hard.sqlite")
        let store = try self.open(fixture.path)
        #expect(store.historyID == Identifier128(high: 1, low: 2))
        try store.close()
    }

    /// Committed changes and assigned ids are kept when the store is closed and opened again.
    @Test func stateSurvivesReopening() throws {
        let fixture = try Fixture()
        let ids = try fixture.perform(Fixture.insert("a"), Fixture.insert("b"))
        try fixture.perform(.delete(.object(ids[1])))
        try fixture.reopen()
        #expect(fixture.store.head == Revision(2))
        #expect(try fixture.children(ObjectID(1)) == [ids[0]])
        #expect(try fixture.perform(Fixture.insert("c")) == [ObjectID(ids[1].rawValue + 1)])
    }

    /// The journal drops its oldest rows when it exceeds a limit, and keeps the newest row whatever the limit.
    @Test func theJournalIsBounded() throws {
        let fixture = try Fixture()
        for number in 0..<20 { try fixture.perform(Fixture.insert("\(number)")) }
        let base = try fixture.store.access { try fixture.store.trimJournal(now: 1, revisionsMax: 5) }
        #expect(base == Revision(15) && fixture.store.oldestBase == Revision(15))
        #expect(try fixture.store.access { try fixture.store.pastTransaction(Revision(15)) } == nil)
        #expect(try fixture.store.access { try fixture.store.pastTransaction(Revision(16)) } != nil)
        _ = try fixture.store.access { try fixture.store.trimJournal(now: 1, revisionsMax: 0, bytesMax: 0) }
        #expect(try fixture.store.access { try fixture.store.pastTransaction(Revision(20)) } != nil)
        try fixture.reopen()
        #expect(fixture.store.head == Revision(20))
    }
}
