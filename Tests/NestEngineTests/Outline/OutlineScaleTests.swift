import NestEngine
import NestModel
import NestTestSupport
import Testing

/// A million opened levels, and a million siblings. `NEST_STEPS` sets another number.
@Suite struct OutlineScaleTests {
    private func world(_ rows: [(depth: Int, title: String)]) throws -> (world: OutlineWorld, first: ObjectID) {
        let world = try OutlineWorld()
        let first = try world.insert([("top", under: -1)])[0]
        try world.perform([try world.fixture.imported(rows, under: first, by: world.writer)])
        return (world, first)
    }

    private func rows(_ world: OutlineWorld, _ request: ObjectFetchRequest) throws -> [Row] {
        try #require(world.client.subscriptions[request]?.state?.sections.first?.rows)
    }

    @Test func aMillionLevelsAreOpened() throws {
        let count = Seeds.steps(1_000_000)
        let (world, top) = try self.world((0..<count).map { (depth: $0, title: "\($0)") })
        let end = try OutlineWorld.request(window: .range(offset: count - 9, limit: 20))
        #expect(try world.subscribe(end) == nil)
        #expect(world.client.subscriptions[end]?.state?.window?.total == count + 1)
        #expect(try self.rows(world, end).last?.values[3] == .integer(Int64(count)))
        // All but the first level move to the front of the root: the depths of all rows change.
        let second = ObjectID(top.rawValue + 2)
        try world.write([EngineFixture.move(second, .first)])
        let shown = try self.rows(world, end)
        #expect(shown.count == 10 && shown.last?.id == ObjectID(top.rawValue + 1))
        #expect(shown[7].values[3] == .integer(Int64(count - 2)))
        #expect(try world.set([(second, false)], of: end)?.isDone == true)
        #expect(world.client.subscriptions[end]?.state?.window?.total == 3)
        #expect(try world.set([(second, true)], of: end)?.isDone == true)
        #expect(world.client.subscriptions[end]?.state?.window?.total == count + 1)
    }

    @Test func aMillionSiblingsAreShown() throws {
        let count = Seeds.steps(1_000_000)
        let (world, top) = try self.world((0..<count).map { (depth: 0, title: "\($0)") })
        let last = ObjectID(top.rawValue + Int64(count))
        let end = try OutlineWorld.request(window: .around(last, before: 5, after: 5))
        #expect(try world.subscribe(end) == nil)
        #expect(world.client.subscriptions[end]?.state?.window?.start.row == count - 5)
        try world.write([EngineFixture.insert("new", under: top, .first)])
        #expect(world.client.subscriptions[end]?.state?.window?.start.row == count - 4)
        try world.write([EngineFixture.insert("below", under: last, .first)])
        #expect(try self.rows(world, end).map { $0.values[3] }.last == .integer(2))
        try world.write([EngineFixture.move(last, under: top, .first)])
        #expect(world.client.subscriptions[end]?.state?.window?.start.row == 0)
        #expect(try self.rows(world, end).map(\.id)[1] == last)
    }
}
