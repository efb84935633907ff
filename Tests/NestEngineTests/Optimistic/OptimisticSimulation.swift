import NestEngine
import NestModel
import NestOverlay
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// Clients that show their writes before they are confirmed, over a random history by seed: writes that wait, that are
/// refused, that others overtake; group commits; connections that are blocked, and cut between any two frames, so that
/// answers are lost and writes are sent again. Each client checks the laws at every publish. Now and then what it shows
/// is compared with what the engine makes of its pending writes, on a second store. In the end everything is settled,
/// and all clients show what the server has.
final class OptimisticSimulation {
    private let seed: UInt64
    private var random: SeededRandom
    private let directory = TemporaryDirectory()
    private let model: ManagedObjectModel
    private let store: Store
    private let engine: Engine
    private var scene: Scene
    private var clients: [OptimisticClient] = []
    /// Another session, which shows nothing.
    private let other: SimulatedClient
    private var reserved: [ObjectIdentifier: [ObjectID]] = [:]
    /// The requests as they were made, by those that were subscribed.
    private var asked: [ObjectFetchRequest: ObjectFetchRequest] = [:]
    private var nextConnection: UInt64 = 1
    /// The clock stands still, so that the time of a write is the time of its commit.
    private let now: Int64 = 1_000_000
    private var step = 0
    private let isTraced: Bool
    private(set) var counts: [String: Int] = [:]

    private var what: String { "seed \(self.seed), step \(self.step)" }

    /// `isTraced`: the first client's trace is recorded, and no connection is blocked.
    init(seed: UInt64, mutant: OptimisticMutant? = nil, isTraced: Bool = false) throws {
        self.seed = seed
        self.isTraced = isTraced
        self.random = SeededRandom(seed: seed)
        self.model = try [ModelDraft.club, .workshop, .tree][Int(seed % 3)].compile()
        let configuration = Store.Configuration(
            location: .file(self.directory.path + "/nest.sqlite"),
            model: self.model
        )
        self.store = try Store(configuration, newHistoryID: Identifier128.random(using: &self.random))
        self.engine = try Engine(
            store: self.store,
            limits: EngineLimits(differenceRowsMin: seed.isMultiple(of: 5) ? 2 : 64)
        )
        self.scene = Scene(model: self.model, naive: try NaiveResults(self.store), &self.random)
        self.other = SimulatedClient(session: .random(using: &self.random), connection: ConnectionID(0))
        try self.perform([self.other.connect(as: self.newConnection())])
        for _ in 0..<12 { try self.writeOfAnother() }
        for _ in 0..<2 {
            let client = SimulatedClient(session: .random(using: &self.random), connection: ConnectionID(0))
            let optimistic = OptimisticClient(client, self.model, now: self.now)
            optimistic.mutant = mutant
            if isTraced, self.clients.isEmpty { optimistic.trace = OptimisticTrace(self.model, now: self.now) }
            self.clients.append(optimistic)
            try self.perform([client.connect(as: self.newConnection())])
            for _ in 0..<3 { try self.subscribe(optimistic) }
        }
    }

    private func newConnection() -> ConnectionID {
        defer { self.nextConnection += 1 }
        return ConnectionID(self.nextConnection)
    }

    /// Performs a batch. `cut`: the client whose connection breaks after some of the effects.
    private func perform(_ inputs: [EngineInput], cutting cut: OptimisticClient? = nil) throws {
        let effects = self.engine.perform(inputs, now: self.now)
        #expect(self.engine.failure == nil, "\(self.what)")
        let arrived = cut == nil ? effects.count : self.random.below(effects.count + 1)
        for (index, effect) in effects.enumerated() {
            try self.other.take(effect, self.what)
            for client in self.clients where client !== cut || index < arrived { try client.take(effect, self.what) }
        }
        for client in self.clients where client !== cut { client.publish(self.what) }
        self.scene.naive = try NaiveResults(self.store)
    }

    var trace: OptimisticTrace? { self.clients.first?.trace }

    // MARK: A step

    func run(steps: Int) throws {
        for _ in 0..<steps {
            self.step += 1
            let client = self.clients.randomElement(using: &self.random)!
            switch self.random.below(20) {
            case 0..<8: try self.write(client)
            case 8..<13: try self.send()
            case 13..<15: try self.writeOfAnother()
            case 15 where !self.isTraced:
                try self.perform([client.client.isBlocked ? client.client.drain() : client.client.block()])
            case 16, 17: try self.cut(client)
            default: try self.subscribe(client)
            }
            if (self.step + Int(self.seed)).isMultiple(of: 8), !self.isTraced { try self.predict() }
        }
        try self.settle()
        try self.engine.close()
        for client in self.clients { self.counts.merge(client.counts) { $0 + $1 } }
    }

    private func write(_ client: OptimisticClient) throws {
        var mutations: [Mutation] = []
        for _ in 0..<20 {
            mutations = self.random.transaction(self.scene)
            let named = mutations.flatMap(\.references).filter { $0.rawValue > 0 }.map { ObjectID($0.rawValue) }
            if !mutations.isEmpty, client.objects.isSuperset(of: named) || self.random.oneIn(10) { break }
        }
        guard !mutations.isEmpty else { return }
        for index in mutations.indices {
            if case .insert(let entity, let values, let placements) = mutations[index],
                let id = try self.reserve(client)
            {
                mutations[index] = .insertAs(id, entity: entity, values: values, placements: placements)
            }
        }
        client.write(mutations, key: .random(using: &self.random), self.what)
    }

    /// Sends waiting writes of some clients in one batch, sometimes with a write of another session before or after.
    private func send() throws {
        var inputs: [EngineInput] = []
        for client in self.clients.shuffled(using: &self.random) where self.random.below(4) > 0 {
            inputs += client.send(1 + self.random.below(3))
        }
        if self.random.oneIn(3) {
            let (_, input) = self.other.request(
                .transaction(WriteTransaction(mutations: self.random.transaction(self.scene)))
            )
            inputs.insert(input, at: self.random.below(inputs.count + 1))
        }
        try self.perform(inputs)
    }

    private func writeOfAnother() throws {
        if self.random.oneIn(8) { return try self.perform([self.other.request(.undo(key: nil)).input]) }
        let mutations = self.random.transaction(self.scene)
        guard !mutations.isEmpty else { return }
        try self.perform([self.other.request(.transaction(WriteTransaction(mutations: mutations))).input])
    }

    private func cut(_ client: OptimisticClient) throws {
        if client.client.isBlocked { return }
        try self.perform(client.send(self.random.below(4)), cutting: client)
        client.connectionLost()
        try self.perform([.disconnected(client.client.connection)])
        if self.random.oneIn(2) { try self.writeOfAnother() }
        let greeting = client.client.connect(as: self.newConnection())
        let (writes, lists) = (client.send(100), client.client.resumeAll())
        if self.random.oneIn(2) {
            try self.perform([greeting] + writes + lists)
        } else {
            // The lists come before the answers to the writes: nothing is shown in between.
            try self.perform([greeting] + lists)
            if self.random.oneIn(2) { try self.writeOfAnother() }
            try self.perform(writes)
        }
        self.counts["cuts", default: 0] += 1
    }

    private func subscribe(_ client: OptimisticClient) throws {
        guard client.client.subscriptions.count < 6 else { return }
        let isOutline = self.random.oneIn(3)
        guard var asked = isOutline ? self.random.outline(self.scene) : self.random.request(self.scene) else { return }
        asked.totals = []
        if let outline = asked.outline {
            let rows = self.scene.naive.shown(asked, NaiveFolds(outline)).rows.map(\.id)
            asked.window = self.random.oneIn(2) ? .range(offset: 0, limit: 1_000) : self.random.outlineWindow(rows)
        } else if self.random.oneIn(3) {
            asked.window = self.random.window(self.scene.naive.order(asked))
        }
        let request = asked.canonical(in: self.model).widened(in: self.model).canonical(in: self.model)
        guard client.client.subscriptions[request] == nil else { return }
        asked.projection = request.projection
        self.asked[request] = asked
        try self.perform([client.client.subscribe(request)])
    }

    private func reserve(_ client: OptimisticClient) throws -> ObjectID? {
        let key = ObjectIdentifier(client)
        if let id = self.reserved[key]?.popLast() { return id }
        guard !client.client.isBlocked else { return nil }
        let (request, input) = client.client.request(.reserveIDs(40))
        try self.perform([input])
        guard case .reserved(let first, let count)? = client.client.replies[request] else { return nil }
        self.reserved[key] = (0..<Int64(count)).map { ObjectID(first.rawValue + $0) }.reversed()
        return self.reserved[key]?.popLast()
    }

    // MARK: The second store

    /// Compares what clients show that are at the head with what the engine does with their pending writes.
    private func predict() throws {
        for client in self.clients where !client.client.isBlocked && !client.views.pending.isArriving {
            let writes = client.views.pending.writes.filter { !$0.isHopeless && $0.state == .queued }
            guard !writes.isEmpty else { continue }
            let second = try SecondStore(copyOf: self.directory.path + "/nest.sqlite", self.model, now: self.now)
            let transactions = writes.map(\.transaction.mutations)
            // A refusal that the client could not foresee changes what comes after it.
            if let after = try second.results(of: transactions, by: client.client.session, self.what) {
                self.counts["predicted", default: 0] += 1
                self.compare(client, with: after, after: transactions)
            }
            try second.close()
        }
    }

    private func compare(_ client: OptimisticClient, with after: NaiveResults, after transactions: [[Mutation]]) {
        for (request, subscription) in client.client.subscriptions.sorted(by: { $0.value.number < $1.value.number }) {
            guard let asked = self.asked[request], var base = subscription.state,
                let shown = client.shown[client.number(of: request)]
            else { continue }
            // Positions of windows, and what is beyond their ends, arrive later.
            base.revision = self.store.head
            guard base == self.scene.naive.state(asked, request, at: self.store.head) else {
                self.counts["behind", default: 0] += 1
                continue
            }
            let check = PredictionCheck(
                base: OverlayView(request: request, state: base),
                laid: shown,
                expected: after.rows(asked, request)
            )
            if let fault = check.faults.first {
                Issue.record("\(self.what): \(fault) in \(request) after \(transactions.map { $0.map(\.brief) })")
            }
            self.counts["predicted views", default: 0] += 1
            if shown.isDecided, check.changesRows { self.counts["decided with other rows", default: 0] += 1 }
        }
    }

    // MARK: The end

    private func settle() throws {
        for client in self.clients where client.client.isBlocked { try self.perform([client.client.drain()]) }
        for _ in 0..<1_000 where self.clients.contains(where: { !$0.waiting.isEmpty }) {
            try self.perform(self.clients.flatMap { $0.send(5) })
        }
        try self.perform([.tick])
        // PROGRESS says at the latest with the next write that nothing is missing.
        try self.writeOfAnother()
        try self.perform([.tick])
        for client in self.clients {
            #expect(client.views.pending.writes.isEmpty, "\(self.what): \(client.views.pending.writes.map(\.state))")
            for (request, subscription) in client.client.subscriptions {
                let id = client.number(of: request)
                #expect(client.shown[id]?.state == subscription.state, "\(self.what): \(request)")
            }
        }
    }
}
