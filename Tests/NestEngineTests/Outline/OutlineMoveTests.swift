import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// Rows that move while an undo brings old places back, and places among hidden rows.
@Suite struct OutlineMoveTests {
    private func order(_ world: OutlineWorld, _ request: ObjectFetchRequest) -> [ObjectID] { world.ids(request) }

    /// L X R: X moves away, L moves behind R, and the undo of the first move brings X back with its old stamp.
    @Test(arguments: [false, true]) func undoInABatchOfMoves(isLagging: Bool) throws {
        let world = try OutlineWorld()
        let ids = try world.insert([("L", under: -1), ("X", under: -1), ("R", under: -1), ("x", under: 1)])
        let (left, middle, right) = (ids[0], ids[1], ids[2])
        let all = try OutlineWorld.request(except: [middle])
        try world.subscribe(all)
        if isLagging { try world.perform([world.client.block()]) }
        try world.perform([
            world.transaction([EngineFixture.move(middle, under: right, .last)]),
            world.transaction([EngineFixture.move(left, .last)], by: try world.fixture.connect(session: 3)),
            world.undo(),
        ])
        if isLagging { try world.perform([world.client.drain()]) }
        try world.check("undone")
        let stored = try world.fixture.children()
        #expect(world.ids(all) == stored)
        // X is still folded, and its child is counted once.
        let rows = try #require(world.client.subscriptions[all]?.state?.sections.first?.rows)
        #expect(rows.first { $0.id == middle }?.values[2] == .integer(-2))
        #expect(rows.first { $0.id == right }?.values[2] == .integer(0))
    }

    /// The same with a deletion, and a redo that takes it back.
    @Test func undoInABatchWithADeletion() throws {
        let world = try OutlineWorld()
        let ids = try world.insert([("L", under: -1), ("X", under: -1), ("R", under: -1), ("x", under: 1)])
        let all = try OutlineWorld.request()
        try world.subscribe(all)
        let other = try world.fixture.connect(session: 3)
        try world.perform([
            world.transaction([.delete(.object(ids[1]))]),
            world.transaction([EngineFixture.move(ids[0], .last)], by: other),
            world.undo(),
        ])
        try world.check("undone")
        #expect(world.ids(all).count == 4)
        try world.perform([world.undo(false), world.transaction([EngineFixture.move(ids[2], .last)], by: other)])
        try world.check("redone")
        try world.perform([world.undo(), world.undo(false), world.undo()])
        try world.check("undone, redone and undone")
    }

    /// The changes that follow a background read are one batch, too.
    @Test func undoDuringABackgroundRead() throws {
        let world = try OutlineWorld(backgroundReadRowsMin: 3)
        let ids = try world.insert([("L", under: -1), ("X", under: -1), ("R", under: -1), ("x", under: 1)])
        let all = try OutlineWorld.request()
        world.fixture.holdsReads = true
        try world.subscribe(all)
        let read = try #require(world.fixture.reads.last)
        world.fixture.reads.removeLast()
        let outcome = read.run(world.fixture.store.reader)
        try world.write([EngineFixture.move(ids[1], under: ids[2], .last)])
        try world.perform([
            world.transaction([EngineFixture.move(ids[0], .last)], by: try world.fixture.connect(session: 3))
        ])
        try world.perform([world.undo()])
        try world.perform([.read(read.id, outcome)])
        try world.finishReads()
        try world.check("read")
    }

    /// Ten thousand done items are hidden. The place behind them is found by a search over the shown ones.
    @Test func placesAmongHiddenSiblingsCostLittle() throws {
        let world = try OutlineWorld()
        // Each with children, which belong between it and what comes behind.
        let shown = try world.insert((0..<8).map { ("shown \($0)", under: -1) })
        for id in shown { try world.write((0..<3).map { EngineFixture.insert("child \($0)", under: id) }) }
        let titles = (0..<10_000).map { (depth: 0, title: "\($0)") }
        try world.perform([try world.fixture.imported(titles, under: EngineFixture.root, by: world.writer)])
        let hidden = try world.fixture.children().filter { !shown.contains($0) }
        #expect(hidden.count == 10_000)
        for start in stride(from: 0, to: hidden.count, by: 2_000) {
            try world.fixture.write(world.writer, hidden[start..<start + 2_000].map { OutlineWorld.done($0, true) })
        }
        let open = try OutlineWorld.request(predicate: "done == NO")
        try world.subscribe(open)
        let last = try world.fixture.write(world.writer, [EngineFixture.insert("last")])
        let before = world.work.examined
        try world.write([EngineFixture.insert("new")])
        try world.write([EngineFixture.move(shown[3], .last)])
        try world.write([OutlineWorld.done(hidden[5_000], false)])
        try world.write([EngineFixture.move(shown[0], .after(.object(hidden[9_999])))])
        #expect(world.work.examined - before < 80, "\(world.work.examined - before) objects examined")
        try world.check("placed")
        #expect(world.ids(open).contains(hidden[5_000]) && last.firstInserted.map(world.ids(open).contains) == true)
        #expect(world.work.readAgain == 0)
    }

    /// A predicate over the parent: a parent with many children, of which one changes.
    @Test func numbersOfChildrenFollowWithoutCounting() throws {
        let world = try OutlineWorld(backgroundReadRowsMin: 500)
        let top = try world.insert([("top", under: -1), ("second", under: -1)])
        let titles = (0..<3_000).map { (depth: 0, title: "\($0)") }
        try world.perform([try world.fixture.imported(titles, under: top[0], by: world.writer)])
        let request = try OutlineWorld.request(except: [top[0]], predicate: "parent.done == NO")
        try world.subscribe(request)
        let before = world.work
        let child = try #require(try world.fixture.children(top[0]).last)
        try world.write([EngineFixture.insert("one more", under: top[0])])
        try world.write([EngineFixture.move(child, under: top[1], .last)])
        try world.write([.delete(.object(child))])
        #expect(world.work.examined - before.examined < 40 && world.work.readAgain == before.readAgain)
        try world.check("counted")
        // Its 3,000 children are hidden: too many to be followed one by one.
        try world.write([OutlineWorld.done(top[0], true)])
        #expect(world.work.examined - before.examined < 2_000 && world.work.readAgain == before.readAgain + 1)
        try world.check("all hidden")
    }
}
