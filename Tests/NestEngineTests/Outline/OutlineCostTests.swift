import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// What outlines cost a batch, counted in objects and rows, not in time.
@Suite struct OutlineCostTests {
    /// Documents with rows below, each followed by an outline.
    private func documents(
        _ count: Int,
        rows: Int,
        examinedMax: Int = 2_000,
        changesMax: Int = Limits.dependencyChangesMax,
        predicate: String = ""
    ) throws -> (world: OutlineWorld, tops: [ObjectID], requests: [ObjectFetchRequest]) {
        let world = try OutlineWorld(backgroundReadRowsMin: examinedMax, changesMax: changesMax)
        let tops = try world.insert((0..<count).map { ("document \($0)", under: -1) })
        for top in tops {
            let titles = (0..<rows).map { (depth: $0 % 3, title: "\($0)") }
            try world.perform([try world.fixture.imported(titles, under: top, by: world.writer)])
        }
        let requests = try tops.map { try OutlineWorld.request(of: $0, predicate: predicate) }
        for request in requests { try world.subscribe(request) }
        return (world, tops, requests)
    }

    @Test func anOutlineThatABatchDoesNotTouchCostsNothing() throws {
        let (world, tops, _) = try self.documents(8, rows: 30)
        let row = try #require(try world.fixture.children(tops[3]).first)
        let before = world.work
        try world.write([EngineFixture.edit(row, "edited")])
        #expect(world.work.followed == before.followed + 1 && world.work.compared == before.compared + 1)
        #expect(world.work.valuesRead == before.valuesRead + 1, "only the row that changed is read")
        #expect(world.work.examined == before.examined)
        // The root of none of them.
        try world.write([EngineFixture.insert("another document", .first)])
        #expect(world.work.followed == before.followed + 1)
        try world.write([EngineFixture.move(row, under: tops[5], .first)])
        #expect(world.work.followed == before.followed + 3)
        try world.check("moved to another document")
    }

    @Test func aWindowThatShowsTheSameIsNotCompared() throws {
        let world = try OutlineWorld()
        let ids = try world.insert((0..<40).map { ("\($0)", under: -1) })
        let first = try OutlineWorld.request(window: .range(offset: 0, limit: 10))
        let around = try OutlineWorld.request(window: .around(ids[20], before: 4, after: 4))
        try world.subscribe(first)
        try world.subscribe(around)
        let before = world.work
        try world.write([EngineFixture.insert("at the end")])
        #expect(world.work.followed == before.followed + 2 && world.work.compared == before.compared)
        try world.check("only the positions have changed")
        try world.write([EngineFixture.edit(ids[39], "not shown")])
        #expect(world.work.compared == before.compared)
        // The same rows in the same order, but one is deeper.
        try world.write([EngineFixture.move(ids[3], under: ids[2], .last)])
        #expect(world.work.compared == before.compared + 1)
        try world.check("deeper")
        try world.write([EngineFixture.insert("child", under: ids[20])])
        #expect(world.work.compared == before.compared + 2)
        try world.check("another number of children")
    }

    /// The window shows neither the row that moves nor its parents, and the same rows in the same order.
    @Test func aWindowBelowARowThatIsIndentedIsCompared() throws {
        let world = try OutlineWorld()
        let ids = try world.insert([("z", under: -1), ("a", under: -1)] + (0..<20).map { ("\($0)", under: 1) })
        let around = try OutlineWorld.request(window: .around(ids[12], before: 3, after: 3))
        try world.subscribe(around)
        let before = world.work.compared
        try world.write([EngineFixture.move(ids[1], under: ids[0], .last)])
        #expect(world.work.compared == before + 1)
        try world.check("deeper")
    }

    /// Columns of other objects: only the rows are read whose parent, or number of children, has changed.
    @Test func columnsReadTheRowsThatChange() throws {
        let (world, tops, _) = try self.documents(3, rows: 30)
        let row = try #require(try world.fixture.children(tops[1]).first)
        let requests = try tops.map {
            try OutlineWorld.request(of: $0, columns: ["parent.title", "children.@count"])
        }
        for request in requests { try world.subscribe(request) }
        let before = world.work
        try world.write([EngineFixture.edit(row, "renamed")])
        // The row in two outlines, and its child in the one with the title of the parent.
        #expect(world.work.valuesRead == before.valuesRead + 3 && world.work.compared == before.compared + 2)
        try world.check("renamed")
        try world.write([EngineFixture.insert("another child", under: row)])
        #expect(world.work.compared == before.compared + 4)
        try world.check("counted")
    }

    @Test func importsElsewhereAreNotReadAnew() throws {
        let (world, tops, _) = try self.documents(3, rows: 200, examinedMax: 300)
        let before = world.work
        let titles = (0..<20_000).map { (depth: 0, title: "\($0)") }
        try world.perform([try world.fixture.imported(titles, under: tops[0], by: world.writer)])
        #expect(world.work.readAgain == before.readAgain + 1 && world.work.followed == before.followed + 1)
        // Twice what one outline may examine, the objects that the first of these reads, and a page of children.
        #expect(world.work.examined - before.examined <= 3 * 300 + 256)
        try world.check("imported")
        try world.perform([world.undo()])
        try world.check("undone")
    }

    /// Rows hidden by another object, more than are listed: all outlines must be read anew, and share one budget.
    @Test func outlinesOfABatchShareOneBudget() throws {
        let (world, tops, requests) = try self.documents(12, rows: 90, examinedMax: 100, predicate: "parent.done == NO")
        let wide = try world.insert([("wide", under: -1)])[0]
        let titles = (0..<150).map { (depth: 0, title: "\($0)") }
        try world.perform([try world.fixture.imported(titles, under: wide, by: world.writer)])
        let before = world.work
        world.fixture.holdsReads = true
        let (_, input) = world.writer.request(
            .transaction(
                WriteTransaction(mutations: [OutlineWorld.done(wide, true), EngineFixture.edit(tops[2], "renamed")])
            )
        )
        try world.fixture.perform([input])
        #expect(world.work.readAgain == before.readAgain + 12)
        #expect(world.work.examined - before.examined <= 8 * 100 + 200)
        #expect(!world.fixture.reads.isEmpty, "the rest is read in the background")
        try world.finishReads()
        try world.check("all are up to date")
        #expect(requests.allSatisfy { world.client.subscriptions[$0]?.view != nil })
    }

    @Test func objectsFollowedForAllOutlinesAreLimited() throws {
        let (world, tops, _) = try self.documents(6, rows: 20, changesMax: 30)
        let rows = try tops.flatMap { try world.fixture.children($0) }
        let before = world.work
        try world.write(rows.prefix(29).map { EngineFixture.edit($0, "x") })
        #expect(world.work.readAgain == before.readAgain)
        try world.write(rows.prefix(40).map { EngineFixture.edit($0, "y") })
        #expect(world.work.readAgain > before.readAgain)
        try world.check("read anew")
    }

    /// A folded row with many children: they are counted up to a limit, then in the background.
    @Test func childrenAreCountedUpToALimit() throws {
        let world = try OutlineWorld(backgroundReadRowsMin: 50)
        let top = try world.insert([("top", under: -1)])[0]
        let titles = (0..<2_000).map { (depth: 0, title: "\($0)") }
        try world.perform([try world.fixture.imported(titles, under: top, by: world.writer)])
        let store = world.fixture.store
        let counts = try store.access { () throws(StoreError) in
            [
                try store.objects.count(referringTo: top, EngineFixture.item, 4, limit: 7),
                try store.objects.count(referringTo: top, EngineFixture.item, 4, limit: 3_000),
            ]
        }
        #expect(counts == [7, 2_000])
        world.fixture.holdsReads = true
        let folded = try OutlineWorld.request(.none)
        try world.subscribe(folded)
        #expect(world.fixture.reads.count == 1)
        try world.finishReads()
        try world.check("counted")
    }

    /// SET_EXPANDED of many objects that are no rows, by an attribute that must be read.
    @Test func manyFoldStatesAreNotedInTheBackground() throws {
        let world = try OutlineWorld(backgroundReadRowsMin: 50)
        let tops = try world.insert([("a", under: -1), ("b", under: -1), ("c", under: 0), ("d", under: 2)])
        let titles = (0..<120).map { (depth: $0 % 2, title: "\($0)") }
        try world.perform([try world.fixture.imported(titles, under: tops[1], by: world.writer)])
        let all = try world.snapshot().items.keys.sorted()
        try world.write([OutlineWorld.done(tops[2], true), OutlineWorld.done(all[40], true)])
        let request = try OutlineWorld.request(.attribute(OutlineWorld.done))
        try world.subscribe(request)
        let before = world.work.examined
        world.fixture.holdsReads = true
        try world.set(all.map { ($0, true) }, of: request)
        #expect(world.work.examined - before <= 60)
        #expect(world.fixture.reads.count == 1)
        try world.finishReads()
        try world.check("unfolded")
        #expect(world.ids(request).count == 100)
        // Rows that are shown tell their state themselves.
        let examined = world.work.examined
        try world.set(tops[0...1].map { ($0, false) }, of: request)
        #expect(world.work.examined == examined)
        try world.check("folded")
    }

    /// The rows of an outline that change faster than they can be read: it lags, and does not end.
    @Test func anOutlineThatIsReadAnewNeverEnds() throws {
        let (world, tops, requests) = try self.documents(1, rows: 200, examinedMax: 100, changesMax: 10)
        let rows = try world.fixture.children(tops[0])
        let view = world.client.subscriptions[requests[0]]?.view
        world.fixture.holdsReads = true
        try world.write(rows.prefix(20).map { EngineFixture.edit($0, "x") })
        for round in 0..<12 {
            let read = try #require(world.fixture.reads.last)
            world.fixture.reads.removeLast()
            let outcome = read.run(world.fixture.store.reader)
            try world.write(rows.prefix(20).map { EngineFixture.edit($0, "\(round)") })
            try world.perform([.read(read.id, outcome)])
            // The connection's own requests do not wait for it.
            let examined = world.work.examined
            let small = try OutlineWorld.request(.none, window: .range(offset: 0, limit: round + 1))
            try world.perform([world.client.request(.fetch(small, atLeast: Revision(0))).input])
            #expect(world.work.examined > examined)
        }
        try world.finishReads()
        #expect(world.client.subscriptions[requests[0]]?.view == view)
        try world.check("caught up")
    }

    @Test func unfoldingNeedsMemory() throws {
        let world = try OutlineWorld(bytesMax: 60_000)
        let top = try world.insert([("top", under: -1)])[0]
        let titles = (0..<1_500).map { (depth: 0, title: "\($0)") }
        try world.perform([try world.fixture.imported(titles, under: top, by: world.writer)])
        var requests: [ObjectFetchRequest] = []
        for number in 0..<4 {
            requests.append(try OutlineWorld.request(.none, window: .range(offset: 0, limit: number + 1)))
            try world.subscribe(requests[number])
        }
        let answers = try requests.map { try world.set([(top, true)], of: $0)?.error?.code }
        #expect(answers.contains(.busy) && answers.first == .some(nil))
        try world.check("refused or unfolded")
        try world.perform([.tick])
        #expect(requests.contains { world.client.subscriptions[$0]?.view == nil }, "the largest has ended")
    }
}
