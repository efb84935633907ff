import NestLiveQuery
import NestModel
import NestStore
import NestTestSupport
import Testing

@testable import NestEngine

/// Outlines after a commit that they could not follow.
@Suite struct OutlineFaultTests {
    @Test func outlinesThatMissedACommitAreReadAnew() throws {
        let world = try OutlineWorld()
        let ids = try world.insert([("a", under: -1), ("b", under: 0), ("c", under: 1), ("d", under: -1)])
        let all = try OutlineWorld.request()
        let folded = try OutlineWorld.request(.none)
        try world.subscribe(all)
        try world.subscribe(folded)
        world.fixture.holdsReads = true
        world.fixture.engine.queries.outlines.lose()
        try world.write([.delete(.object(ids[1]))])
        // Nothing is compared with rows that may be wrong, and nothing of them is sent.
        let diffs = world.client.diffs
        #expect(try world.set([(ids[0], true), (ids[1], true)], of: folded) == nil, "DONE waits for the difference")
        try world.perform([.positionTimer])
        #expect(world.client.diffs == diffs)
        try world.finishReads()
        try world.check("read anew")
        #expect(world.ids(all) == [ids[0], ids[3]])
    }

    @Test func aRowThatTheStoreDoesNotHaveIsAnError() throws {
        let world = try OutlineWorld()
        let all = try OutlineWorld.request()
        try world.subscribe(all)
        let outlines = world.fixture.engine.queries.outlines
        let outline = try #require(outlines.sorted.first)
        var rows = OutlineTree()
        rows.reset([FlatTree.Entry(id: ObjectID(9_999), depth: 0, childCount: 0, isExpanded: false)])
        let code = self.code {
            _ = try world.fixture.store.access { () throws(StoreError) in
                try outlines.window.rows(0..<1, of: rows, outline.source, outline.columns)
            }
        }
        #expect(code == .internalError)
    }

    private func code(_ body: () throws -> Void) -> ErrorCode? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StoreError)?.nestError.code
        }
    }
}
