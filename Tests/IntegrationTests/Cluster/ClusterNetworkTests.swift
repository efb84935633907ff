import ChaosProxy
import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Faults of the network between a node and PostgreSQL.
    @Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing")) struct ClusterNetworkTests {
        /// A leader whose packets to PostgreSQL no longer arrive is replaced when its lease ends. What it held back
        /// arrives late, behind the records of the next leader, and is refused; the write is executed once.
        @Test func aLeaderCutOffFromTheLogIsReplacedAndItsLateAppendIsRefused() async throws {
            let world = try await ClusterWorld.begun()
            let proxy = try await ChaosProxy.start(to: .init(port: world.postgres.port))
            let url = "postgres://postgres@127.0.0.1:\(await proxy.port)/\(world.database)"
            let former = ServerProcess(storeName: "a.sqlite", arguments: ["--log", url, "--node", "a"])
            try await former.start()
            try await world.leader()
            try await former.insert("one")
            let next = try await world.started("b")
            try await next.shows(["one"])

            await proxy.follow(.fixed(try Faults("stall")))
            let (session, key) = (Identifier128(high: 1, low: 2), Identifier128(high: 3, low: 4))
            let attempt = Task { try await former.insert("held", key: key, session: session) }
            try await former.log(contains: "cluster.uncertain")
            #expect(try await former.titles() == ["one"])
            #expect(try await world.leader(after: "a") == "b")
            try await next.insert("two")
            await proxy.follow(.fixed(.none))
            try await former.log(contains: "cluster.following")
            _ = await attempt.result
            try await next.insert("held", key: key, session: session)
            for node in [former, next] { try await node.shows(["held", "one", "two"]) }
            for node in [former, next] { try await node.terminate() }
            await proxy.stop()
        }
    }
}
