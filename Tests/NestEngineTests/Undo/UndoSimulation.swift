import Foundation
import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// A random history of undo. Several sessions write, group, undo, redo and revert, on a random model or on one with
/// every kind of relationship, and the engine is sometimes restarted. After every batch the store, the answers and the
/// undo stacks of all sessions are compared with an oracle that was written from protocol.md.
final class UndoSimulation {
    /// Engine and oracle disagree. The recorded issue has the details.
    struct Disagreement: Error {}

    /// A session with its connections.
    final class User {
        let session: Identifier128
        /// The key of the session's stacks in the oracle.
        let id: Int
        /// The public session number. It may change until the session has written.
        var number: UInt64 = 0
        var clients: [SimulatedClient] = []

        init(session: Identifier128, id: Int) {
            self.session = session
            self.id = id
        }
    }

    let seed: UInt64
    var random: SeededRandom
    let draft: ModelDraft
    let model: ManagedObjectModel
    private let directory = TemporaryDirectory()
    var directoryPath: String { self.directory.path }
    private let configuration: Store.Configuration
    private(set) var store: Store
    private(set) var engine: Engine
    let file: StoredFile
    private let invariants: StoredInvariants
    private(set) var users: [User] = []
    private var nextConnection: UInt64 = 1
    /// The client that has no connection at the moment.
    private var absent: SimulatedClient?
    var now: Int64 = 1_000_000_000
    private(set) var step = 0
    var oracle: UndoOracle
    /// The contents of the store.
    private(set) var state: StoredState
    /// The undo state of each connection, as of its last request.
    private(set) var undoStates: [ConnectionID: UndoState] = [:]
    /// The answered requests with a key.
    var answers: [(session: Identifier128, request: EngineRequest, receipt: Receipt)] = []
    /// The first revision of an undo entry, by the entry's later revisions.
    var firsts: [Revision: Revision] = [:]
    var counts = Counts()
    /// The answer to the last undo, redo or revert.
    var lastAnswer: EngineReply?
    /// The events of the step, for messages.
    var story: [String] = []
    private var past: [String] = []
    private let isTraced = ProcessInfo.processInfo.environment["NEST_SEED"] != nil

    /// How often the history has reached the cases that the tests are for.
    struct Counts {
        var taken = 0
        var refused: [ErrorCode: Int] = [:]
        var conflicts: [UndoConflict.Reason: Int] = [:]
        var blocked = 0
        var open = 0
        var several = 0
        var restarts = 0
        var replays = 0
        var wholes = 0
        var previews = 0
    }

    init(seed: UInt64) throws {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        switch seed % 8 {
        case 0, 2, 4: self.draft = .orchard
        case 1: self.draft = .club
        default: self.draft = random.smallModelDraft()
        }
        self.model = seed % 8 == 3 ? .nestedList : try self.draft.compile()
        var configuration = Store.Configuration(
            location: .file(self.directory.path + "/nest.sqlite"),
            model: self.model
        )
        // Either small limits, so that changes are streamed and rows are renumbered often, or a server's.
        if !seed.isMultiple(of: 5) {
            configuration.streamedFrom = random.below(5)
            configuration.bulkObjectsInMemoryMax = configuration.streamedFrom
            configuration.inlineBytesMax = random.below(400)
            configuration.orderStep = Int64(random.below(4) + 2)
        }
        // The store keeps counts of relationships from this size.
        configuration.countedFrom = 1 + random.below(3)
        self.configuration = configuration
        self.store = try Store(configuration, newHistoryID: Identifier128.random(using: &random))
        self.engine = try Engine(store: self.store)
        self.file = try StoredFile(self.store.path)
        self.invariants = StoredInvariants(self.store.layout)
        self.state = try StoredState(self.store.layout, self.file)
        self.oracle = UndoOracle(graph: self.state.graph, marks: PlacementMarks(self.state))
        self.random = random
        for id in 0..<(2 + self.random.below(3)) {
            let user = User(session: Identifier128.random(using: &self.random), id: id)
            self.oracle.stacks[id] = NaiveUndoStacks()
            for _ in 0..<(1 + self.random.below(2)) {
                let client = SimulatedClient(session: user.session, connection: ConnectionID(0))
                client.namesOwnRequests = (id + user.clients.count).isMultiple(of: 2)
                user.clients.append(client)
            }
            self.users.append(user)
        }
        try self.connectAll()
    }

    var what: String { "NEST_SEED=\(self.seed), step \(self.step)" }

    func fail(_ text: String) -> Disagreement {
        let names: [UInt64: String] = [0: "orchard", 2: "orchard", 4: "orchard", 1: "club", 3: "nested list"]
        let model = names[self.seed % 8].map { "'\($0)'" } ?? "\n    \(self.draft.brief)"
        let story = (self.isTraced ? self.past : []) + self.story
        Issue.record(
            "\(self.what): \(text)\n  after\n    \(story.joined(separator: "\n    "))\n  of the model \(model)"
        )
        return Disagreement()
    }

    func expect(_ condition: Bool, _ text: @autoclosure () -> String) throws {
        if !condition { throw self.fail(text()) }
    }

    // MARK: Inputs

    func perform(_ inputs: [EngineInput]) throws {
        self.now += 1_000
        let effects = self.engine.perform(inputs, now: self.now)
        try self.expect(self.engine.failure == nil, "the engine has failed: \(String(describing: self.engine.failure))")
        for effect in effects {
            if case .welcome(let id, let welcome) = effect {
                for user in self.users where user.clients.contains(where: { $0.connection == id }) {
                    user.number = welcome.sessionNumber
                }
            }
            for user in self.users {
                for client in user.clients { try client.take(effect, self.what) }
            }
        }
    }

    func ask(_ client: SimulatedClient, _ request: EngineRequest) throws -> EngineReply {
        let (id, input) = client.request(request)
        try self.perform([input])
        guard let reply = client.replies[id] else { throw self.fail("no answer to \(request)") }
        return reply
    }

    private func newConnection() -> ConnectionID {
        defer { self.nextConnection += 1 }
        return ConnectionID(self.nextConnection)
    }

    func connect(_ client: SimulatedClient) throws {
        try self.perform([client.connect(as: self.newConnection())])
        try self.perform(client.resumeAll())
        self.undoStates[client.connection] = nil
    }

    private func connectAll() throws {
        for user in self.users {
            for client in user.clients { try self.connect(client) }
        }
        try self.checkUndoStates()
    }

    func anyUser() -> User { self.users[self.random.below(self.users.count)] }

    func anyClient(of user: User) -> SimulatedClient { user.clients[self.random.below(user.clients.count)] }

    // MARK: Steps

    func run(steps: Int) throws {
        try self.insertTree()
        for _ in 0..<steps {
            self.step += 1
            if self.isTraced { self.past += ["step \(self.step - 1)"] + self.story }
            self.story = []
            switch self.random.below(40) {
            case 0..<12: try self.writeBatch()
            case 12..<20: try self.makeConflictingWrites()
            case 20..<30: try self.takeBackOne(of: nil)
            case 30..<32: try self.undoAndRedoSeveral()
            case 32..<35: try self.beginOrEndGroup()
            case 35: try self.letTimePass()
            case 36: try self.reconnect()
            case 37: try self.subscribeSomewhere()
            case 38: try self.importSomething()
            default: if self.random.oneIn(3) { try self.restart() }
            }
            if self.step.isMultiple(of: 6) { try self.checkInvariants() }
            if self.step.isMultiple(of: 9) { try self.checkHistory() }
        }
        try self.checkInvariants()
        try self.checkHistory()
        try self.engine.close()
    }

    private func letTimePass() throws {
        // Some shorter and some longer than the timeout of a group.
        self.now += [10_000, 2_000_000, 200_000_000, 302_000_000][self.random.below(4)]
        self.story.append("time passes")
        try self.perform([.tick])
        for number in self.oracle.stacks.keys { self.oracle.stacks[number]!.timeOut(now: self.now) }
        try self.checkUndoStates()
    }

    private func reconnect() throws {
        let user = self.anyUser()
        let client = self.anyClient(of: user)
        self.story.append("\(client.connection) is lost")
        try self.perform([.disconnected(client.connection)])
        self.oracle.stacks[user.id]!.leave(client.connection.rawValue)
        self.absent = client
        if self.random.oneIn(3) { try self.writeBatch(without: client) }
        self.absent = nil
        try self.connect(client)
        try self.checkUndoStates()
    }

    private func restart() throws {
        self.counts.restarts += 1
        self.story.append("restart")
        try self.engine.close()
        self.store = try Store(self.configuration, newHistoryID: Identifier128(high: 0, low: 0))
        self.engine = try Engine(store: self.store)
        for number in self.oracle.stacks.keys { self.oracle.stacks[number]!.restart() }
        try self.connectAll()
        try self.checkStored()
    }

    private func subscribeSomewhere() throws {
        let client = self.anyClient(of: self.anyUser())
        let entity = self.model.entities[self.random.below(self.model.entities.count)]
        var request = ObjectFetchRequest(entity: entity.number)
        let owner = self.oracle.graph.ids(of: entity.number).randomElement(using: &self.random)
        let lists = entity.relationships.filter(\.isToMany)
        if let owner, let list = lists.randomElement(using: &self.random), self.random.oneIn(2) {
            request = ObjectFetchRequest(
                entity: list.destination,
                source: FetchSource(object: owner, relationship: list.number)
            )
        }
        guard client.subscriptions[request] == nil, client.subscriptions.count < 6 else { return }
        try self.perform([client.subscribe(request)])
        try self.checkSubscriptions()
    }

    // MARK: After each batch

    /// Checks that the store has every list and value that the oracle predicts, and sets the oracle to the stored
    /// state. `base`: the revision before the batch. `isOrdered`: whether positions are compared too; after an undo
    /// some are not specified.
    func look(since base: Revision, isOrdered: Bool) throws {
        let state = try StoredState(self.store.layout, self.file)
        let graph = state.graph
        if !self.oracle.isUncertain {
            let expected = isOrdered ? self.oracle.graph : self.oracle.graph.unordered
            let found = isOrdered ? graph : graph.unordered
            try self.expect(
                found == expected,
                "the store (first) is not as predicted: \(found.differences(from: expected).joined(separator: "; "))"
            )
        }
        try self.expect(self.store.head == self.oracle.head, "the head is \(self.store.head), not \(self.oracle.head)")
        if base == self.oracle.head {
            try self.expect(
                state == self.state,
                "rows changed without a new revision: \(state.differences(from: self.state).joined(separator: "; "))"
            )
        }
        self.oracle.see(graph, PlacementMarks(state), since: base)
        self.state = state
        try self.checkUndoStates()
        try self.checkSubscriptions()
        try self.checkCounts()
    }

    func storedGraph() throws -> NaiveGraph { try StoredState(self.store.layout, self.file).graph }

    func checkStored() throws {
        let state = try StoredState(self.store.layout, self.file)
        try self.expect(
            state == self.state,
            "the store has changed: \(state.differences(from: self.state).joined(separator: "; "))"
        )
    }

    /// Checks the stacks, names and groups of all clients, and the pushes to followers.
    func checkUndoStates() throws {
        for user in self.users {
            for (index, client) in user.clients.enumerated() where client !== self.absent {
                let pushed = client.undoState
                let reply = try self.ask(client, .undoState(follows: index == 0))
                guard case .undoState(let state) = reply else { throw self.fail("no undo state: \(reply)") }
                let expected = self.oracle.stacks[user.id]!.state(of: client.connection.rawValue)
                try self.expect(
                    state == expected,
                    "the undo state of session \(user.number), \(client.connection), is\n\(state), not\n\(expected)"
                )
                // A follower must have received the change as a push.
                if index == 0, let last = self.undoStates[client.connection], last != state {
                    try self.expect(
                        pushed == state,
                        "\(client.connection) received \(String(describing: pushed)), not \(state)"
                    )
                }
                self.undoStates[client.connection] = state
            }
        }
    }

    /// Checks the relationship counts of a few objects.
    private func checkCounts() throws {
        guard let client = self.users.lazy.flatMap(\.clients).first(where: { $0 !== self.absent }) else { return }
        let graph = self.state.graph
        let ids = graph.objects.keys.sorted()
        for _ in 0..<min(4, ids.count) {
            let id = ids[self.random.below(ids.count)]
            guard case .object(let body) = try self.ask(client, .object(id)) else {
                throw self.fail("no answer for \(id)")
            }
            let detail = try body.decoded()
            let stored = try self.store.access { try self.store.detail(id) }
            try self.expect(detail == stored, "\(id) is \(detail), not \(String(describing: stored))")
            for (property, count) in detail.counts {
                let expected = graph.related(id, property).count
                try self.expect(count == expected, "\(id) has \(count) objects in \(property), not \(expected)")
            }
        }
    }

    private func checkInvariants() throws {
        let broken = try self.invariants.broken(in: self.file, head: self.store.head)
        try self.expect(broken.isEmpty, broken.joined(separator: "; "))
    }

    private func checkSubscriptions() throws {
        let graph = self.oracle.graph
        for user in self.users {
            for client in user.clients where client !== self.absent {
                for (request, subscription) in client.subscriptions {
                    guard let state = subscription.state else { throw self.fail("no state for \(request)") }
                    let ids = request.source.map { graph.related($0.object, $0.relationship) }
                    let rows = (ids ?? graph.ids(of: request.entity)).map { id -> Row in
                        let entity = AttributeValue.integer(Int64(graph.objects[id]!.entity.rawValue))
                        return Row(
                            id: id,
                            values: subscription.projection.map { $0 == .entity ? entity : graph.value(id, $0) }
                        )
                    }
                    let held = state.sections.flatMap(\.rows)
                    try self.expect(held == rows, "the subscription to \(request) holds \(held), not \(rows)")
                }
            }
        }
    }
}
