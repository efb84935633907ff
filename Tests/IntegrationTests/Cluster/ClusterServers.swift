import NestClient
import NestTestSupport

/// The nodes of a cluster, each a process with a store of its own, and the PostgreSQL that has their log.
struct ClusterServers {
    let postgres: PostgresServer
    let nodes: [ServerProcess]
    private static let names = ["a", "b", "c", "d", "e"]

    /// Starts PostgreSQL, creates the built-in model's store in it, and starts the nodes.
    static func started(_ count: Int = 3) async throws -> ClusterServers {
        let postgres = try await PostgresServer.started()
        let made = try ChildProcess(Program.nestd, ["cluster", "init", "--log", postgres.url])
        try await made.wait(forEnd: .exit(0))
        let nodes = Self.names.prefix(count).map { name in
            ServerProcess(storeName: "\(name).sqlite", arguments: ["--log", postgres.url, "--node", name])
        }
        let cluster = ClusterServers(postgres: postgres, nodes: nodes)
        for node in nodes { try await node.start() }
        _ = try await cluster.leader()
        return cluster
    }

    /// Waits until a node leads, and returns its index. A node that was killed a moment ago may still be named.
    func leader() async throws -> Int {
        try await waitFor("a leader") {
            let name = try await self.postgres.sql(
                "SELECT n.name FROM nest.store s JOIN nest.node n ON n.node = s.leader"
            )
            return Self.names.firstIndex(of: name)
        }
    }

    /// Waits until all stores are at one position of the log, and returns the contents of each store at it.
    func equalPositions() async throws -> [[String: [String]]] {
        try await StoreDump.atOnePosition(self.nodes.map(\.storePath))
    }
}
