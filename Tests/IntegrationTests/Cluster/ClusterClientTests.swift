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

        /// The lead moves to a node that is named, and back when that node is drained.
        @Test func operatorsMoveTheLeadAndDrainANode() async throws {
            let servers = try await ClusterServers.started(2)
            var addresses: [String] = []
            for node in servers.nodes { addresses.append(await node.address) }
            let list = addresses.joined(separator: ",")
            let user = CommandLineUser(server: list, directory: servers.nodes[0].directory)
            // A node may not know at once that the other one is alive.
            func cluster(_ arguments: String...) async throws -> CommandLineUser.Result {
                try await waitFor("nestc cluster \(arguments)") {
                    let result = try await user.run(["cluster"] + arguments)
                    return result.status == 75 || result.errors.contains("CONFLICT") ? nil : result
                }
            }
            let former = try await servers.leader() == 0 ? "a" : "b"
            let target = former == "a" ? "b" : "a"
            let moved = try await cluster("move-leader", target)
            #expect(moved.status == 0, "\(moved.report)")
            #expect(moved.output.hasPrefix("\(target) leads"), "\(moved.report)")
            let again = try await cluster("move-leader", target, "--json")
            #expect(again.output.contains(#""leader":"\#(target)""#) && again.output.contains(#""former":null"#))
            let unknown = try await user.run("cluster", "move-leader", "x")
            #expect(unknown.status == 1 && unknown.errors.contains("has no node 'x', but a, b"), "\(unknown.report)")

            let drained = try await cluster("drain", target)
            #expect(
                drained.status == 0 && drained.output == "\(target) is drained; \(former) leads\n",
                "\(drained.report)"
            )
            let address = addresses[target == "a" ? 0 : 1]
            let status = try await user.run("cluster", "status", "--json", "--server", address)
            #expect(status.output.contains(#""drained":true"#), "\(status.report)")
            // Commands with the list go to the other node.
            for _ in 0..<4 { try await user.output("ls") }
            let ended = try await cluster("drain", target, "--end", "--json")
            #expect(ended.output.contains(#""drained":false"#), "\(ended.report)")
            let served = try await user.run("ls", "--newest", "--server", address)
            #expect(served.status == 0, "\(served.report)")
            for node in servers.nodes { try await node.terminate() }
        }

        /// A drained node sends clients on, also those whose command is a transfer. Each command begins at a node of
        /// the list at random.
        @Test func transfersBeginAtANodeThatIsNotDrained() async throws {
            let servers = try await ClusterServers.started()
            var addresses: [String] = []
            for node in servers.nodes { addresses.append(await node.address) }
            let list = addresses.joined(separator: ",")
            let user = CommandLineUser(server: list, directory: servers.nodes[0].directory)
            _ = try await waitFor("a drained node") {
                try await user.run("cluster", "drain", "c").status == 0 ? true : nil
            }
            // One of three begins at the drained node: all twelve begin elsewhere once in 130 times.
            for turn in 0..<12 {
                let imported = try await user.run("import", "-", "--format", "text", input: "\(turn)\n")
                #expect(imported.status == 0, "\(imported.report)")
                for command in ["tree", "export"] {
                    let result = try await user.run(command)
                    #expect(result.status == 0, "\(result.report)")
                }
            }
            for node in servers.nodes { try await node.terminate() }
        }
    }
}
