import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// nestc with a list of addresses, at the nodes of a cluster.
    @Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing")) struct ClusterClientTests {
        /// Returns the index of the only node with a client of this name.
        private static func node(of name: String, _ nodes: [ServerProcess]) async throws -> Int {
            try await waitFor("the node of \(name)") {
                for (index, node) in nodes.enumerated() {
                    let client = NestClient(await node.configuration())
                    let clients = (try? await client.clients()) ?? []
                    await client.close()
                    if clients.contains(where: { $0.name == name }) { return index }
                }
                return nil
            }
        }

        /// The node of a subscription is killed, twice, once in any case the leader's. Its rows go on from another
        /// node: the difference only, and no error.
        @Test func aSubscriptionGoesOnAtAnotherNode() async throws {
            let cluster = try await ClusterServers.started()
            var addresses: [String] = []
            for node in cluster.nodes { addresses.append(await node.address) }
            let list = addresses.joined(separator: ",")
            let user = CommandLineUser(server: list, directory: cluster.nodes[0].directory)
            func add(_ title: String) async throws {
                _ = try await waitFor("a node that takes \(title)") {
                    try await user.run("add", title).status == 0 ? true : nil
                }
            }
            try await add("one")
            let subscriber = try user.start("subscribe", "--json")
            _ = try await subscriber.lines(atLeast: 1)
            for title in ["two", "three"] {
                let index = try await Self.node(of: "nestc", cluster.nodes)
                try await cluster.nodes[index].killNow()
                try await add(title)
                _ = try await waitFor("a row \(title)") {
                    try await subscriber.lines(atLeast: 1).contains { $0.contains("\"\(title)\"") } ? true : nil
                }
                try await cluster.nodes[index].start()
                try await cluster.nodes[index].shows(title == "two" ? ["one", "two"] : ["one", "two", "three"])
            }
            let lines = try await subscriber.lines(atLeast: 1)
            let events = lines.compactMap { $0.firstMatch(of: /"event":"([a-z]+)"/)?.1 }
            #expect(events.count { $0 == "snapshot" } == 1 && !events.contains("reset"), "\(lines)")
            #expect(events.count { $0 == "disconnected" } >= 2 && events.count { $0 == "resumed" } >= 2, "\(lines)")
            #expect(subscriber.errors == "")
            await subscriber.send(signal: 2)
            try await subscriber.wait(forEnd: .exit(130))
            for node in cluster.nodes { try await node.terminate() }
        }
    }
}
