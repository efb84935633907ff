import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Faults of the PostgreSQL that has a cluster's log.
    @Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing")) struct ClusterLogFaultTests {
        /// A node waits for its log and says so; it is ready when the log is there. Reads go on while PostgreSQL is
        /// away, and writes come back with it.
        @Test func aNodeOutlivesRestartsOfPostgreSQL() async throws {
            let postgres = try await PostgresServer.started(isInMemory: true)
            let world = try await ClusterWorld.begun(on: postgres)
            try await postgres.stop(.fast)
            let metrics = Int.random(in: 12_000..<32_000)
            let arguments = ["--log", world.url, "--node", "a", "--metrics-port", "\(metrics)"]
            let node = ServerProcess(storeName: "a.sqlite", arguments: arguments)
            let starting = Task { try await node.start() }
            let waiting = try await waitFor("the page") {
                let answer = try? PlainHTTP.get("/readyz", port: metrics)
                return answer?.body.contains("cannot be reached") == true ? answer : nil
            }
            #expect(waiting.status == 503)
            #expect(waiting.body.hasPrefix("waiting: the log cannot be reached: "))
            try await postgres.start()
            try await starting.value
            try await world.leader()
            try await node.insert("one")
            for (stop, title) in [(PostgresServer.Stop.fast, "two"), (.immediate, "three")] {
                let before = try await node.titles()
                try await postgres.stop(stop)
                #expect(try await node.titles() == before)
                try await postgres.start()
                _ = try await waitFor("a write") { try? await node.insert(title) }
            }
            // A write whose outcome was unknown may be there twice: it had no key.
            #expect(Set(try await node.titles()) == ["one", "three", "two"])
            let scraped = try await waitFor("the metrics of a leader") {
                let scraped = try ScrapedMetrics(try PlainHTTP.get("/metrics", port: metrics).body)
                let position = scraped.values["nest_log_position"] ?? 0
                return scraped.values["nest_role"] == 1 && position >= 4 ? scraped : nil
            }
            for (name, help) in scraped.helps { #expect(help != "See the source.", "\(name)") }
            _ = try await waitFor("ready") { try PlainHTTP.get("/readyz", port: metrics).status == 200 ? true : nil }
            try await node.terminate()
        }

        /// A failover that loses records begins a new history: the node that has them keeps its file, and all nodes
        /// agree again.
        @Test func recordsLostByAFailoverAreKeptInAFile() async throws {
            let primary = try await PostgresServer.started(isInMemory: true)
            let standby = try await primary.standby(isSynchronous: false)
            let hosts = "127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)"
            let world = try await ClusterWorld.begun(on: primary, url: "postgres://postgres@\(hosts)/postgres")
            let nodes = ["a": try await world.started("a"), "b": try await world.started("b")]
            let leader = try await world.leader(among: nodes)
            try await leader.insert("kept")
            for node in nodes.values { try await node.shows(["kept"]) }
            let history = try await leader.historyID()
            let position = try await primary.sql("SELECT pg_current_wal_lsn()")
            _ = try await waitFor("the standby") {
                try await standby.sql("SELECT pg_last_wal_replay_lsn() >= '\(position)'") == "t" ? true : nil
            }
            try await standby.set("primary_conninfo", "''")
            _ = try await waitFor("the standby is cut off") {
                try await primary.sql("SELECT count(*) FROM pg_stat_replication") == "0" ? true : nil
            }
            try await leader.insert("lost")
            for node in nodes.values { try await node.shows(["kept", "lost"]) }
            try await primary.killNow()
            try await standby.promote()

            for node in nodes.values { try await node.shows(["kept"]) }
            for node in nodes.values { try await node.log(contains: "cluster.diverged") }
            for node in nodes.values {
                let directory = URL(filePath: node.storePath).deletingLastPathComponent().path
                let kept = try FileManager.default.contentsOfDirectory(atPath: directory)
                    .filter { $0.contains(".sqlite.diverged-") && !$0.hasSuffix(".lock") }
                #expect(kept.count == 1, "\(kept)")
                let left = try await world.nestd(
                    ["cluster", "leave", "--store", "\(directory)/\(kept[0])"],
                    withLog: false
                )
                #expect(left.status == 0, "\(left.report)")
            }
            var histories: Set<Identifier128> = []
            _ = try await waitFor("a new history") {
                histories = []
                for node in nodes.values {
                    if let history = try? await node.historyID() { histories.insert(history) }
                }
                return histories.count == 1 && !histories.contains(history) ? true : nil
            }
            _ = try await waitFor("a write") {
                for node in nodes.values {
                    if (try? await node.insert("after")) != nil { return true }
                }
                return nil
            }
            for node in nodes.values { try await node.shows(["after", "kept"]) }
            for node in nodes.values { try await node.terminate() }
        }

        /// A node applies no record whose bytes are not those that were written.
        @Test func aDamagedRecordStopsTheNode() async throws {
            let world = try await ClusterWorld.begun()
            let leader = try await world.started("a")
            try await world.leader()
            let follower = try await world.started("b")
            try await follower.terminate()
            try await leader.insert("one")
            // From a node that leads the follower would get the record as it was written.
            try await leader.terminate()
            try await world.sql(
                "UPDATE nest.log SET body = set_byte(body, 30, get_byte(body, 30) # 1) WHERE kind = 1"
            )
            let damaged = try ChildProcess(
                Program.nestd,
                ["--log", world.url, "--node", "b", "--store", follower.storePath, "--port", "0"]
            )
            try await damaged.wait(forEnd: .exit(65))
            #expect(damaged.errors.contains("does not follow"), "\(damaged.errors)")
            try await leader.start()
            try await world.leader()
            try await leader.insert("two")
            try await leader.terminate()
        }
    }
}
