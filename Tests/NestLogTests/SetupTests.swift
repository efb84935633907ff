import NestModel
import NestStore
import NestTestSupport
import Testing

@testable import NestLog

extension SocketTests {
    /// Making the log, and which servers and databases are refused, with what to do.
    @Suite struct SetupTests {
        /// The reason why a body throws `unusable`.
        private static func unusable(_ body: () throws -> Void) -> String {
            switch #expect(throws: LogFailure.self, performing: body) {
            case .unusable(let reason)?: return reason
            case let other:
                Issue.record("\(String(describing: other))")
                return ""
            }
        }

        @Test func everyStepMayBeRepeated() async throws {
            let server = try await PostgresServer.started(isInMemory: true)
            let fixture = LogFixture(server: server)
            #expect(Self.unusable { _ = try fixture.node("a") }.contains("nestd cluster init"))
            let setups = try (0..<4).map { _ in try PostgresLogSetup(fixture.settings("setup")) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for setup in setups { group.addTask { try await blocking { try setup.installSchema() } } }
                try await group.waitForAll()
            }
            let setup = setups[0]
            #expect(Self.unusable { _ = try fixture.node("a") }.contains("nestd cluster init"))
            #expect(throws: LogFailure.self) {
                try fixture.create(setup) { (index) throws(LogFailure) in
                    guard index == 0 else { throw .unavailable("no more") }
                    return []
                }
            }
            #expect(Self.unusable { _ = try fixture.node("a") }.contains("nestd cluster init"))
            let store = try setup.reserveStore()
            #expect(try setup.reserveStore() == store)
            try fixture.create(setup)
            #expect(Self.unusable { _ = try setup.reserveStore() }.contains("--log"))
            #expect(Self.unusable { try fixture.create(setup) }.contains("--log"))
            let log = try fixture.node("a")
            #expect(log.store == store)
            #expect(try log.overview(position: 0).head == fixture.start)
            #expect(try log.snapshots().count == 1)
            #expect(try log.claim(isSessionGone: false) == 1)
            try await server.sql("UPDATE nest.format SET version = 2")
            #expect(Self.unusable { _ = try fixture.node("a") }.contains("newer nestd"))
            #expect(Self.unusable { try setup.installSchema() }.contains("newer nestd"))
        }

        @Test(arguments: ["fsync", "full_page_writes"]) func settingsThatLoseDataAreRefused(_ setting: String)
            async throws
        {
            let server = try await PostgresServer.started(isInMemory: true, "\(setting)=off")
            let fixture = LogFixture(server: server)
            let reason = Self.unusable { _ = try PostgresLogSetup(fixture.settings("a")) }
            #expect(reason.contains("\(setting) = off"), "\(reason)")
        }

        @Test func aStandbyIsRefusedForNow() async throws {
            let server = try await PostgresServer.started(isInMemory: true)
            let standby = try await server.standby(isSynchronous: false)
            for query in ["", "target_session_attrs=any"] {
                let settings = LogFixture(server: standby).settings("a", url: standby.url(query: query))
                let failure = #expect(throws: LogFailure.self) { _ = try PostgresLogSetup(settings) }
                guard case .unavailable? = failure else {
                    Issue.record("\(String(describing: failure))")
                    continue
                }
            }
        }

        /// Passwords are checked, and never quoted.
        @Test func namesPasswordsAndRightsAreChecked() async throws {
            let fixture = try await LogFixture.started()
            let server = fixture.server
            try await server.sql(
                """
                CREATE ROLE nest LOGIN PASSWORD 'right'; CREATE ROLE reader LOGIN;
                GRANT USAGE ON SCHEMA nest TO nest; GRANT ALL ON ALL TABLES IN SCHEMA nest TO nest
                """
            )
            try await server.sql(
                """
                COPY (VALUES ('host all nest 127.0.0.1/32 scram-sha-256'), ('host all all 127.0.0.1/32 trust'))
                TO '\(server.directory.path)/data/pg_hba.conf'
                """
            )
            try await server.sql("SELECT pg_reload_conf()")
            try await waitUntil("the rules") {
                (try? await server.sql("SELECT 1", user: "nest")) == nil
            }
            let log = try fixture.node("a", url: server.url(user: "nest:right"))
            #expect(try log.claim(isSessionGone: false) == 1)
            #expect(try TestWriter(log, fixture).append("1") == .appended)
            let wrong = Self.unusable { _ = try fixture.node("a", url: server.url(user: "nest:s3cret")) }
            #expect(wrong.contains("password") && !wrong.contains("s3cret"), "\(wrong)")
            let missing = Self.unusable { _ = try fixture.node("a", url: server.url(user: "nest")) }
            #expect(missing.contains("PGPASSFILE"), "\(missing)")
            #expect(Self.unusable { _ = try fixture.node("a", url: server.url(user: "reader")) }.contains("permission"))
            #expect(Self.unusable { _ = try fixture.node("a", url: server.url(user: "absent")) }.contains("absent"))
            let other = Self.unusable { _ = try fixture.node("a", url: server.url + "_other") }
            #expect(other.contains("postgres_other"), "\(other)")
        }

        @Test func aServerThatIsAwayIsUnavailable() async throws {
            let server = try await PostgresServer.started(isInMemory: true)
            try await server.stop(.fast)
            let failure = #expect(throws: LogFailure.self) {
                _ = try PostgresLogSetup(LogFixture(server: server).settings("a"))
            }
            guard case .unavailable(let reason)? = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(reason.contains("127.0.0.1"), "\(reason)")
        }
    }
}
