import Foundation
import NIOConcurrencyHelpers
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Clients of followers: their writes go to the leader, and they notice nothing of it.
    @Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing")) struct ClusterForwardingTests {
        /// A client that stays at its node, with a session of its own.
        private static func client(_ node: ServerProcess, _ session: UInt64 = 1) async -> NestClient {
            var configuration = await node.configuration(session: Identifier128(high: 9, low: session))
            configuration.followsLeader = false
            return NestClient(configuration)
        }

        private static func titles(_ client: NestClient) async throws -> [String] {
            try await client.fetch(Item.childrenOf(Item.root)).titles.values.sorted()
        }

        private static func insert(_ title: String) -> WriteTransaction {
            WriteTransaction(mutations: [Item.insert(title, under: Item.root)])
        }

        private static let importRequest = SubtreeImport(
            entity: Item.entity,
            placement: Placement(relationship: Item.parent, owner: .object(Item.root), place: .last),
            properties: [Item.title]
        )

        /// The nodes of a cluster, with the name of the one that leads.
        private static func started(_ names: [String]) async throws -> (ClusterWorld, [String: ServerProcess], String) {
            let world = try await ClusterWorld.begun()
            var nodes: [String: ServerProcess] = [:]
            for name in names { nodes[name] = try await world.started(name) }
            let leader = try await world.leader()
            for (name, node) in nodes where name != leader { try await node.log(contains: "cluster.link_up") }
            return (world, nodes, leader)
        }

        /// Every kind of write at a follower; each is there when it is answered.
        @Test func aClientOfAFollowerWritesAndReadsItsWrites() async throws {
            let (_, nodes, leading) = try await Self.started(["a", "b"])
            let leader = try #require(nodes[leading])
            let follower = try #require(nodes[leading == "a" ? "b" : "a"])
            let client = await Self.client(follower)

            let first = try await client.transaction(Self.insert("one"))
            #expect(try await Self.titles(client) == ["one"])
            // A pipelined read sees the write before it.
            async let second = client.transaction(Self.insert("two"))
            async let seen = Self.titles(client)
            #expect(try await second.revision > first.revision)
            _ = try await seen
            #expect(try await Self.titles(client) == ["one", "two"])
            _ = try await client.undo()
            #expect(try await Self.titles(client) == ["one"])
            _ = try await client.redo()
            #expect(try await Self.titles(client) == ["one", "two"])
            _ = try await client.revert(first.revision)
            #expect(try await Self.titles(client) == ["two"])

            try await client.group("both") { client in
                _ = try await client.transaction(Self.insert("three"))
                #expect(try await Self.titles(client) == ["three", "two"])
                _ = try await client.transaction(Self.insert("four"))
            }
            #expect(try await Self.titles(client) == ["four", "three", "two"])
            #expect(try await client.undo().name == "both")
            #expect(try await Self.titles(client) == ["two"])

            // Larger than the credit that the leader gives at first.
            let rows = (0..<30).map { number in
                SubtreeRow(
                    depth: number % 3,
                    id: nil,
                    values: [.string(String(repeating: "\(number % 10)", count: 60_000))]
                )
            }
            var waiting = rows[...]
            let imported = try await client.importSubtree(Self.importRequest) {
                defer { waiting = waiting.dropFirst(4) }
                return waiting.isEmpty ? nil : Array(waiting.prefix(4))
            }
            #expect(imported.revision > first.revision)
            #expect(try await Self.titles(client).count == 11)
            // What is refused is refused as at the leader.
            let error = await refusal {
                _ = try await client.transaction(WriteTransaction(mutations: [.delete(.object(ObjectID(4_711)))]))
            }
            #expect(error?.code == .notFound, "\(error as Any)")

            let key = Identifier128(high: 5, low: 5)
            var keyed = Self.insert("keyed")
            keyed.key = key
            let executed = try await client.transaction(keyed)
            let other = await Self.client(leader)
            let replayed = try await other.transaction(keyed)
            #expect(replayed.isReplayed && replayed.revision == executed.revision)

            // From now on a client needs a token.
            let token = try await client.createToken(TokenGrant(name: "operator", role: .admin))
            for node in [follower, leader] {
                var configuration = await node.configuration(session: Identifier128(high: 9, low: 2))
                configuration.token = token
                configuration.followsLeader = false
                let known = NestClient(configuration)
                #expect(try await known.tokens().map(\.grant.name) == ["operator"])
                _ = try await known.transaction(Self.insert("with a token"))
                await known.close()
            }
            for client in [client, other] { await client.close() }
            for node in nodes.values { try await node.terminate() }
        }

        /// Clients of the other nodes notice the death of the leader by time alone; each write is there once. A group
        /// ends with the leader that had it.
        @Test func theDeathOfTheLeaderCostsClientsOfOthersNoError() async throws {
            let (world, nodes, leading) = try await Self.started(["a", "b", "c"])
            let others = nodes.filter { $0.key != leading }.sorted { $0.key < $1.key }.map(\.value)
            let grouped = await Self.client(others[0], 50)
            try await grouped.beginGroup("lost")
            _ = try await grouped.transaction(Self.insert("in the group"))

            let progress = ProgressCounter()
            let isOver = NIOLockedValueBox(false)
            var writers: [Task<[String], any Error>] = []
            for number in 0..<6 {
                let client = await Self.client(others[number % 2], 100 + UInt64(number))
                writers.append(
                    Task {
                        var titles: [String] = []
                        while !isOver.withLockedValue({ $0 }) {
                            let title = "w\(number)-\(titles.count)"
                            titles.append(title)
                            _ = try await client.transaction(Self.insert(title))
                            await progress.add(1)
                        }
                        await client.close()
                        return titles
                    }
                )
            }
            try await progress.wait(for: 60)
            try await #require(nodes[leading]).killNow()
            try await progress.wait(for: await progress.count + 60)
            try await world.leader(after: leading)

            let error = await refusal { _ = try await grouped.transaction(Self.insert("behind the group")) }
            #expect(error?.code == .notFound && error?.message.contains("leader") == true, "\(error as Any)")
            _ = try await grouped.transaction(Self.insert("after the group"))
            await grouped.close()

            var expected = ["after the group", "in the group"]
            isOver.withLockedValue { $0 = true }
            for writer in writers { expected += try await writer.value }
            try await #require(nodes[leading]).start()
            for node in nodes.values { try await node.shows(expected) }
            for node in nodes.values { try await node.terminate() }
        }

        /// A follower that cannot reach the leader reads the log, and refuses writes after a while with what to do.
        @Test func aFollowerWithoutALinkReadsTheLog() async throws {
            let world = try await ClusterWorld.begun()
            // An address where nothing listens.
            let leader = world.node("a", "--advertise", "127.0.0.1:1")
            try await leader.start()
            try await world.leader()
            let follower = try await world.started("b")
            try await follower.log(contains: "cluster.link_down")
            try await leader.insert("one")
            try await follower.shows(["one"])
            // The library does not send an import again.
            let client = await Self.client(follower)
            var rows = [SubtreeRow(depth: 0, id: nil, values: [.string("never")])]
            let error = await refusal {
                _ = try await client.importSubtree(Self.importRequest) {
                    defer { rows = [] }
                    return rows.isEmpty ? nil : rows
                }
            }
            #expect(error?.code == .logUnavailable, "\(error as Any)")
            #expect(try await Self.titles(client) == ["one"])
            await client.close()
            for node in [follower, leader] { try await node.terminate() }
        }
    }
}
