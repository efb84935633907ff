import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// Two nodes of a cluster whose log works; the first one leads.
final class ReplicaFixture {
    private let directory = TemporaryDirectory(inMemory: true)
    let log: SimulatedLog
    private(set) var nodes: [SimulatedNode] = []
    private var clients: [(node: SimulatedNode, client: SimulatedClient)] = []
    private(set) var effects: [EngineEffect] = []
    /// The records that the leader has reported since `startCollecting`.
    private(set) var collected: [LogEntry] = []
    private var isCollecting = false
    /// The requests that were answered since `startOrdering`, in this order.
    private(set) var answered: [UInt32] = []
    private var nextConnection: UInt64 = 1

    var leader: SimulatedNode { self.nodes[0] }
    var follower: SimulatedNode { self.nodes[1] }

    /// `hasValues`: whether items have a large value.
    init(hasValues: Bool = false) throws {
        self.log = SimulatedLog(isReplicated: true, nil, hasValues: hasValues)
        for index in 0..<2 {
            let node = try SimulatedNode(
                index,
                path: "\(self.directory.path)/\(index).sqlite",
                self.log,
                SeededRandom(seed: UInt64(index))
            )
            node.isFaulty = false
            node.deliver = { [unowned self] node, effects in
                self.effects += effects
                for case .reply(_, let id, _) in effects { self.answered.append(id) }
                if self.isCollecting {
                    for case .replica(.appended(let entry)) in effects { self.collected.append(entry) }
                }
                for (place, client) in self.clients where place === node {
                    for effect in effects { try client.take(effect, "replica") }
                }
            }
            self.nodes.append(node)
        }
        // The first node claims before the second one looks.
        for _ in 0..<200 where !self.leader.engine!.isLeading { try self.advance(self.leader) }
        try self.run()
    }

    private func advance(_ node: SimulatedNode) throws {
        self.log.now += 2
        try node.step()
    }

    /// Lets the nodes work for a while.
    func run(turns: Int = 30) throws {
        for _ in 0..<turns {
            for node in self.nodes where node.isUp { try self.advance(node) }
        }
        try #require(self.log.violations.isEmpty, "\(self.log.violations)")
    }

    func startOrdering() { self.answered = [] }

    func clearEffects() { self.effects = [] }

    /// Connects a client to another node, and resumes its subscriptions there.
    func move(_ client: SimulatedClient, to node: SimulatedNode) throws {
        guard let index = self.clients.firstIndex(where: { $0.client === client }) else { return }
        try self.clients[index].node.perform([.disconnected(client.connection)])
        self.clients[index].node = node
        defer { self.nextConnection += 1 }
        try node.perform([client.connect(as: ConnectionID(self.nextConnection))] + client.resumeAll())
    }

    func startCollecting() {
        self.collected = []
        self.isCollecting = true
    }

    func connect(session: UInt64, to node: SimulatedNode, user: UserLabel? = nil) throws -> SimulatedClient {
        let client = SimulatedClient(session: Identifier128(high: 7, low: session), connection: ConnectionID(0))
        client.user = user
        self.clients.append((node, client))
        defer { self.nextConnection += 1 }
        try node.perform([client.connect(as: ConnectionID(self.nextConnection))])
        return client
    }

    private func node(of client: SimulatedClient) -> SimulatedNode { self.clients.first { $0.client === client }!.node }

    /// Sends a request, and returns the answer if there is one at once.
    func send(_ client: SimulatedClient, _ request: EngineRequest) throws -> (id: UInt32, reply: EngineReply?) {
        let (id, input) = client.request(request)
        self.effects = []
        try self.node(of: client).perform([input])
        return (id, client.replies[id])
    }

    func forgetEffects() { self.effects = [] }

    /// Carries requests, answers and records between the follower and its leader until nothing is left of one write.
    func exchange() throws {
        for _ in 0..<2 {
            try self.follower.link.exchange()
            try self.stream()
        }
    }

    /// Gives the follower the records that it lacks, as a link does.
    func stream() throws {
        let position = self.follower.store!.logState!.position.position
        try self.follower.perform([.log(.entries(self.log.entries(after: position)))])
    }

    func importing(_ title: String) throws -> EngineRequest {
        try EngineFixture.importing([(0, title)], directory: self.directory.path)
    }

    func insert(_ title: String, key: Identifier128? = nil) -> EngineRequest {
        .transaction(WriteTransaction(key: key, mutations: [EngineFixture.insert(title)]))
    }
}
