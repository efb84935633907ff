import NestEngine
import NestModel
import NestOverlay
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// Clients that show their writes before they are confirmed, over a random history by seed: writes that wait, that are
/// refused and corrected, that others overtake; groups; undo and redo of what is pending and of what is not; group
/// commits; lists and outlines that are changed, folded and ended; frames that are read late; connections that are
/// blocked, and cut between any two frames, so that answers are lost and writes are sent again; servers that are killed
/// and started again. Each client checks the laws at every publish. Now and then what it shows is compared with what
/// the engine makes of its pending writes, on a second store. In the end everything is settled, all clients show what
/// the server has, and each write is in the history at most once.
final class OptimisticSimulation {
    let seed: UInt64
    var random: SeededRandom
    private(set) var directory = TemporaryDirectory()
    let model: ManagedObjectModel
    private(set) var store: Store
    private(set) var engine: Engine
    var scene: Scene
    var clients: [OptimisticClient] = []
    /// Another session, which shows nothing.
    let other: SimulatedClient
    var reserved: [ObjectIdentifier: [ObjectID]] = [:]
    /// The requests as they were made, by those that were subscribed.
    var asked: [ObjectFetchRequest: ObjectFetchRequest] = [:]
    private var nextConnection: UInt64 = 1
    /// The clock stands still, so that the time of a write is the time of its commit.
    let now: Int64 = 1_000_000
    var step = 0
    let isTraced: Bool
    var counts: [String: Int] = [:]

    var what: String { "seed \(self.seed), step \(self.step)" }

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
        self.engine = try Self.engine(self.store, seed)
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

    func newConnection() -> ConnectionID {
        defer { self.nextConnection += 1 }
        return ConnectionID(self.nextConnection)
    }

    /// Performs a batch. Clients read all of what it has for them, or a part. `slow`: a client that reads a part.
    func perform(_ inputs: [EngineInput], isReadAtOnce: Bool = false, slow: OptimisticClient? = nil) throws {
        let (inputs, refusals) = self.refuse(inputs)
        let effects = self.engine.perform(inputs, now: self.now)
        #expect(self.engine.failure == nil, "\(self.what)")
        for effect in effects { try self.other.take(effect, self.what) }
        for client in self.clients {
            client.inbox += effects + refusals
            let isLate = client === slow || !isReadAtOnce && self.random.oneIn(3)
            try client.read(isLate ? self.random.below(client.inbox.count + 1) : client.inbox.count, self.what)
        }
        self.scene.naive = try NaiveResults(self.store)
    }

    /// Takes writes of clients out of a batch that the server does not carry out now, and returns its answers.
    private func refuse(_ inputs: [EngineInput]) -> (performed: [EngineInput], answers: [EngineEffect]) {
        var (performed, answers): ([EngineInput], [EngineEffect]) = ([], [])
        let connections = Set(self.clients.map(\.client.connection))
        for input in inputs {
            if case .request(let connection, let id, .transaction) = input, connections.contains(connection),
                self.random.oneIn(25)
            {
                answers.append(.reply(connection, requestID: id, .failure(NestError(.busy, "not now"))))
            } else {
                performed.append(input)
            }
        }
        return (performed, answers)
    }

    var trace: OptimisticTrace? { self.clients.first?.trace }

    // MARK: A step

    func run(steps: Int) throws {
        for _ in 0..<steps {
            self.step += 1
            let client = self.clients.randomElement(using: &self.random)!
            switch self.random.below(32) {
            case 0..<11: try self.write(client)
            case 11..<18: try self.send()
            case 18, 19: try self.writeOfAnother()
            case 20 where !self.isTraced:
                try self.perform([client.client.isBlocked ? client.client.drain() : client.client.block()])
            case 21, 22: try self.cut(client)
            case 23, 24: try self.undo(client)
            case 25: if self.random.oneIn(2) { client.redo(key: .random(using: &self.random), self.what) }
            case 26, 27: try self.fold(client)
            case 28: try self.change(client)
            case 29: if self.random.oneIn(3) { try self.perform(client.client.unsubscribe()) }
            case 30: if self.random.oneIn(4) { try self.kill() }
            default: try self.subscribe(client)
            }
            if self.random.oneIn(2) { try client.read(self.random.below(client.inbox.count + 1), self.what) }
            if (self.step + Int(self.seed)).isMultiple(of: 8), !self.isTraced { try self.predict() }
        }
        try self.settle()
        try self.expectEachWriteOnce()
        try self.engine.close()
        for client in self.clients { self.counts.merge(client.counts) { $0 + $1 } }
    }

    /// The server dies after a commit, and another one starts on what is on the disk.
    private func kill() throws {
        let old = self.directory
        self.directory = TemporaryDirectory()
        try SecondStore.copy(old.path + "/nest.sqlite", to: self.directory.path + "/nest.sqlite")
        try self.engine.close()
        let configuration = Store.Configuration(
            location: .file(self.directory.path + "/nest.sqlite"),
            model: self.model
        )
        self.store = try Store(configuration, newHistoryID: Identifier128(high: 0, low: 0))
        self.engine = try Self.engine(self.store, self.seed)
        try self.perform([self.other.connect(as: self.newConnection())])
        for client in self.clients {
            client.connectionLost()
            try self.reconnect(client)
        }
        self.counts["kills", default: 0] += 1
    }

    private static func engine(_ store: Store, _ seed: UInt64) throws -> Engine {
        try Engine(store: store, limits: EngineLimits(differenceRowsMin: seed.isMultiple(of: 5) ? 2 : 64))
    }

    // MARK: The end

    private func settle() throws {
        for client in self.clients {
            if client.client.isBlocked { try self.perform([client.client.drain()]) }
            if let group = client.group { client.endGroup(group, isGivenUp: false, self.what) }
        }
        for _ in 0..<1_000 where self.clients.contains(where: { $0.hasWaiting || !$0.isIdle }) {
            try self.perform(self.clients.flatMap { $0.send(5) })
        }
        try self.perform([.tick], isReadAtOnce: true)
        // PROGRESS says at the latest with the next write that nothing is missing.
        try self.writeOfAnother()
        try self.perform([.tick], isReadAtOnce: true)
        for client in self.clients {
            #expect(client.views.pending.writes.isEmpty, "\(self.what): \(client.views.pending.writes.map(\.state))")
            for (request, subscription) in client.client.subscriptions {
                let id = client.number(of: request)
                #expect(client.shown[id]?.state == subscription.state, "\(self.what): \(request)")
            }
        }
    }

    /// No write that was sent again is in the history twice.
    private func expectEachWriteOnce() throws {
        var keys: [Identifier128: Revision] = [:]
        var base = Revision(0)
        while let entries = try self.store.journalEntries(after: base), let last = entries.last {
            for header in entries.map(\.header) {
                guard let key = header.key else { continue }
                // A mutant changes the upper half.
                let half = Identifier128(high: 0, low: key.low)
                if let other = keys[half] { Issue.record("\(self.what): revision \(header.revision) repeats \(other)") }
                keys[half] = header.revision
            }
            base = last.header.revision
        }
        for client in self.clients {
            let made = client.keys.values.filter { keys[Identifier128(high: 0, low: $0.low)] != nil }
            self.counts["once", default: 0] += made.count
        }
    }
}
