import NestDocuments
import NestEngine
import NestModel
import NestProtocol
import NestSchema
import NestStore
import NestTestSupport
import Testing

/// Random histories of a nested list, followed by outlines with random windows, anchors, fold states and predicates.
/// After every step each outline is what walking down the store gives. `NEST_SEED` repeats one history.
@Suite struct OutlineHistoryTests {
    @Test(arguments: Seeds.range(1..<13))
    func outlinesFollowTheStore(seed: UInt64) throws {
        try OutlineHistory(seed: seed, world: try OutlineWorld()).run(Seeds.steps(150))
    }

    /// Nearly every read is large, and most windows lag behind their batch.
    @Test(arguments: Seeds.range(21..<29))
    func outlinesThatLagCatchUp(seed: UInt64) throws {
        let world = try OutlineWorld(backgroundReadRowsMin: 12, windowWorkMax: 6)
        try OutlineHistory(seed: seed, world: world).run(Seeds.steps(120))
    }

    /// The model grows between the steps.
    @Test(arguments: Seeds.range(61..<69))
    func outlinesGoOnWhileTheModelGrows(seed: UInt64) throws {
        try OutlineHistory(seed: seed, world: try OutlineWorld()).run(Seeds.steps(80), growing: true)
    }

    /// Commits, undos and redos come while rows are read in the background.
    @Test(arguments: Seeds.range(41..<53))
    func changesDuringReadsAreFollowed(seed: UInt64) throws {
        let world = try OutlineWorld(backgroundReadRowsMin: 4)
        try OutlineHistory(seed: seed, world: world).run(Seeds.steps(60), holdingReads: true)
    }
}

private final class OutlineHistory {
    private let world: OutlineWorld
    private var random: SeededRandom
    private var windows = 0
    private let seed: UInt64

    init(seed: UInt64, world: OutlineWorld) {
        self.seed = seed
        self.world = world
        self.random = SeededRandom(seed: seed)
    }

    func run(_ steps: Int, holdingReads: Bool = false, growing: Bool = false) throws {
        for step in 0..<20 {
            try self.write(only: 0)
            if step == 10 { try self.subscribe() }
        }
        var growth = SeededRandom(seed: ~self.seed)
        for step in 0..<steps {
            if growing, growth.oneIn(4) { try self.grow(&growth, step) }
            let what = try holdingReads && self.random.below(2) == 0 ? self.heldStep() : self.step()
            try self.world.check("seed \(self.seed) step \(step) \(what)")
        }
        if self.world.client.isBlocked { try self.world.perform([self.world.client.drain()]) }
        try self.world.check("seed \(self.seed) at the end")
    }

    private func grow(_ random: inout SeededRandom, _ step: Int) throws {
        let fixture = self.world.fixture
        var draft = ModelDraft(fixture.store.layout.model)
        random.grow(&draft, step)
        guard let model = try? draft.compile() else { return }
        try self.world.perform([self.world.writer.request(.query(ApplyModel(model, isDryRun: false))).input])
        try self.world.check("seed \(self.seed) step \(step): a new model")
    }

    private func step() throws -> String {
        let client = self.world.client
        switch self.random.below(20) {
        case 0, 1:
            guard client.subscriptions.count < 8 else { return "nothing" }
            try self.subscribe()
            return "subscribe"
        case 2, 3, 4:
            guard !client.isBlocked, let request = self.anyRequest() else { return "nothing" }
            let items = try self.world.snapshot().items.keys.sorted()
            let states = (0...self.random.below(3)).map { _ in (self.any(items), self.random.below(2) == 0) }
            try self.world.set(states, of: request)
            return "set \(states)"
        case 5, 6:
            guard !client.isBlocked, let old = self.anyRequest() else { return "nothing" }
            let new = try self.request(isChange: true)
            try self.world.change(old, to: new)
            return "change"
        case 7:
            try self.world.perform([client.isBlocked ? client.drain() : client.block()])
            return "block or drain"
        case 8:
            let undo = self.random.below(2) == 0
            try self.world.perform([self.world.undo(undo)])
            return "undo or redo"
        default:
            return try self.write(only: nil)
        }
    }

    /// Begins a read, commits several batches, and delivers the read.
    private func heldStep() throws -> String {
        let world = self.world
        guard !world.client.isBlocked else { return "nothing" }
        world.fixture.holdsReads = true
        var what = "held: "
        if self.random.below(2) == 0, world.client.subscriptions.count < 8 {
            try self.subscribe()
        } else if let request = self.anyRequest() {
            let items = try world.snapshot().items.keys.sorted()
            try world.set([(self.any(items), true), (self.any(items), self.random.below(2) == 0)], of: request)
        }
        let outcomes = world.fixture.reads.map { EngineInput.read($0.id, $0.run(world.fixture.store.reader)) }
        world.fixture.reads = []
        for _ in 0...self.random.below(3) { what += try self.write(only: nil) }
        try world.perform(outcomes)
        try world.finishReads()
        return what
    }

    private func any<Element>(_ elements: [Element]) -> Element { elements[self.random.below(elements.count)] }

    private func anyRequest() -> ObjectFetchRequest? {
        let all = self.world.client.subscriptions.filter { $0.value.view != nil }.sorted {
            ($0.value.number, $0.value.view!) < ($1.value.number, $1.value.view!)
        }
        return all.isEmpty ? nil : self.any(all).key
    }

    // MARK: Writes

    /// Several transactions in one batch, of several steps each.
    @discardableResult
    private func write(only kind: Int?) throws -> String {
        let items = try self.world.snapshot()
        let ids = items.items.keys.sorted()
        var what = ""
        let inputs = (0...self.random.below(5)).map { _ in
            // An undo gives objects their old places back, with their old stamps.
            if kind == nil, self.random.below(4) == 0 {
                let undo = self.random.below(3) > 0
                what += undo ? "undo " : "redo "
                return self.world.undo(undo)
            }
            let mutations = (0...self.random.below(4)).map { _ in self.mutation(ids, items, kind) }
            what += "\(mutations) "
            // Another session's writes are not undone by the same undo.
            let client = self.random.below(3) == 0 ? self.world.client : self.world.writer
            return self.world.transaction(mutations, by: client)
        }
        try self.world.perform(inputs)
        return what
    }

    private func mutation(_ ids: [ObjectID], _ items: NaiveSnapshot, _ kind: Int?) -> Mutation {
        let id = self.any(ids)
        func place() -> Place {
            switch self.random.below(4) {
            case 0: return .first
            case 1:
                let siblings = ids.filter { items.items[$0]?.parent == id }
                return siblings.isEmpty ? .last : .after(.object(self.any(siblings)))
            default: return .last
            }
        }
        switch kind ?? self.random.below(10) {
        case 0, 1, 2: return EngineFixture.insert("t\(self.random.below(100))", under: id, place())
        case 3, 4, 5, 6: return EngineFixture.move(self.any(ids), under: id, place())
        case 7: return EngineFixture.edit(id, "e\(self.random.below(100))")
        case 8:
            let value = PropertyAssignment(OutlineWorld.done, .value(.boolean(self.random.below(3) > 0)))
            return .update(.object(id), values: [value])
        default:
            return id == EngineFixture.root || self.random.below(3) > 0
                ? EngineFixture.insert("n", under: id) : .delete(.object(id))
        }
    }

    // MARK: Requests

    private func subscribe() throws { try self.world.subscribe(try self.request(isChange: false)) }

    private func request(isChange: Bool) throws -> ObjectFetchRequest {
        let ids = try self.world.snapshot().items.keys.sorted()
        let expansion: OutlineExpansion
        switch self.random.below(isChange ? 6 : 4) {
        case 0: expansion = .none
        case 1, 2: expansion = .all
        case 3: expansion = .attribute(OutlineWorld.done)
        default: expansion = .asBefore
        }
        let exceptions = expansion == .asBefore ? [] : (0..<self.random.below(6)).map { _ in self.any(ids) }
        // No two requests are equal, so that each subscription has its own.
        self.windows += 1
        let window: FetchWindow =
            self.random.below(3) == 0
            ? .around(self.any(ids), before: self.random.below(4), after: self.windows % 97)
            : .range(offset: self.random.below(8), limit: self.windows + self.random.below(2) * 900)
        return try OutlineWorld.request(
            expansion,
            except: exceptions,
            of: self.random.below(3) > 0 ? EngineFixture.root : self.any(ids),
            predicate: self.any(["", "", "done == NO", "parent.done == NO"]),
            columns: self.random.below(4) == 0 ? ["parent.title", "children.@count"] : [],
            window: window
        )
    }
}
