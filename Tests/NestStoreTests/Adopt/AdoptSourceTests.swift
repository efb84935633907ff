import Foundation
import NestModel
import NestStore
import NestTestSupport
import Testing

/// The file of the app, the versions of its model, and the new store's name.
@Suite struct AdoptSourceTests {
    private func failure(_ adopted: AdoptedApp, _ versions: [AdoptedVersion]? = nil, _ options: AdoptOptions = .init())
        -> AdoptFailure?
    {
        do {
            try adopted.adopt(versions, options)
            return nil
        } catch {
            return error as? AdoptFailure
        }
    }

    @Test func theVersionThatFitsIsChosen() throws {
        let adopted = try AdoptedApp(Library.app())
        var older = Library.draft
        older.entities[1].attributes.remove(at: 3)
        var newer = Library.draft
        newer.entities[1].attributes.append(.named("year", .integer))
        let versions = [
            try Library.version("1", older), try Library.version("2", Library.draft),
            try Library.version("3", newer, isCurrent: true),
        ]
        let report = try adopted.adopt(versions)
        #expect(report.version == "2" && report.versionReason == "the version that fits best")
        try adopted.compare(report)

        let none = self.failure(try AdoptedApp(Library.app()), [versions[2]])
        #expect(none?.reason == .otherModel)
        #expect(none?.description.hasSuffix("3: ZBOOK has no column ZYEAR for Book.year") == true, "\(none as Any)")

        var options = AdoptOptions()
        options.version = "1"
        let wanted = try AdoptedApp(Library.app()).adopt(versions, options)
        #expect(wanted.version == "1" && wanted.unreadColumns == ["ZBOOK.ZSIZE"])
        options.version = "9"
        #expect(self.failure(try AdoptedApp(Library.app()), versions, options)?.reason == .otherModel)
    }

    @Test func ofEqualVersionsTheCurrentOneIsChosen() throws {
        let names = ["1", "2", "3"]
        for current in names {
            let versions = try names.map { try Library.version($0, Library.draft, isCurrent: $0 == current) }
            let report = try AdoptedApp(Library.app()).adopt(versions)
            let others = names.filter { $0 != current }.joined(separator: ", ")
            #expect(report.version == current)
            #expect(report.versionReason == "the current version; \(others) would fit as well: see --version")
        }
        let report = try AdoptedApp(Library.app()).adopt(names.map { try Library.version($0, Library.draft) })
        #expect(report.version == "3" && report.versionReason.hasPrefix("the last by name"))
    }

    @Test func columnsAndTablesThatTheModelDoesNotHaveAreListed() throws {
        let adopted = try AdoptedApp(Library.app())
        try adopted.change(
            "ALTER TABLE ZSHELF ADD COLUMN ZOLD VARCHAR",
            "CREATE TABLE ZLOG (a)",
            "INSERT INTO ZLOG VALUES (1), (2)",
            "CREATE VIEW ZVIEW AS SELECT 1"
        )
        let report = try adopted.adopt()
        #expect(report.unreadColumns == ["ZSHELF.ZOLD"])
        #expect(report.unreadTables.map(\.name) == ["ZLOG"] && report.unreadTables.map(\.count) == [2])
    }

    @Test func columnsThatCouldBeOfSeveralPropertiesAreChecked() throws {
        var top = EntityDraft(name: "Thing")
        top.attributes = [.named("id")]
        var (book, cup) = (EntityDraft(name: "Book"), EntityDraft(name: "Cup"))
        for name in ["Book", "Cup"] {
            var entity = EntityDraft(name: name)
            entity.parent = "Thing"
            entity.attributes = [.named("title")]
            if name == "Book" { book = entity } else { cup = entity }
        }
        var app = AppStore(ModelDraft(entities: [top, book, cup]))
        for (number, name) in ["Book", "Cup"].enumerated() {
            let key = AppStore.Key(table: "Thing", number: Int64(number + 1))
            app.objects[key] = .init(entity: name, values: ["title": .string(name)])
        }
        let adopted = try AdoptedApp(app)
        try adopted.compare(try adopted.adopt())
        let swapped = try AdoptedApp(app)
        try swapped.change("UPDATE ZTHING SET ZTITLE = ZTITLE1, ZTITLE1 = ZTITLE")
        let failure = self.failure(swapped)
        #expect(
            failure?.reason == .otherModel && failure?.description.contains("ZTHING.ZTITLE") == true,
            "\(failure as Any)"
        )
    }

    @Test func whatIsNoStoreOfCoreDataIsRefused() throws {
        let adopted = try AdoptedApp(Library.app())
        FileBytes.write(Array("not a database, but long enough to be one".utf8), to: adopted.source)
        #expect(self.failure(adopted)?.reason == .damaged)
        FileBytes.write([], to: adopted.source)
        #expect(self.failure(adopted)?.reason == .damaged)
        unlink(adopted.source)
        #expect(self.failure(adopted)?.reason == .missing)
        mkdir(adopted.source, 0o700)
        #expect(self.failure(adopted)?.reason == .damaged)
        rmdir(adopted.source)
        try adopted.change("CREATE TABLE a (b)")
        #expect(self.failure(adopted)?.description.contains("is not a store of Core Data") == true)
    }

    @Test func numbersThatCannotBeIdsAreRefused() throws {
        for number in ["0", "-5", "9007199254740991", "9223372036854775807"] {
            let adopted = try AdoptedApp(Library.app())
            try adopted.change("UPDATE ZBOOK SET Z_PK = \(number) WHERE Z_PK = 6")
            #expect(self.failure(adopted)?.reason == .damaged, "\(number)")
        }
    }

    @Test func theNewStoreMustNotExist() throws {
        let adopted = try AdoptedApp(Library.app())
        try adopted.adopt()
        let bytes = FileBytes.read(adopted.target)
        #expect(self.failure(adopted)?.reason == .exists)
        let store = try adopted.open()
        #expect(throws: StoreError.self) { try adopted.adopt() }
        try store.close()
        #expect(FileBytes.read(adopted.target).count == bytes.count)
    }

    @Test func aFileThatChangesMeanwhileIsRefused() throws {
        let adopted = try AdoptedApp(Library.app())
        do {
            try adopted.adopt { step in
                if step.number == 2 { FileBytes.write(FileBytes.read(adopted.source), to: adopted.source) }
            }
            Issue.record("the store was adopted")
        } catch let failure as AdoptFailure {
            #expect(failure.reason == .changed)
        }
        #expect(!FileBytes.exists(adopted.target))
    }

    @Test func aDryRunLeavesNothing() throws {
        let adopted = try AdoptedApp(Library.app(), keepsLog: true)
        let before = try adopted.files()
        var options = AdoptOptions()
        options.isDryRun = true
        let report = try adopted.adopt(nil, options)
        #expect(report.objectCount == 8 && report.links.first { $0.name == "Book.shelf" }?.count == 6)
        #expect(try adopted.files() == before)
        let names = try FileManager.default.contentsOfDirectory(atPath: adopted.directory.path)
        #expect(names.filter { $0.hasPrefix("nest.sqlite") } == ["nest.sqlite.lock"])
    }

    /// Damage anywhere in a file ends in a report or in an error, never in a crash, and never in a broken store.
    @Test func damagedFilesNeverTrap() throws {
        let seed =
            ProcessInfo.processInfo.environment["NEST_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 1...1_000_000)
        print("damaged stores: seed \(seed)")
        var random = SeededRandom(seed: seed)
        var (failed, refused, adopted) = (0, 0, 0)
        for _ in 0..<Seeds.steps(150) {
            let damaged = try AdoptedApp(Library.app(), keepsLog: random.oneIn(3))
            let log = "\(damaged.source)-wal"
            let path = FileBytes.exists(log) && random.oneIn(2) ? log : damaged.source
            var bytes = FileBytes.read(path)
            let offsets = bytes.indices.filter { bytes[$0] != 0 || random.oneIn(64) }
            for _ in 0...random.below(4) { bytes[offsets[random.below(offsets.count)]] ^= 1 << UInt8(random.below(8)) }
            if random.oneIn(10) { bytes.removeLast(random.below(bytes.count)) }
            FileBytes.write(bytes, to: path)
            do {
                let report = try damaged.adopt()
                if report.refused.isEmpty { adopted += 1 } else { refused += 1 }
                if report.refused.isEmpty {
                    #expect(try Store.check(damaged.target) { _ in }.problems == [], "seed \(seed)")
                }
                #expect(FileBytes.exists(damaged.target) == report.refused.isEmpty, "seed \(seed)")
            } catch is AdoptFailure {
                failed += 1
                #expect(!FileBytes.exists(damaged.target), "seed \(seed)")
            }
        }
        print("damaged stores: \(failed) failed, \(refused) refused, \(adopted) adopted")
        if Seeds.isUsual { #expect(failed > 0 && adopted > 0) }
    }
}
