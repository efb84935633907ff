import ChaosProxy
import Glibc
import NestModel
import NestStore
import NestTestSupport
import Testing

@testable import NestLog

extension SocketTests {
    /// Single steps of the session that appends, between which other things happen.
    @Suite struct AppendSessionTests {
        private static func session(_ fixture: LogFixture, url: String? = nil) throws -> AppendSession {
            let address = try PostgresAddress(url ?? fixture.server.url, applicationName: "steps")
            return AppendSession(address, store: 1, node: Identifier128(high: 3, low: 4))
        }

        private static func attempt(_ text: String, _ fixture: LogFixture) throws -> AppendSession.Attempt {
            let (record, start) = (try fixture.record(text), try fixture.start)
            let chain = try start.chain.followed(by: record.bytes, at: 1)
            return AppendSession.Attempt(number: 1, record: record, chain: chain, after: start)
        }

        private static func step(_ session: inout AppendSession, _ attempt: AppendSession.Attempt) -> AppendSession.Step
        {
            session.step(attempt, until: Deadline(after: .milliseconds(100)))
        }

        /// Sends the record, whose statement then waits in the server.
        private static func send(_ session: inout AppendSession, _ attempt: AppendSession.Attempt) throws {
            guard case .waiting = Self.step(&session, attempt) else { throw ProcessFailure("the append does not wait") }
        }

        /// Takes steps until the outcome is known; `nil` if it cannot be found out.
        private static func outcome(
            _ session: inout AppendSession,
            _ attempt: AppendSession.Attempt
        ) throws -> AppendOutcome? {
            for _ in 0..<600 {
                switch Self.step(&session, attempt) {
                case .known(let outcome): return outcome
                case .unresolvable: return nil
                case .again(let pause): usleep(UInt32(pause / .microseconds(1)))
                case .waiting: continue
                }
            }
            throw ProcessFailure("the record is not resolved")
        }

        @Test func aClaimDoesNotReadTheAnswerOfAnAppend() async throws {
            let fixture = try await LogFixture.started()
            var session = try Self.session(fixture)
            let attempt = try Self.attempt("1", fixture)
            try session.connect()
            try await fixture.lock()
            try Self.send(&session, attempt)
            try await fixture.unlock()
            #expect(throws: PostgresFailure.self) { _ = try session.claim(.free) }
            #expect(try Self.outcome(&session, attempt) == .appended)
        }

        /// The engine's thread leaves it to another one to look what a new primary has.
        @Test func nothingIsAppendedAtOnceOnANewTimeline() async throws {
            let fixture = try await LogFixture.started()
            let standby = try await fixture.server.standby(isSynchronous: true)
            let ports = "\(fixture.server.port),\(standby.port)"
            let url = "host=127.0.0.1,127.0.0.1 port=\(ports) user=postgres dbname=postgres"
            var session = try Self.session(fixture, url: url)
            #expect(!session.canAppendAtOnce)
            guard case .leading = try session.claim(.free) else { throw ProcessFailure("no lead") }
            #expect(session.canAppendAtOnce)
            try await fixture.server.killNow()
            // The process behind the connection ends a moment after its server.
            try await waitUntil("the end of the connection") { !session.canAppendAtOnce }
            try await standby.promote()
            while !session.isConnected {
                do throws(PostgresFailure) { try session.connect() } catch { usleep(10_000) }
            }
            #expect(!session.canAppendAtOnce)
            guard case .leading = try session.claim(.free) else { throw ProcessFailure("no lead") }
            #expect(session.canAppendAtOnce)
        }

        /// The record may be one of those that were removed: it must not be reported as not executed.
        @Test func whatWasSentAndTruncatedStaysUnknown() async throws {
            let fixture = try await LogFixture.started()
            let log = try fixture.node("other")
            var session = try Self.session(fixture)
            let attempt = try Self.attempt("1", fixture)
            try session.connect()
            try await fixture.lock()
            try Self.send(&session, attempt)
            try await fixture.server.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'steps'"
            )
            while case .waiting = Self.step(&session, attempt) {}
            try await fixture.unlock()
            let other = try TestWriter(log, fixture)
            for text in ["one", "two"] { #expect(try other.append(text) == .appended) }
            try log.truncate(through: 1)
            #expect(try Self.outcome(&session, attempt) == nil)
        }

        /// The session lives, and the server has the record, but its answer was lost on the way.
        @Test func aLostAnswerOfALivingSessionIsFoundOut() async throws {
            let fixture = try await LogFixture.started()
            let proxy = try await ChaosProxy.start(to: .init(port: fixture.server.port))
            let ports = "\(await proxy.port),\(fixture.server.port)"
            let url = "host=127.0.0.1,127.0.0.1 port=\(ports) user=postgres dbname=postgres"
            var session = try Self.session(fixture, url: url)
            let attempt = try Self.attempt("1", fixture)
            try session.connect()
            var faults = Faults(direction: .toClient)
            faults.breaking = .init(.halfOpen)
            // New sessions take the way without the proxy.
            faults.isRefusing = true
            await proxy.follow(.fixed(faults))
            #expect(try Self.outcome(&session, attempt) == .appended)
            #expect(try fixture.texts(fixture.node("reader")) == ["1"])
            await proxy.stop()
        }

        /// The record arrives at the server after it was sent again.
        @Test func aRecordThatArrivesLateIsNotThereTwice() async throws {
            let fixture = try await LogFixture.started()
            var session = try Self.session(fixture)
            let attempt = try Self.attempt("1", fixture)
            try session.connect()
            let find = "SELECT pid FROM pg_stat_activity WHERE application_name = 'steps'"
            let backend = try #require(pid_t(try await fixture.server.sql(find)))
            kill(backend, SIGSTOP)
            defer { kill(backend, SIGCONT) }
            #expect(try Self.outcome(&session, attempt) == .appended)
            kill(backend, SIGCONT)
            try await waitUntil("the first session has ended") {
                try await fixture.server.sql("SELECT count(*) FROM pg_stat_activity WHERE pid = \(backend)") == "0"
            }
            #expect(try fixture.texts(fixture.node("reader")) == ["1"])
        }

        /// While the server executes a record it is not sent again: the sessions would add up.
        @Test func aRecordThatWaitsInTheServerIsNotGivenUp() async throws {
            let fixture = try await LogFixture.started()
            var session = try Self.session(fixture)
            let attempt = try Self.attempt("1", fixture)
            try session.connect()
            try await fixture.lock()
            try Self.send(&session, attempt)
            let wasLost = session.isAnswerLost()
            #expect(!wasLost)
            try await fixture.unlock()
            try await waitUntil("the answer is sent") {
                try await fixture.server.sql(
                    "SELECT state FROM pg_stat_activity WHERE application_name = 'steps'"
                ) == "idle"
            }
            let isLost = session.isAnswerLost()
            #expect(isLost)
        }
    }
}
