import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

@testable import NestLog

extension SocketTests {
    /// What becomes of a record that is appended, while the server runs.
    @Suite struct AppendTests {
        @Test func aRecordIsAppendedOnlyBehindTheOneThatItsWriterKnows() async throws {
            let fixture = try await LogFixture.started()
            let (a, b) = (try fixture.node("a"), try fixture.node("b"))
            let (one, two) = (try TestWriter(a, fixture), try TestWriter(b, fixture))
            let record = try fixture.record("1")
            #expect(try one.append(record) == .appended)
            // Of another writer, at the same position; the very same record, as after a lost answer.
            #expect(try two.append("other") == .taken)
            #expect(try two.append(record) == .appended)
            #expect(try two.append("2") == .appended)
            // Behind a record that is not in the log.
            var generator = SystemRandomNumberGenerator()
            let chain = Chain(Identifier128.random(using: &generator))
            #expect(try TestWriter(a, fixture, at: LogPosition(position: 2, chain: chain)).append("3") == .behind)
            #expect(try TestWriter(a, fixture, at: LogPosition(position: 9, chain: chain)).append("3") == .behind)
            #expect(try fixture.texts(a) == ["1", "2"])
            #expect(one.outcomes.now == [] && two.outcomes.now == [])
            let overview = try a.overview(position: 1)
            #expect(overview.head == two.position)
            #expect(overview.chainAtPosition == one.position.chain)
        }

        /// What a leader record says about the server was read in another session, perhaps of another primary.
        @Test func aLeaderRecordNamesTheServerInWhoseLogItIs() async throws {
            let fixture = try await LogFixture.started()
            let log = try fixture.node("a")
            let writer = try TestWriter(log, fixture)
            let timeline = try log.server().timeline
            func append(_ timeline: UInt32) throws -> AppendOutcome {
                let server = LogServer(timeline: timeline, isReplicated: false)
                let record = try LogRecord(
                    .leader,
                    writer: LogFixture.writer,
                    time: 1,
                    head: Revision(1),
                    notes: [.leader(server, historyID: Identifier128(high: 1, low: 1))],
                    directory: fixture.directory.path
                )
                return try writer.append(record)
            }
            #expect(try append(timeline + 1) == .taken)
            #expect(try log.overview(position: 0).head.position == 0)
            #expect(try append(timeline) == .appended)
        }

        /// The parts of a record that lost its race are not there either.
        @Test func aLargeRecordIsStoredInParts() async throws {
            let fixture = try await LogFixture.started()
            let (a, b) = (try fixture.node("a"), try fixture.node("b"))
            let (one, two) = (try TestWriter(a, fixture), try TestWriter(b, fixture))
            for size in [Limits.logBodyBytesMax, Limits.logPartBytes, 3 * Limits.logPartBytes + 12_345] {
                #expect(try one.append("\(size)", size: size) == .appended)
            }
            #expect(try two.append("lost", size: 2 * Limits.logPartBytes) == .taken)
            #expect(
                try two.append(fixture.record("\(Limits.logBodyBytesMax)", size: Limits.logBodyBytesMax)) == .appended
            )
            let entries = try fixture.records(a, after: fixture.start)
            #expect(entries.map(\.bytes.count).allSatisfy { $0 > Limits.logBodyBytesMax })
            let last = try LogRecord(decoding: try #require(entries.last).bytes)
            let sent = try fixture.record("\(3 * Limits.logPartBytes + 12_345)", size: 3 * Limits.logPartBytes + 12_345)
            #expect(last.row == sent.row)
            #expect(try await fixture.server.sql("SELECT count(*) FROM nest.part") == "7")
            #expect(
                try await fixture.server.sql("SELECT sum(parts), sum(length(body)) FROM nest.log WHERE position > 0")
                    == "7|0"
            )
            // Left over where an operator has deleted the newest record.
            try await fixture.server.sql("DELETE FROM nest.log WHERE position = 3")
            let again = try TestWriter(a, fixture)
            try again.follow()
            #expect(again.position.position == 2)
            #expect(try again.append("again", size: 2 * Limits.logPartBytes) == .appended)
            #expect(try fixture.records(a, after: fixture.start).count == 3)
        }

        @Test func eightWritersMakeOneChain() async throws {
            let fixture = try await LogFixture.started()
            let (writers, each) = (8, 25)
            let url = fixture.server.url
            let written = try await withThrowingTaskGroup(of: [String].self) { group in
                for number in 0..<writers {
                    group.addTask {
                        try await blocking {
                            let log = try fixture.node("\(number)", url: url)
                            defer { log.close() }
                            let writer = try TestWriter(log, fixture)
                            var done: [String] = []
                            while done.count < each {
                                let text = "\(number)-\(done.count)"
                                // Some of them are large.
                                let size = done.count % 8 == 7 ? Limits.logBodyBytesMax : done.count
                                switch try writer.append(text, size: size) {
                                case .appended: done.append(text)
                                case .taken: try writer.follow()
                                case let other: throw ProcessFailure("\(text): \(other)")
                                }
                            }
                            return done
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(written.count == writers * each)
            let texts = try fixture.texts(try fixture.node("reader"))
            #expect(texts.sorted() == written.sorted())
        }

        /// A refusal is certain: the record is not there, and the next one takes its position.
        @Test(arguments: [("53100", ErrorCode.diskFull), ("53200", .logUnavailable), ("23514", .logUnavailable)])
        func aRefusedRecordIsNotInTheLog(_ state: String, _ code: ErrorCode) async throws {
            let fixture = try await LogFixture.started()
            let log = try fixture.node("a")
            let writer = try TestWriter(log, fixture)
            #expect(try writer.append("1") == .appended)
            for size in [0, Limits.logPartBytes] {
                try await fixture.server.sql(
                    """
                    CREATE FUNCTION nest.refuse() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '\(state)'; END $$;
                    CREATE TRIGGER refuse BEFORE INSERT ON nest.log FOR EACH ROW EXECUTE FUNCTION nest.refuse()
                    """
                )
                guard case .refused(let error) = try writer.append("refused", size: size) else {
                    Issue.record("not refused")
                    return
                }
                #expect(error.code == code)
                try await fixture.server.sql("DROP FUNCTION nest.refuse CASCADE")
                #expect(try writer.append("2") == .appended)
            }
            #expect(try fixture.texts(log) == ["1", "2", "2"])
            #expect(try await fixture.server.sql("SELECT count(*) FROM nest.part") == "0")
        }

        /// A conflict of transactions, or an operator who cancels the statement before it is executed, is no refusal.
        @Test(arguments: ["40001", "57014"]) func aPassingRefusalIsTriedAgain(_ state: String) async throws {
            let fixture = try await LogFixture.started()
            try await fixture.server.sql(
                """
                CREATE SEQUENCE nest.attempts;
                CREATE FUNCTION nest.refuse() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN IF nextval('nest.attempts') < 4 THEN RAISE EXCEPTION 'again' USING ERRCODE = '\(state)';
                    END IF; RETURN NEW; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON nest.log FOR EACH ROW EXECUTE FUNCTION nest.refuse()
                """
            )
            let log = try fixture.node("a")
            let writer = try TestWriter(log, fixture)
            #expect(try writer.append("1") == .appended)
            #expect(try await fixture.server.sql("SELECT last_value FROM nest.attempts") == "4")
            #expect(try fixture.texts(log) == ["1"])
        }
    }
}
