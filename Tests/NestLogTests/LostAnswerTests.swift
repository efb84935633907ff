import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

@testable import NestLog

extension SocketTests {
    /// Appends while the server or its standby fails: a record is never lost and never there twice.
    @Suite struct LostAnswerTests {
        /// Starts an append and returns when its statement has begun to wait in the server.
        private static func append(_ text: String, _ writer: TestWriter, _ fixture: LogFixture, size: Int = 0)
            async throws -> Task<AppendOutcome, any Error>
        {
            let task = Task { try await blocking { try writer.append(text, size: size) } }
            try await waitUntil("the append waits in the server") {
                try await fixture.server.sql(
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event IN ('SyncRep', 'relation')"
                ) == "1"
            }
            return task
        }

        @Test func aServerThatIsKilledBeforeItExecutesAnAppendGetsItAgain() async throws {
            let fixture = try await LogFixture.started()
            let log = try fixture.node("a")
            let writer = try TestWriter(log, fixture)
            let outcomes = writer.outcomes
            #expect(try writer.append("1") == .appended)
            let lock = try await fixture.lock()
            let append = try await Self.append("2", writer, fixture)
            try await fixture.server.killNow()
            _ = try? await lock.value
            #expect(try await append.value == .unknown)
            try await fixture.server.start()
            #expect(try await outcomes.first() == .appended)
            #expect(try fixture.texts(log) == ["1", "2"])
            #expect(outcomes.now.count == 1)
        }

        /// The record is in the log when the server is killed, only its answer is missing.
        @Test(arguments: [0, Limits.logPartBytes])
        func aServerThatIsKilledAfterItExecutedAnAppendDoesNotGetItTwice(_ size: Int) async throws {
            let fixture = try await LogFixture.started()
            let standby = try await fixture.server.standby(isSynchronous: true)
            let log = try fixture.node("a")
            let writer = try TestWriter(log, fixture)
            let outcomes = writer.outcomes
            #expect(try writer.append("1") == .appended)
            await standby.freeze()
            let append = try await Self.append("2", writer, fixture, size: size)
            try await fixture.server.killNow()
            #expect(try await append.value == .unknown)
            try await fixture.server.start()
            try await waitUntil("the record is found") { try log.overview(position: 0).head.position == 2 }
            // It is on the disk of the primary only: that is not enough.
            #expect(outcomes.now == [])
            await standby.thaw()
            #expect(try await outcomes.first() == .appended)
            #expect(try fixture.texts(log) == ["1", "2"])
            #expect(outcomes.now.count == 1)
        }

        /// PostgreSQL answers a cancelled wait for its standby with success and a warning.
        @Test func aCancelledWaitForTheStandbyIsNoSuccess() async throws {
            let fixture = try await LogFixture.started()
            let standby = try await fixture.server.standby(isSynchronous: true)
            let log = try fixture.node("a")
            let writer = try TestWriter(log, fixture)
            let outcomes = writer.outcomes
            #expect(try writer.append("1") == .appended)
            await standby.freeze()
            let append = try await Self.append("2", writer, fixture)
            let cancel = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            #expect(try await fixture.server.sql(cancel) == "1")
            #expect(try await append.value == .unknown)
            // The confirmation of the row waits too, and may be cancelled as well. Reads, leases and notes go on.
            #expect(try log.overview(position: 0).head.position == 2)
            try log.renewLease()
            try log.note(position: 2, isDrained: false)
            try await waitUntil("another wait") { try await fixture.server.sql(cancel) == "1" }
            try await waitUntil("one more wait") { try await fixture.server.sql(cancel) == "1" }
            #expect(outcomes.now == [])
            await standby.thaw()
            #expect(try await outcomes.first() == .appended)
            #expect(try fixture.texts(log) == ["1", "2"])
        }

        /// A frozen standby holds sessions of the server; their number does not grow while it lasts.
        @Test func anAppendThatWaitsLongIsResolvedByItsOwnAnswer() async throws {
            let fixture = try await LogFixture.started()
            let log = try fixture.node("a")
            let writer = try TestWriter(log, fixture)
            let outcomes = writer.outcomes
            try await fixture.lock()
            let append = try await Self.append("1", writer, fixture)
            #expect(try await append.value == .unknown)
            #expect(throws: LogFailure.self) { try log.claim(isSessionGone: false) }
            let sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'nestd a'"
            #expect(try await fixture.server.sql(sessions) == "2")
            try await fixture.unlock()
            #expect(try await outcomes.first() == .appended)
            #expect(try fixture.texts(log) == ["1"])
        }

        /// After a restart while no record was on its way, the next one is appended as ever.
        @Test(arguments: [PostgresServer.Stop.fast, .immediate])
        func anIdleSessionIsReplacedAfterARestart(_ stop: PostgresServer.Stop) async throws {
            let fixture = try await LogFixture.started()
            let log = try fixture.node("a")
            let writer = try TestWriter(log, fixture)
            #expect(try writer.append("1") == .appended)
            try await fixture.server.stop(stop)
            #expect(throws: LogFailure.self) { try log.renewLease() }
            try await fixture.server.start()
            #expect(try writer.append("2") == .appended)
            try await waitUntil("the log answers") { (try? log.renewLease()) != nil }
            #expect(try fixture.texts(log) == ["1", "2"])
        }

        /// A refusal says nothing about an earlier attempt with the same record.
        @Test func aRefusalAfterALostAnswerIsNotBelieved() async throws {
            let fixture = try await LogFixture.started()
            let server = fixture.server
            // The first attempt waits until its session is ended, the next ones are refused.
            try await server.sql(
                """
                CREATE SEQUENCE nest.attempts;
                CREATE FUNCTION nest.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE n int; BEGIN
                    n := nextval('nest.attempts');
                    IF n = 1 THEN PERFORM pg_sleep(600); END IF;
                    IF n < 5 THEN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END IF;
                    RETURN NEW; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON nest.log FOR EACH ROW EXECUTE FUNCTION nest.refuse()
                """
            )
            let log = try fixture.node("a")
            let writer = try TestWriter(log, fixture)
            let append = Task { try await blocking { try writer.append("1") } }
            try await waitUntil("the append waits in the server") {
                try await server.sql(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
                ) == "1"
            }
            let outcome = try await append.value
            #expect([.appended, .unknown].contains(outcome))
            if outcome == .unknown { #expect(try await writer.outcomes.first() == .appended) }
            #expect(try await server.sql("SELECT last_value FROM nest.attempts") == "5")
            #expect(try fixture.texts(log) == ["1"])
        }
    }
}
