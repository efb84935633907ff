import NestEngine
import NestModel
import NestProtocol
import NestSchema
import NestTestSupport
import Testing

@testable import NestStore

/// Writes of very many objects are prepared in parts, and other clients notice them only when they are committed.
@Suite struct PreparedWriteTests {
    private let rows = (0..<400).map { (depth: min($0 % 10, 3), title: "\($0)") }

    /// Prepared writes mean the same as those that run as one piece, whatever others write meanwhile.
    @Test func preparedWritesMeanTheSameAsWholeOnes() throws {
        var (prepared, overtaken) = (0, 0)
        for seed in Seeds.range(0..<16) {
            let twins = try PreparedTwins(seed: seed)
            for _ in 0..<Seeds.steps(40) { try twins.advance() }
            prepared += twins.preparedCount
            overtaken += twins.overtakenCount
        }
        guard Seeds.isUsual else { return }
        #expect(prepared > 60 && overtaken > 20, "\(prepared), \(overtaken)")
    }

    /// A fixture with an import that is being prepared, and the id of its request.
    private func begin() throws -> (EngineFixture, heavy: SimulatedClient, request: UInt32, other: SimulatedClient) {
        let fixture = try EngineFixture(preparedObjectsMin: 40)
        let heavy = try fixture.connect(session: 1)
        let other = try fixture.connect(session: 2)
        try fixture.write(other, [EngineFixture.insert("there")])
        let request = heavy.request(
            try EngineFixture.importing(self.rows, under: EngineFixture.root, directory: fixture.path)
        )
        try fixture.perform([request.input])
        for _ in 0..<5 { try fixture.perform([]) }
        #expect(heavy.replies[request.id] == nil)
        #expect(try fixture.preparedFormat())
        return (fixture, heavy, request.id, other)
    }

    private func storedCount(_ fixture: EngineFixture) throws -> Int64 {
        var count: Int64 = 0
        try fixture.file().forEachRow("SELECT count(*) FROM Item") { row in
            count = row.integer(0)
            return false
        }
        return count
    }

    @Test func nobodySeesRowsThatAreBeingPrepared() throws {
        let (fixture, heavy, request, other) = try self.begin()
        #expect(try self.storedCount(fixture) > 2)
        let all = ObjectFetchRequest(entity: EngineFixture.item)
        try fixture.perform([other.subscribe(all)])
        var visible = 1
        while true {
            let asked = try fixture.ask(other, .object(ObjectID(4)))
            if heavy.replies[request] != nil { break }
            #expect(asked.error?.code == .notFound)
            #expect(try fixture.children().count == visible)
            let found = try fixture.store.reader.read { (reader, _) throws(StoreError) in
                (hidden: try reader.object(ObjectID(4)), other: try reader.object(ObjectID(2)))
            }
            #expect(found.hidden == nil && found.other != nil)
            #expect(other.subscriptions[all]?.state?.total == visible + 1)
            let report = try fixture.store.reader.check(deadline: .none) { _ in }
            #expect(report.problems == [] && report.objectCount == visible + 1)
            try fixture.perform([])
            if heavy.replies[request] != nil { break }
            // A commit of another client does not wait.
            try fixture.write(other, [EngineFixture.insert("beside")])
            visible += 1
        }
        let receipt = try #require(heavy.replies[request]?.receipt)
        #expect(receipt.insertedCount == 400 && receipt.firstInserted == ObjectID(3))
        // The last of the other client's commits may have been in the same turn.
        #expect(receipt.revision.rawValue + 1 >= fixture.engine.head.rawValue && visible > 10)
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        #expect(try fixture.children().count == visible + 40)
        #expect(try self.storedCount(fixture) == Int64(visible) + 401 && !fixture.preparedFormat())
        let undone = try #require(try self.finish(fixture, heavy, .undo(key: nil, UndoOptions())))
        #expect(undone.revision == fixture.engine.head)
        #expect(try fixture.children().count == visible)
    }

    private func finish(_ fixture: EngineFixture, _ client: SimulatedClient, _ request: EngineRequest) throws
        -> Receipt?
    {
        let (id, input) = client.request(request)
        try fixture.perform([input])
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        return client.replies[id]?.receipt
    }

    /// The preparation ends with the connection of its request, and leaves nothing.
    @Test func aPreparationEndsWithItsConnection() throws {
        let (fixture, heavy, _, _) = try self.begin()
        try fixture.perform([.disconnected(heavy.connection)])
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        #expect(try self.storedCount(fixture) == 2 && !fixture.preparedFormat())
        #expect(fixture.engine.head == Revision(1))
    }

    /// A server that ends in the middle leaves nothing of the write, and does not use its ids twice for one object.
    @Test func aRestartRemovesWhatWasPrepared() throws {
        let (fixture, _, _, _) = try self.begin()
        try fixture.restart()
        let client = try fixture.connect(session: 3)
        #expect(try fixture.children() == [ObjectID(2)] && self.storedCount(fixture) > 2)
        let id = try fixture.write(client, [EngineFixture.insert("later")]).insertedIDs[0]
        #expect(id == ObjectID(403))
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        #expect(try self.storedCount(fixture) == 3 && !fixture.preparedFormat())
        #expect(fixture.engine.head == Revision(2))
        let report = try fixture.store.reader.check(deadline: .none) { _ in }
        #expect(report.problems == [])
    }

    /// Each object has the revision of the write that inserted or restored it, also while its row is still to get it.
    @Test func objectsHaveTheRevisionOfTheWholeWrite() throws {
        let (fixture, heavy, request, other) = try self.begin()
        while heavy.replies[request] == nil {
            try fixture.write(other, [EngineFixture.edit(ObjectID(2), "\(fixture.now)")])
            try fixture.perform([])
        }
        let imported = try #require(heavy.replies[request]?.receipt).revision
        try self.expect(imported, of: fixture, other)
        try fixture.restart()
        let heir = try fixture.connect(session: 1)
        try self.expect(imported, of: fixture, heir)
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        try self.expect(imported, of: fixture, heir)
        let undone = try #require(try self.finish(fixture, heir, .undo(key: nil, UndoOptions())))
        #expect(undone.revision > imported)
        let (id, input) = heir.request(.redo(key: nil, UndoOptions()))
        try fixture.perform([input])
        while heir.replies[id] == nil { try fixture.perform([]) }
        let redone = try #require(heir.replies[id]?.receipt).revision
        #expect(try fixture.preparedFormat())
        try self.expect(redone, of: fixture, heir)
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        try self.expect(redone, of: fixture, heir)
    }

    private func expect(_ revision: Revision, of fixture: EngineFixture, _ client: SimulatedClient) throws {
        for id in [ObjectID(3), ObjectID(4), ObjectID(30), ObjectID(402)] {
            let row = try fixture.store.access { try fixture.store.object(id)?.row }
            #expect(row?.revision == revision)
            let history = try fixture.ask(client, .history(before: Revision(0), limit: 1, onlyMine: false, object: id))
            #expect(history.entries?.first?.revision == revision)
        }
    }

    /// With too little space on the disk, a write that is being prepared is refused, and its rows are removed later.
    @Test func aShortageOfSpaceRefusesWhatIsBeingPrepared() throws {
        let (fixture, heavy, request, other) = try self.begin()
        try fixture.perform([.healthSample(.init(freeBytes: 0))])
        for _ in 0..<3 { try fixture.perform([]) }
        #expect(heavy.replies[request]?.error?.code == .diskFull)
        let waiting = other.request(try EngineFixture.importing(self.rows, directory: fixture.path))
        try fixture.perform([waiting.input])
        #expect(other.replies[waiting.id]?.error?.code == .diskFull)
        #expect(try !fixture.engine.hasBacklog && self.storedCount(fixture) > 2)
        try fixture.perform([.healthSample(.init(freeBytes: .max)), .tick])
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        #expect(try self.storedCount(fixture) == 2 && !fixture.preparedFormat())
    }

    /// A part that fails leaves nothing open: the store goes on.
    @Test func aPartThatFailsRefusesItsWriteOnly() throws {
        let (fixture, heavy, request, other) = try self.begin()
        try fixture.store.access {
            try fixture.store.connection.execute(
                """
                CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.Item WHEN new.id = 200
                BEGIN SELECT raise(ROLLBACK, 'refused'); END
                """
            )
        }
        while heavy.replies[request] == nil { try fixture.perform([]) }
        #expect(heavy.replies[request]?.error != nil)
        try fixture.write(other, [EngineFixture.insert("beside")])
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        #expect(try self.storedCount(fixture) == 3 && !fixture.preparedFormat())
    }

    /// Objects whose owner is gone are not restored, nor is anything below them.
    @Test func anUndoWhoseOwnerIsGoneMeansTheSame() throws {
        let (prepared, whole) = (try self.undoWithoutOwner(from: 40), try self.undoWithoutOwner(from: .max))
        #expect(prepared?.receipt == whole?.receipt && prepared?.error == whole?.error)
        #expect(prepared?.receipt?.isChanged ?? false == false)
    }

    private func undoWithoutOwner(from preparedObjectsMin: Int) throws -> EngineReply? {
        let fixture = try EngineFixture(preparedObjectsMin: preparedObjectsMin)
        let client = try fixture.connect(session: 1)
        let other = try fixture.connect(session: 2)
        let owner = try fixture.write(other, [EngineFixture.insert("owner")]).insertedIDs[0]
        let rows = (0..<400).map { (depth: min($0, 3), title: "\($0)") }
        let importing = try EngineFixture.importing(rows, under: owner, directory: fixture.path)
        let top = try #require(try self.finish(fixture, client, importing)?.firstInserted)
        let deletion = EngineRequest.transaction(WriteTransaction(mutations: [.delete(.object(top))]))
        #expect(try self.finish(fixture, client, deletion)?.isChanged == true)
        try fixture.write(other, [.delete(.object(owner))])
        let (id, input) = client.request(.undo(key: nil, UndoOptions()))
        try fixture.perform([input])
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        #expect(try self.storedCount(fixture) == 1 && !fixture.preparedFormat())
        return try #require(client.replies[id])
    }

    /// A row that is not valid refuses the whole import.
    @Test func aFaultInALaterPartRefusesTheImport() throws {
        let fixture = try EngineFixture(preparedObjectsMin: 40)
        let client = try fixture.connect(session: 1)
        var rows = self.rows
        rows[390].title = String(repeating: "x", count: Limits.valueBytesMax + 1)
        let (id, input) = client.request(try EngineFixture.importing(rows, directory: fixture.path))
        try fixture.perform([input])
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        #expect(client.replies[id]?.error?.code == .valueTooLarge)
        #expect(try self.storedCount(fixture) == 1 && !fixture.preparedFormat())
    }

    /// The owner of an import may be gone when it is committed.
    @Test func anImportUnderAnOwnerThatIsDeletedMeanwhileIsRefused() throws {
        let fixture = try EngineFixture(preparedObjectsMin: 40)
        let client = try fixture.connect(session: 1)
        let other = try fixture.connect(session: 2)
        let owner = try fixture.write(other, [EngineFixture.insert("owner")]).insertedIDs[0]
        let request = client.request(
            try EngineFixture.importing(self.rows, under: owner, directory: fixture.path)
        )
        try fixture.perform([request.input])
        try fixture.write(other, [.delete(.object(owner))])
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        #expect(client.replies[request.id]?.error?.code == .notFound)
        #expect(try self.storedCount(fixture) == 1 && !fixture.preparedFormat())
    }

    /// A deletion deletes what is there when it is committed, not what was there when its preparation began.
    @Test func aDeletionIncludesWhatOthersAddMeanwhile() throws {
        let (fixture, heavy, _, other) = try self.begin()
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        // The objects below must be younger than the one above.
        let list = ObjectID(2)
        let top = try fixture.children()[1]
        let below = try fixture.children(top)[0]
        for child in try fixture.children() where child != list {
            try fixture.write(other, [EngineFixture.move(child, under: list, .last)])
        }
        let before = try fixture.children(list)
        let request = heavy.request(.transaction(WriteTransaction(mutations: [.delete(.object(list))])))
        try fixture.perform([request.input])
        for _ in 0..<4 { try fixture.perform([]) }
        #expect(heavy.replies[request.id] == nil)
        let added = try fixture.write(other, [EngineFixture.insert("added", under: below)]).insertedIDs[0]
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        #expect(heavy.replies[request.id]?.receipt?.isChanged == true)
        #expect(try self.storedCount(fixture) == 1 && !fixture.preparedFormat())
        #expect(try self.finish(fixture, heavy, .undo(key: nil, UndoOptions())) != nil)
        #expect(try fixture.children(list) == before && fixture.children(below).contains(added))
    }

    /// Large values of other entities do not keep an undo from being prepared; those of its own objects do, and come
    /// back.
    @Test(arguments: [false, true]) func undoBesideLargeValuesIsPrepared(isOfItems: Bool) throws {
        let scan = AttributeDescription(number: 1, name: "bytes", type: .largeData, isOptional: true)
        let scans = EntityDescription(number: 2, name: "Scan", attributes: [scan], relationships: [])
        let model =
            isOfItems
            ? EngineFixture.modelWithValues
            : ManagedObjectModel(entities: ManagedObjectModel.nestedList.entities + [scans])
        let fixture = try EngineFixture(model: model, preparedObjectsMin: 40)
        let client = try fixture.connect(session: 1)
        func finish(_ id: UInt32) throws -> Bool {
            var isPrepared = false
            for _ in 0..<1_000 where client.replies[id] == nil || fixture.engine.hasBacklog {
                isPrepared = try client.replies[id] == nil && fixture.preparedFormat() || isPrepared
                try fixture.perform([])
            }
            _ = try #require(client.replies[id]?.receipt)
            return isPrepared
        }
        let rows = (0..<400).map { (depth: $0 == 0 ? 0 : min(1 + ($0 - 1) % 10, 3), title: "\($0)") }
        let importing = client.request(
            try EngineFixture.importing(rows, under: EngineFixture.root, directory: fixture.path)
        )
        try fixture.perform([importing.input])
        #expect(try finish(importing.id))
        let item = try #require(client.replies[importing.id]?.receipt?.firstInserted)
        if isOfItems {
            let put = client.request(try EngineFixture.putting(100_000))
            try fixture.perform([put.input])
            try fixture.perform([])
            try fixture.write(client, [EngineFixture.setting(item, try #require(client.replies[put.id]?.largeValue))])
        }
        let deletion = client.request(.transaction(WriteTransaction(mutations: [.delete(.object(item))])))
        try fixture.perform([deletion.input])
        #expect(try finish(deletion.id) == !isOfItems)
        #expect(try fixture.children().isEmpty)
        let undo = client.request(.undo(key: nil, UndoOptions(policy: .keep), expected: nil))
        try fixture.perform([undo.input])
        // For items it is given up when the first of them is read.
        let isPrepared = try finish(undo.id)
        #expect(isPrepared || isOfItems)
        #expect(try fixture.children().count == 1)
        #expect(try fixture.store.reader.check(deadline: .none) { _ in }.problems == [])
        if isOfItems { #expect(try fixture.store.valueRows("nest_value", where: "freed ISNULL") == 1) }
    }
}
