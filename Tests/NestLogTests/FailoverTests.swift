import NestModel
import NestStore
import NestTestSupport
import Testing

@testable import NestLog

extension SocketTests {
    /// What a leader finds after a standby was promoted. Its address names both servers.
    @Suite struct FailoverTests {
        private static func url(_ primary: PostgresServer, _ standby: PostgresServer) -> String {
            "host=127.0.0.1,127.0.0.1 port=\(primary.port),\(standby.port) user=postgres dbname=postgres"
        }

        /// The leader claims again before it appends, and nothing is lost.
        @Test func aSynchronousStandbyHasEverything() async throws {
            let fixture = try await LogFixture.started()
            let standby = try await fixture.server.standby(isSynchronous: true)
            let log = try fixture.node("a", url: Self.url(fixture.server, standby))
            let before = try log.server()
            #expect(before.isReplicated)
            #expect(try log.claim(isSessionGone: false) == 1)
            let writer = try TestWriter(log, fixture)
            for number in 0..<20 { #expect(try writer.append("\(number)") == .appended) }
            try await fixture.server.killNow()
            #expect(throws: LogFailure.self) { try log.renewLease() }
            try await standby.promote()
            // It was not executed and never will be.
            #expect(try writer.append("lost lead") == .taken)
            let after = try await waitFor("the new primary") { try? log.server() }
            #expect(after.timeline > before.timeline)
            #expect(!after.isReplicated)
            #expect(try log.overview(position: 20).chainAtPosition == writer.position.chain)
            #expect(try log.claim(isSessionGone: false) == 2)
            #expect(try writer.append("20") == .appended)
            #expect(try fixture.texts(log) == (0...20).map { "\($0)" })
        }

        /// A record that was under way at the failover and is in the log is found, and is not there twice.
        @Test func aRecordUnderWayIsFoundOnTheNewPrimary() async throws {
            let fixture = try await LogFixture.started()
            let standby = try await fixture.server.standby(isSynchronous: true)
            let log = try fixture.node("a", url: Self.url(fixture.server, standby))
            #expect(try log.claim(isSessionGone: false) == 1)
            let writer = try TestWriter(log, fixture)
            #expect(try writer.append("1") == .appended)
            // The standby gets the record, and its confirmation does not arrive.
            try await fixture.server.set("synchronous_standby_names", "'absent'")
            try await waitUntil("the setting") { try log.server().isReplicated }
            let append = Task { try await blocking { try writer.append("2") } }
            try await waitUntil("the standby has the record") {
                try await standby.sql("SELECT count(*) FROM nest.log") == "3"
            }
            try await fixture.server.killNow()
            try await standby.promote()
            let outcome = try await append.value
            #expect(outcome == .appended || outcome == .unknown)
            if outcome == .unknown { #expect(try await writer.outcomes.first() == .appended) }
            #expect(try fixture.texts(log) == ["1", "2"])
        }

        /// The log is then behind the leader, which must not go on.
        @Test func anAsynchronousStandbyMayLackTheLastRecords() async throws {
            let fixture = try await LogFixture.started()
            let standby = try await fixture.server.standby(isSynchronous: false)
            let log = try fixture.node("a", url: Self.url(fixture.server, standby))
            #expect(try !log.server().isReplicated)
            #expect(try log.claim(isSessionGone: false) == 1)
            let writer = try TestWriter(log, fixture)
            #expect(try writer.append("kept") == .appended)
            try await waitUntil("the standby has the record") {
                try await standby.sql("SELECT count(*) FROM nest.log") == "2"
            }
            try await fixture.server.freezeReplication()
            #expect(try writer.append("lost 1") == .appended)
            #expect(try writer.append("lost 2") == .appended)
            try await fixture.server.killNow()
            try await standby.promote()
            let outcome = try writer.append("after")
            #expect(outcome == .behind)
            let overview = try await waitFor("the new primary") { try? log.overview(position: 3) }
            #expect(overview.head.position == 1)
            #expect(overview.chainAtPosition == nil)
            #expect(try fixture.texts(log) == ["kept"])
        }

        /// A server that accepts connections and does not answer does not hide the next one.
        @Test func aFrozenServerIsSkipped() async throws {
            let (fixture, frozen) = (try await LogFixture.started(), try await PostgresServer.started(isInMemory: true))
            await frozen.freeze()
            let log = try fixture.node("a", url: Self.url(frozen, fixture.server) + " connect_timeout=1")
            #expect(try TestWriter(log, fixture).append("1") == .appended)
        }
    }
}
