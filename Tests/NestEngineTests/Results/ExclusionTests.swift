import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// Lists that leave out one object, as lists of an entity leave out its root. SQLite leaves it out; the slow way is to
/// fetch all rows and drop it.
@Suite struct ExclusionTests {
    @Test(arguments: Seeds.range(0..<6)) func rowsAreAllRowsButOne(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let fixture = try EngineFixture()
        let client = try fixture.connect(session: 1)
        let item = try #require(ManagedObjectModel.nestedList.entity(EngineFixture.item))
        for _ in 0..<30 { try fixture.write(client, [EngineFixture.insert(random.pick(["a", "B", "c", "b", ""]))]) }
        func rows(_ predicate: String, _ sort: String, _ window: FetchWindow?) throws -> (ids: [ObjectID], total: Int) {
            var request = ObjectFetchRequest(entity: item.number)
            if predicate != "" { request.predicate = try FetchPredicate(predicate, of: item, in: .nestedList) }
            if sort != "" { request.sort = try [OrderingTerm](sort, of: item, in: .nestedList) }
            request.window = window
            let found = try #require(
                try FetchCheck.fetch(
                    request.canonical(in: .nestedList),
                    fixture.engine,
                    fixture.store.reader,
                    now: fixture.now
                )
            )
            return (found.1.map(\.id), found.0.window.total)
        }
        for _ in 0..<40 {
            let sort = random.pick(["", "title", "-title", "title:c", "-done,title"])
            let id = ObjectID(Int64(random.below(34)) + 1)
            let all = try rows("", sort, nil).ids.filter { $0 != id }
            let offset = random.below(36)
            let window = random.oneIn(2) ? FetchWindow(offset: offset, limit: 5) : nil
            let found = try rows("SELF != \(id)", sort, window)
            #expect(found.total == all.count, "seed \(seed)")
            #expect(found.ids == (window == nil ? all : Array(all.dropFirst(offset).prefix(5))), "seed \(seed)")
        }
    }
}
