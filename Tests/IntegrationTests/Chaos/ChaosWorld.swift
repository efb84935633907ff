import ChaosProxy
import NestClient
import NestModel
import NestTestSupport

/// The servers of a run: one nestd, or the nodes of a cluster with their PostgreSQL, and the networks between clients,
/// nodes and PostgreSQL.
struct ChaosWorld: Sendable {
    struct Node: Sendable {
        let server: ServerProcess
        /// The network before the address that the node advertises; `nil` for a single server.
        var peers: ChaosProxy?
        /// The network between the node and PostgreSQL; `nil` for a single server.
        var log: ChaosProxy?
        /// The networks of the clients. The first two have random faults. The third stalls so long that the server's
        /// buffers fill and it must compute net diffs.
        var networks: [ChaosProxy] = []
    }

    /// The number of the slow network.
    static let slow = 2
    static let reconnectPauseMax = Duration.milliseconds(300)
    private static let names = ["a", "b", "c", "d", "e"]

    let postgres: PostgresServer?
    private(set) var nodes: [Node]
    private var plans: [ProxyPlan]

    /// Starts `count` servers; more than one make a cluster.
    static func started(_ count: Int, seed: UInt64) async throws -> ChaosWorld {
        var world = try await ChaosWorld(count, seed: seed)
        for index in world.nodes.indices {
            let server = world.nodes[index].server
            try await server.start()
            let address = ChaosProxy.Address(port: await server.port)
            await world.nodes[index].peers?.forward(to: address)
            for (number, plan) in world.plans.enumerated() {
                let own = seed << 4 | UInt64(index * world.plans.count + number)
                world.nodes[index].networks.append(try await ChaosProxy.start(to: address, plan: plan, seed: own))
            }
        }
        return world
    }

    private init(_ count: Int, seed: UInt64) async throws {
        self.plans = (0..<2).map { ProxyPlan.random(seed: seed << 8 | $0) }
        self.plans.append(try ProxyPlan(script: "2s calm, 3s stall to-client"))
        guard count > 1 else {
            self.postgres = nil
            self.nodes = [Node(server: ServerProcess())]
            return
        }
        let postgres = try await PostgresServer.started(isInMemory: true)
        let made = try ChildProcess(Program.nestd, ["cluster", "init", "--log", postgres.url])
        try await made.wait(forEnd: .exit(0))
        self.postgres = postgres
        self.nodes = []
        for (index, name) in Self.names.prefix(count).enumerated() {
            let log = try await ChaosProxy.start(to: .init(port: postgres.port), seed: seed << 4 | UInt64(index))
            // The node's address is known when it runs.
            let peers = try await ChaosProxy.start(to: .init(port: 0), seed: seed << 4 | UInt64(index))
            let url = "postgres://postgres@127.0.0.1:\(await log.port)/postgres"
            let advertised = "127.0.0.1:\(await peers.port)"
            let server = ServerProcess(
                storeName: "\(name).sqlite",
                arguments: ["--log", url, "--node", name, "--advertise", advertised]
            )
            self.nodes.append(Node(server: server, peers: peers, log: log))
        }
    }

    // MARK: Clients

    /// Returns the settings of a client behind a network; `nil`, or a number that no network has: with direct
    /// connections. The client knows all servers, and begins at a random one.
    func configuration(network: Int?, session: Identifier128) async -> ClientConfiguration {
        var configuration = await self.nodes[0].server.configuration(session: session, requestTimeout: .seconds(4))
        configuration.connectTimeout = .seconds(2)
        configuration.reconnectPauseMax = Self.reconnectPauseMax
        configuration.endpoints = []
        for node in self.nodes {
            let proxy = network.flatMap { node.networks.indices.contains($0) ? node.networks[$0] : nil }
            let port = if let proxy { await proxy.port } else { await node.server.port }
            configuration.endpoints.append(ServerAddress(host: "127.0.0.1", port: port))
        }
        return configuration
    }

    // MARK: Faults

    /// Begins the faults of the clients' networks.
    func trouble() async {
        for node in self.nodes {
            for (proxy, plan) in zip(node.networks, self.plans) { await proxy.follow(plan) }
        }
    }

    /// Ends the faults of all networks.
    func calm() async {
        for node in self.nodes {
            for proxy in node.networks + [node.peers, node.log].compactMap({ $0 }) { await proxy.follow(.fixed(.none)) }
        }
    }

    /// Kills all servers, as when the power fails, and starts them again.
    func restart() async throws {
        for node in self.nodes { try await node.server.killNow() }
        for node in self.nodes { try await node.server.start() }
    }

    func stop() async {
        for node in self.nodes {
            for proxy in node.networks + [node.peers, node.log].compactMap({ $0 }) { await proxy.stop() }
        }
    }
}
