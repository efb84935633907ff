import NestDocuments
import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol
import NestSchema

/// A random history by seed with results of every kind, on models with inheritance and relationships of every kind.
/// Several clients write, subscribe, lag, disconnect and reconnect. After every batch each client, and a fresh fetch,
/// has the rows that a naive search and sort of the store finds.
final class ResultsSimulation {
    private let seed: UInt64
    var random: SeededRandom
    private let directory = TemporaryDirectory()
    private var configuration: Store.Configuration
    private let differenceRowsMin: Int
    private let dependencyChangesMax: Int
    private let windowWorkMax: Int
    private let admissionWorkMax: Int
    let evaluationNanosecondsMax: Int
    let aggregatedRowsMax: Int
    let preparedObjectsMin: Int
    let aggregatedFewMax: Int
    /// The number of rows up to which a result is read between two commits; 0: all are read in the background.
    let backgroundReadRowsMin: Int
    /// Background reads that have not run, and outcomes that have not arrived.
    var reads: [BackgroundRead] = []
    var outcomes: [(id: UInt64, outcome: Result<BackgroundRead.Rows, NestError>)] = []
    private(set) var model: ManagedObjectModel
    /// Decides when and how the model grows; `nil`: it does not.
    private var growth: SeededRandom?
    var engine: Engine
    var store: Store
    var scene: Scene
    var clients: [SimulatedClient] = []
    var followers: ChangeFollowers
    private var nextConnection: UInt64 = 1
    var now: Int64 = 1_000_000
    private(set) var step = 0
    /// The original requests, by their canonical form.
    var asked: [ObjectFetchRequest: ObjectFetchRequest] = [:]
    var check: DiffCheck

    private(set) var done = 0
    private(set) var refused = 0
    /// The numbers of subscriptions by feature, and of other events.
    var counts: [String: Int] = [:]
    /// The number of compared states.
    var compared = 0
    /// The contents of the store at revisions that clients may hold.
    private(set) var past: [Revision: NaiveResults] = [:]
    /// The writes that are answered when their connection is up to date.
    var pendingWrites: [(client: SimulatedClient, connection: ConnectionID, id: UInt32)] = []
    var diffs: Int { self.clients.reduce(0) { $0 + $1.diffs } }
    var moves: Int { self.clients.reduce(0) { $0 + $1.moves } }
    var sectionChanges: Int { self.clients.reduce(0) { $0 + $1.sectionChanges } }

    /// `grows`: whether the model changes while the clients are connected.
    init(seed: UInt64, grows: Bool = false) throws {
        self.seed = seed
        self.growth = grows ? SeededRandom(seed: seed ^ 0x960e3) : nil
        self.random = SeededRandom(seed: seed)
        self.model =
            switch seed % 4 {
            case 0: try ModelDraft.club.compile()
            case 1: try Self.looseModel(&self.random)
            default: try ModelDraft.workshop.compile()
            }
        let isSmall = !seed.isMultiple(of: 3)
        self.configuration = Store.Configuration(
            location: .file(self.directory.path + "/nest.sqlite"),
            model: self.model
        )
        // A restart names the first model, which is older than the store's when that has grown.
        self.configuration.keepsAppliedModel = grows
        if isSmall {
            self.configuration.streamedFrom = self.random.below(5)
            self.configuration.bulkObjectsInMemoryMax = self.configuration.streamedFrom
            self.configuration.inlineBytesMax = self.random.below(400)
            self.configuration.orderStep = Int64(self.random.below(4) + 2)
        }
        self.differenceRowsMin = self.random.oneIn(3) ? self.random.below(12) : Limits.differenceRowsMin
        let limit = Limits.dependencyChangesMax
        self.dependencyChangesMax = [3, 20, limit, limit][self.random.below(4)]
        self.windowWorkMax = self.random.oneIn(3) ? 1 + self.random.below(9) : Limits.windowWorkMax
        self.admissionWorkMax = self.random.oneIn(3) ? 1 + self.random.below(30) : Limits.admissionWorkMax
        self.backgroundReadRowsMin = self.random.oneIn(4) ? 0 : Limits.backgroundReadRowsMin
        // A separate generator keeps the histories of the seeds unchanged.
        var budgets = SeededRandom(seed: seed ^ 0xb0d9e7)
        self.evaluationNanosecondsMax =
            budgets.oneIn(3) ? 1 + budgets.below(20_000) : Limits.evaluationNanosecondsMax
        self.aggregatedFewMax = budgets.below(5)
        let isUsual = self.evaluationNanosecondsMax == Limits.evaluationNanosecondsMax
        self.aggregatedRowsMax = isUsual ? Limits.aggregatedRowsPerTurnMax : 1 + budgets.below(40)
        self.preparedObjectsMin = budgets.oneIn(3) ? budgets.below(4) : Limits.preparedObjectsMin
        self.store = try Store(self.configuration, newHistoryID: Identifier128.random(using: &self.random))
        self.followers = ChangeFollowers(seed: seed, isSmall: isSmall)
        self.engine = try Engine(
            store: self.store,
            limits: EngineLimits(
                differenceRowsMin: self.differenceRowsMin,
                dependencyChangesMax: self.dependencyChangesMax,
                windowWorkMax: self.windowWorkMax,
                admissionWorkMax: self.admissionWorkMax,
                backgroundReadRowsMin: self.backgroundReadRowsMin,
                changePageBytes: self.followers.pageBytes,
                preparedObjectsMin: self.preparedObjectsMin,
                evaluationNanosecondsMax: self.evaluationNanosecondsMax,
                aggregatedRowsPerTurnMax: self.aggregatedRowsMax,
                aggregatedFewMax: self.aggregatedFewMax
            )
        )
        self.scene = Scene(model: self.model, naive: try NaiveResults(self.store), &self.random)
        self.scene.hasSubqueries = true
        self.check = DiffCheck(before: self.scene.naive)
        self.past[self.store.head] = self.scene.naive
        for _ in 0..<3 {
            let client = SimulatedClient(
                session: Identifier128.random(using: &self.random),
                connection: ConnectionID(0)
            )
            client.onDiff = { [unowned self] in self.check.note($0, $1, $2, $3) }
            client.namesOwnRequests = client.session.low.isMultiple(of: 2)
            self.clients.append(client)
            try self.perform([client.connect(as: self.newConnection())])
        }
    }

    var what: String { "seed \(self.seed), step \(self.step)" }

    private func newConnection() -> ConnectionID {
        defer { self.nextConnection += 1 }
        return ConnectionID(self.nextConnection)
    }

    func perform(_ inputs: [EngineInput]) throws {
        self.now += 1_000
        self.startBatch()
        if self.isWorkPending { self.check.isCatchUp = true }
        let effects = self.engine.perform(inputs + self.arrivals(), now: self.now)
        #expect(self.engine.failure == nil, "\(self.what)")
        for client in self.clients {
            for effect in effects { try client.take(effect, self.what) }
        }
        for effect in effects { try self.followers.take(effect, self.what) }
        self.noteReads(effects)
        let before = self.scene.naive
        if self.past[self.store.head] == nil {
            self.scene.naive = try NaiveResults(self.store)
            self.past[self.store.head] = self.scene.naive
        }
        self.endBatch(before)
        // Answers that wait may be older than the contents at which they arrive.
        guard self.isWorkPending else { return }
        for request in self.check.changes.keys { self.check.changes[request]!.isUncertain = true }
    }

    // MARK: Models

    /// Returns a random model without most constraints, which would only refuse writes.
    static func looseModel(_ random: inout SeededRandom) throws -> ManagedObjectModel {
        while true {
            var draft = random.modelDraft()
            for entity in draft.entities.indices {
                draft.entities[entity].root = nil
                draft.entities[entity].uniquenessConstraints = []
                for index in draft.entities[entity].attributes.indices {
                    draft.entities[entity].attributes[index].minimum = .null
                    draft.entities[entity].attributes[index].maximum = .null
                }
                for index in draft.entities[entity].relationships.indices {
                    draft.entities[entity].relationships[index].minimumCount = 0
                    draft.entities[entity].relationships[index].maximumCount = 0
                    draft.entities[entity].relationships[index].isOptional = true
                }
            }
            let hasToMany = draft.entities.contains { $0.relationships.contains { $0.isToMany } }
            let isUseful = draft.entities.contains { !$0.isAbstract && !$0.attributes.isEmpty }
            if hasToMany, isUseful, let model = try? draft.compile(), model.faults.isEmpty { return model }
        }
    }

    // MARK: A step

    func run(steps: Int) throws {
        for _ in 0..<steps {
            self.step += 1
            self.check = DiffCheck(before: self.scene.naive)
            if self.growth?.oneIn(5) == true { try self.grow() }
            switch self.random.below(26) {
            case 0..<13: try self.writeBatch()
            case 13..<17: try self.subscribeSomewhere()
            case 17, 18: try self.blockOrDrain()
            case 19: try self.reconnect()
            case 20:
                // Sometimes so late that unused results are dropped.
                if self.random.oneIn(3) { self.now += 100_000_000 }
                try self.perform([.tick])
            case 21..<25: try self.changeSomewhere()
            default: if self.random.oneIn(6) { try self.restart() }
            }
            try self.compare()
            try self.perform(self.followers.step(self.model))
            try self.settle()
        }
        self.check = DiffCheck(before: self.scene.naive)
        self.check.isCatchUp = true
        for client in self.clients where client.isBlocked { try self.perform([client.drain()]) }
        while case let inputs = self.followers.drainAll(), !inputs.isEmpty { try self.perform(inputs) }
        try self.runBacklog()
        try self.compare()
        #expect(self.followers.areAllUpToDate, "\(self.what)")
        if self.growth != nil { try self.reopen() }
        try self.engine.close()
    }

    // MARK: A model that grows

    /// A client gives the server a model that has more, between the batches of the others.
    private func grow() throws {
        guard var random = self.growth else { return }
        var draft = ModelDraft(self.model)
        random.grow(&draft, self.step)
        let isDryRun = random.oneIn(6)
        self.growth = random
        // What is too much for a model stays out.
        guard let wanted = try? draft.compile() else { return }
        let client = self.clients[self.step % self.clients.count]
        let apply = ApplyModel(wanted, isDryRun: isDryRun)
        let (id, input) = client.request(.query(apply))
        try self.perform([input])
        let hash = self.store.layout.modelHash
        if hash == self.model.hash {
            let error = client.replies[id]?.error
            if let error { #expect(error.code == .busy, "\(self.what): \(error)") }
            self.counts[isDryRun ? "tried" : "not grown", default: 0] += 1
            return
        }
        #expect(!isDryRun, "\(self.what): a dry run changed the model")
        #expect(self.store.layout.model.extends(self.model), "\(self.what)")
        for client in self.clients where !client.isBlocked {
            #expect(client.modelHash == hash, "\(self.what): a client does not know the model")
        }
        self.counts["grown", default: 0] += 1
        // What had all properties keeps those that it had, also when it scrolls.
        for (request, asked) in self.asked { self.asked[request] = asked.spelledOut(in: self.model) }
        self.model = self.store.layout.model
        self.scene.model = self.model
        self.scene.naive = try NaiveResults(self.store)
        self.past[self.store.head] = self.scene.naive
        self.check = DiffCheck(before: self.scene.naive)
        try self.compare()
    }

    /// The file has what the engine served, and passes the check of a store.
    private func reopen() throws {
        try self.engine.close()
        self.store = try Store(self.configuration, newHistoryID: Identifier128(high: 0, low: 0))
        self.engine = try Engine(store: self.store)
        #expect(self.store.layout.modelHash == self.model.hash, "\(self.what): another model after the end")
        #expect(self.store.hasKeptModel == (self.counts["grown", default: 0] > 0), "\(self.what)")
        #expect(try NaiveResults(self.store).rows == self.scene.naive.rows, "\(self.what): other rows after the end")
        let report = try self.store.reader.check(deadline: .none) { _ in }
        #expect(report.problems.isEmpty, "\(self.what): \(report.problems)")
    }

    func anyClient() -> SimulatedClient { self.clients[self.random.below(self.clients.count)] }

    private func writeBatch(without absent: SimulatedClient? = nil) throws {
        var inputs: [EngineInput] = []
        var asked: [(client: SimulatedClient, id: UInt32)] = []
        func add(_ request: EngineRequest) {
            let client = self.anyClient()
            guard client !== absent else { return }
            let (id, input) = client.request(request)
            inputs.append(input)
            asked.append((client, id))
        }
        let script = self.random.oneIn(3) ? self.random.script(self.scene) : []
        for mutations in script {
            add(.transaction(WriteTransaction(mutations: mutations)))
            if self.random.oneIn(10) { add(self.random.oneIn(2) ? .redo(key: nil) : .undo(key: nil)) }
        }
        for _ in 0..<(script.isEmpty ? [1, 1, 1, 2, 3, 5].randomElement(using: &self.random)! : 0) {
            if self.random.oneIn(6) {
                add(self.random.oneIn(2) ? .redo(key: nil) : .undo(key: nil))
            } else {
                let mutations = self.random.transaction(self.scene)
                if !mutations.isEmpty { add(.transaction(WriteTransaction(mutations: mutations))) }
            }
        }
        self.check.transactionCount += inputs.count
        if self.random.oneIn(4), let change = self.change() { inputs.append(change) }
        if self.random.oneIn(6) { inputs.append(.positionTimer) }
        try self.perform(inputs)
        for (client, id) in asked {
            switch client.replies[id] {
            case .receipt: self.done += 1
            case .failure(let error):
                self.refused += 1
                #expect(error.code != .internalError, "\(self.what): \(error)")
            default:
                #expect(client.isBlocked || self.isWorkPending, "\(self.what)")
                self.pendingWrites.append((client, client.connection, id))
            }
        }
    }

    // MARK: Clients

    private func subscribeSomewhere() throws {
        let client = self.anyClient()
        while client.subscriptions.count > 14, !client.isBlocked {
            let inputs = client.unsubscribe()
            if inputs.isEmpty { break }
            try self.perform(inputs)
        }
        // Sometimes the request of another client.
        let shared = self.random.oneIn(4) ? self.anyClient().subscriptions.keys.sorted { "\($0)" < "\($1)" } : []
        let old = shared.randomElement(using: &self.random).flatMap { self.asked[$0] }
        guard let asked = old ?? self.windowed() else { return }
        try self.subscribe(client, asked)
        // Several windows of one result.
        guard asked.window != nil, self.random.oneIn(2) else { return }
        for _ in 0..<1 + self.random.below(4) {
            var other = asked
            other.window = self.random.window(self.scene.naive.order(asked))
            try self.subscribe(self.random.oneIn(3) ? self.anyClient() : client, other)
        }
    }

    /// A client of a server whose model grows names the properties that it wants. An empty list would mean more of them
    /// when it resumes.
    func spelledOut(_ asked: ObjectFetchRequest) -> ObjectFetchRequest {
        self.growth == nil ? asked : asked.spelledOut(in: self.model)
    }

    private func subscribe(_ client: SimulatedClient, _ asked: ObjectFetchRequest) throws {
        let asked = self.spelledOut(asked)
        let request = asked.canonical(in: self.model)
        guard client.subscriptions[request] == nil, !client.pendingChanges.values.contains(where: { $0.new == request })
        else { return }
        #expect(request.canonical(in: self.model) == request, "\(self.what): \(asked)")
        for feature in Set(asked.features(self.scene.naive)) { self.counts[feature, default: 0] += 1 }
        self.asked[request] = asked
        try self.perform([client.subscribe(request)])
        #expect(
            client.isBlocked || self.isWorkPending || self.isRefused(asked)
                || client.subscriptions[request]?.state != nil,
            "\(self.what): \(request) has no state; last error: \(String(describing: client.refusal))"
        )
    }

    /// Returns a random request, mostly with a window over some rows.
    private func windowed() -> ObjectFetchRequest? {
        guard var request = self.random.request(self.scene) else { return nil }
        guard self.random.below(5) > 1 else { return request }
        for _ in 0..<3 where self.scene.naive.order(request).count < 2 {
            request = self.random.request(self.scene) ?? request
        }
        request.window = self.random.window(self.scene.naive.order(request))
        return request
    }

    private func blockOrDrain() throws {
        let client = self.anyClient()
        self.check.isCatchUp = true
        try self.perform([client.isBlocked ? client.drain() : client.block()])
    }

    private func reconnect() throws {
        let client = self.anyClient()
        self.check.isCatchUp = true
        try self.perform([.disconnected(client.connection)])
        if self.random.oneIn(2) { try self.writeBatch(without: client) }
        try self.perform([client.connect(as: self.newConnection())] + client.resumeAll())
    }

    private func restart() throws {
        try self.engine.close()
        self.check.isCatchUp = true
        self.store = try Store(self.configuration, newHistoryID: Identifier128(high: 0, low: 0))
        self.engine = try Engine(
            store: self.store,
            limits: EngineLimits(
                differenceRowsMin: self.differenceRowsMin,
                dependencyChangesMax: self.dependencyChangesMax,
                windowWorkMax: self.windowWorkMax,
                admissionWorkMax: self.admissionWorkMax,
                backgroundReadRowsMin: self.backgroundReadRowsMin,
                changePageBytes: self.followers.pageBytes,
                preparedObjectsMin: self.preparedObjectsMin,
                evaluationNanosecondsMax: self.evaluationNanosecondsMax,
                aggregatedRowsPerTurnMax: self.aggregatedRowsMax,
                aggregatedFewMax: self.aggregatedFewMax
            )
        )
        (self.reads, self.outcomes) = ([], [])
        try self.perform(self.followers.reconnectAll())
        let returns = self.clients.map { [$0.connect(as: self.newConnection())] + $0.resumeAll() }
        if self.random.oneIn(2) { return try self.perform(returns.flatMap { $0 }) }
        for inputs in returns { try self.perform(inputs) }
    }
}
