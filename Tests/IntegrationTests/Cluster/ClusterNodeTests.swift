import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Nodes of a cluster as processes, on a real PostgreSQL.
    @Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing")) struct ClusterNodeTests {
        /// What the leader acknowledged is at every node, and stays when it is killed. A node that is stopped gives up
        /// the lead at once.
        @Test func anotherNodeLeadsAfterAKillAndAfterAStop() async throws {
            let world = try await ClusterWorld.begun()
            var nodes: [String: ServerProcess] = [:]
            for name in ["a", "b", "c"] { nodes[name] = try await world.started(name) }
            let first = try await world.leader()
            let leader = try #require(nodes[first])
            try await leader.insert("one")
            for node in nodes.values { try await node.shows(["one"]) }

            try await leader.killNow()
            let second = try await world.leader(after: first)
            try await #require(nodes[second]).insert("two")
            try await leader.start()
            for node in nodes.values { try await node.shows(["one", "two"]) }

            try await #require(nodes[second]).terminate()
            let third = try await world.leader(after: second)
            try await #require(nodes[third]).insert("three")
            nodes[second] = nil
            for node in nodes.values { try await node.shows(["one", "three", "two"]) }
            for node in nodes.values { try await node.terminate() }
        }

        /// Whether this build has failpoints. Release builds have none.
        private static var hasFailpoints: Bool {
            #if DEBUG
            true
            #else
            false
            #endif
        }

        /// The leader is killed at each point of a commit. A write whose record is in the log happens everywhere, one
        /// whose record is not happens nowhere, and the same request with its key is executed once.
        @Test(
            .enabled(if: hasFailpoints, "failpoints are in builds for debugging only"),
            arguments: [("log.appending", 3, false), ("log.appended", 3, true), ("commit.durable", 2, true)]
        )
        func aWriteIsExecutedOnceWhereverTheLeaderDies(point: String, passage: Int, isInLog: Bool) async throws {
            let world = try await ClusterWorld.begun()
            let first = world.node("a")
            // The leader record and the write before have passed these points.
            try await first.start(environment: ["NEST_FAILPOINTS": "\(point)=\(passage)"])
            try await world.leader()
            try await first.insert("before")
            let session = Identifier128(high: 1, low: 2)
            let key = Identifier128(high: 3, low: 4)
            let attempt = Task { try await first.insert("once", key: key, session: session) }
            try await first.process?.wait(forEnd: .signal(SIGKILL))
            attempt.cancel()
            _ = await attempt.result

            let second = try await world.started("b")
            try await world.leader(after: "a")
            try await second.shows(isInLog ? ["before", "once"] : ["before"])
            try await second.insert("once", key: key, session: session)
            try await second.shows(["before", "once"])
            try await first.start()
            try await first.shows(["before", "once"])
            for node in [first, second] { try await node.terminate() }
        }

        /// A node that is killed while it applies a record has it or not, and goes on.
        @Test(.enabled(if: hasFailpoints, "failpoints are in builds for debugging only"))
        func aFollowerThatDiesWhileItAppliesGoesOn() async throws {
            let world = try await ClusterWorld.begun()
            let leader = try await world.started("a")
            try await world.leader()
            let follower = world.node("b")
            try await follower.start(environment: ["NEST_FAILPOINTS": "record.applied=3"], mayDie: true)
            for title in ["one", "two", "three"] { try await leader.insert(title) }
            try await follower.process?.wait(forEnd: .signal(SIGKILL))
            try await follower.start()
            try await follower.shows(["one", "two", "three"])
            for node in [leader, follower] { try await node.terminate() }
        }

        /// A follower goes on from its position; if the log no longer has what follows, it joins from a snapshot. The
        /// files of joining that a crash left behind do no harm.
        @Test func aFollowerThatWasAwayCatchesUpOrJoinsAnew() async throws {
            let world = try await ClusterWorld.begun()
            let follower = try await world.started("b")
            try await world.leader()
            try await follower.insert("one")
            try await follower.terminate()
            var leader = try await world.started("a")
            try await world.leader(after: "b")
            try await leader.insert("two")
            try await follower.start()
            try await follower.shows(["one", "two"])
            #expect(await follower.process?.errors.contains("cluster.joined") == false)
            try await follower.terminate()

            // Old snapshots make the next start take a new one; the second leaves only what the first does not have.
            for title in ["three", "four"] {
                try await leader.insert(title)
                try await leader.terminate()
                try await world.sql("UPDATE nest.snapshot SET made = made - interval '2 days'")
                leader = try await world.started("a")
                try await world.leader()
                try await leader.log(contains: "cluster.snapshot")
            }
            try await leader.log(contains: "cluster.truncated")
            #expect(try await world.sql("SELECT count(*) FROM nest.snapshot") == "2")
            try Data("partial".utf8).write(to: URL(filePath: follower.storePath + ".being-made"))
            try await follower.start()
            try await follower.log(contains: "cluster.joined")
            try await follower.shows(["four", "one", "three", "two"])
            for node in [leader, follower] { try await node.terminate() }
        }

        /// A store in memory is a cache of the log like any other.
        @Test func aNodeMayHaveItsStoreInMemory() async throws {
            let world = try await ClusterWorld.begun()
            let leader = try await world.started("a")
            try await world.leader()
            try await leader.insert("one")
            let port = Int.random(in: 12_000..<32_000)
            let arguments = ["--log", world.url, "--node", "m", "--memory", "--port", "\(port)"]
            let memory = try ChildProcess(Program.nestd, arguments)
            _ = try await memory.lines(atLeast: 1)
            let client = NestClient(ClientConfiguration(port: port, clientName: "tests", session: .fresh))
            #expect(try await client.fetch(Item.childrenOf(Item.root)).titles.values.sorted() == ["one"])
            await client.close()
            await memory.send(signal: SIGTERM)
            try await memory.wait(forEnd: .exit(0))
            try await leader.terminate()
        }

        /// A frozen leader is replaced when its lease ends; when it goes on, it follows, and nothing of it is lost or
        /// done twice. A client of the other node waits meanwhile, and gets no error.
        @Test func aFrozenLeaderIsReplacedAndFollows() async throws {
            let world = try await ClusterWorld.begun()
            let nodes = ["a": try await world.started("a"), "b": try await world.started("b")]
            let former = try await world.leader()
            let frozen = try #require(nodes[former])
            try await frozen.insert("one")
            await frozen.process?.send(signal: SIGSTOP)
            let other = try #require(nodes[former == "a" ? "b" : "a"])
            try await other.insert("two")
            let leader = try await world.leader(among: nodes, after: former)
            await frozen.process?.send(signal: SIGCONT)
            try await frozen.shows(["one", "two"])
            try await frozen.log(contains: "cluster.following")
            try await leader.insert("three")
            try await frozen.shows(["one", "three", "two"])
            for node in nodes.values { try await node.terminate() }
        }
    }
}
