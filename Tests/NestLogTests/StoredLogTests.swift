import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

@testable import NestLog

extension SocketTests {
    /// What is read from the log, whole, cut or damaged.
    @Suite struct StoredLogTests {
        @Test func pagesAreLimitedByRecordsAndBytes() async throws {
            let fixture = try await LogFixture.started()
            let log = try fixture.node("a")
            let writer = try TestWriter(log, fixture)
            for number in 0..<20 { #expect(try writer.append("\(number)", size: 200_000) == .appended) }
            for _ in 0..<3 { try await writer.appendAtLast("large", size: 5 << 20) }
            func page(_ position: Int64, _ count: Int) throws -> [Int64] {
                try log.records(after: position, countMax: count, directory: fixture.directory.path).map(
                    \.position.position
                )
            }
            #expect(try page(0, 7) == [1, 2, 3, 4, 5, 6, 7])
            // Pages end after 8 MiB, and have one record at least.
            #expect(try page(0, 100) == Array(1...21))
            #expect(try page(21, 100) == [22, 23])
            #expect(try page(22, 100) == [23])
            #expect(try page(23, 100) == [])
            #expect(try log.recordBytes(after: 0) > Int64(20 * 200_000 + 15 << 20))
            #expect(try log.recordBytes(after: 23) == 0)
        }

        /// A long log is read once, not at each survey.
        @Test func recordsAreCountedOnce() async throws {
            let fixture = try await LogFixture.started()
            let log = try fixture.node("a")
            let added = 2 * PostgresLog.countRows + 7
            try await fixture.server.sql(
                """
                INSERT INTO nest.log (store, position, chain, epoch, kind, revision, body)
                SELECT 1, n, decode(repeat('00', 16), 'hex'), 0, 1, 1, '123' FROM generate_series(1, \(added)) n
                """
            )
            var bytes: Int64 = 0
            while bytes < 3 * added {
                let more = try log.recordBytes(after: 0)
                try #require(more > bytes)
                bytes = more
            }
            #expect(bytes == 3 * added)
            try await fixture.server.sql("UPDATE nest.log SET body = '12345' WHERE position <= 10")
            #expect(try log.recordBytes(after: 0) == bytes)
            #expect(try log.recordBytes(after: added - 1) == 3)
            #expect(try log.recordBytes(after: added) == 0)
        }

        /// The lease must not end because counting takes long.
        @Test func leasesAreRenewedWhileRecordsAreCounted() async throws {
            let fixture = try await LogFixture.started()
            let log = try fixture.node("a")
            #expect(try TestWriter(log, fixture).append("1") == .appended)
            try await fixture.lock("ACCESS EXCLUSIVE")
            let count = Task { try await blocking { try log.recordBytes(after: 0) } }
            let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'relation' AND query LIKE '%octet%'"
            try await waitUntil("the count waits") { try await fixture.server.sql(waiting) == "1" }
            try log.renewLease()
            #expect(try log.nodes().map(\.name) == ["a"])
            try await fixture.unlock()
            #expect(try await count.value > 0)
        }

        @Test func truncationKeepsTheNewestRecord() async throws {
            let fixture = try await LogFixture.started()
            let log = try fixture.node("a")
            let writer = try TestWriter(log, fixture)
            for number in 1...5 {
                #expect(try writer.append("\(number)", size: number == 2 ? Limits.logPartBytes : 0) == .appended)
            }
            try log.truncate(through: 3)
            #expect(try log.overview(position: 3).base == 3)
            #expect(try log.overview(position: 3).chainAtPosition == nil)
            #expect(try await fixture.server.sql("SELECT min(position) FROM nest.log") == "4")
            #expect(try await fixture.server.sql("SELECT count(*) FROM nest.part") == "0")
            // A node that is further behind finds nothing to apply, and the base says why.
            let records = try log.records(after: 1, countMax: 10, directory: fixture.directory.path)
            #expect(records.isEmpty)
            #expect(try log.records(after: 3, countMax: 10, directory: fixture.directory.path).count == 2)
            try log.truncate(through: 99)
            #expect(try log.overview(position: 5).base == 4)
            #expect(try log.overview(position: 5).head == writer.position)
            try log.truncate(through: 2)
            #expect(try log.overview(position: 5).base == 4)
            #expect(try writer.append("6") == .appended)
            // Whose answer was lost, and whose position is gone meanwhile: the node joins again.
            let late = try TestWriter(try fixture.node("b"), fixture)
            #expect(try late.append("late") == .taken)
        }

        /// The chain finds changed bytes; a missing record or part is found here.
        @Test func damageIsFound() async throws {
            let fixture = try await LogFixture.started()
            let log = try fixture.node("a")
            let writer = try TestWriter(log, fixture)
            #expect(try writer.append("1") == .appended)
            #expect(try writer.append("2", size: 2 * Limits.logPartBytes) == .appended)
            #expect(try writer.append("3") == .appended)
            func damaged(_ sql: String) async throws {
                try await fixture.server.sql(sql)
                #expect(throws: LogFailure.self) {
                    try log.records(after: 0, countMax: 10, directory: fixture.directory.path)
                }
            }
            try await fixture.server.sql(
                "UPDATE nest.log SET body = set_byte(body, 30, get_byte(body, 30) # 1) WHERE position = 3"
            )
            #expect(throws: ProcessFailure.self) { try fixture.texts(log) }
            try await damaged("DELETE FROM nest.part WHERE part = 1")
            try await damaged("DELETE FROM nest.log WHERE position = 2")
            try await damaged("UPDATE nest.log SET position = 2, parts = 1000000 WHERE position = 3")
            try await fixture.server.sql("DELETE FROM nest.log")
            #expect(throws: LogFailure.self) { try log.overview(position: 0) }
        }

        @Test func snapshotsAreWholeOrNotThere() async throws {
            let fixture = try await LogFixture.started()
            let (a, b) = (try fixture.node("a"), try fixture.node("b"))
            let writer = try TestWriter(a, fixture)
            for number in 1...3 { #expect(try writer.append("\(number)") == .appended) }
            let snapshot = fixture.snapshot(at: writer.position, parts: 3)
            func part(_ index: Int) -> [UInt8] { [UInt8](repeating: UInt8(index), count: 1 << 20) }
            // It fails half way, as on a full disk.
            #expect(throws: LogFailure.self) {
                _ = try a.add(snapshot) { (index) throws(LogFailure) in
                    guard index < 2 else { throw .unavailable("no more") }
                    return part(index)
                }
            }
            #expect(try a.snapshots().map(\.position.position) == [0])
            #expect(try await fixture.server.sql("SELECT count(*) FROM nest.snapshot_part") == "2")
            // Another node, which is alive, is storing it.
            try b.renewLease()
            try await fixture.server.sql(
                """
                INSERT INTO nest.snapshot (store, position, revision, chain, model, bytes, node)
                SELECT 1, 3, 0, '', 0, 0, node FROM nest.node WHERE name = 'b'
                """
            )
            #expect(try !a.add(snapshot) { part($0) })
            try b.deregister()
            #expect(try a.add(snapshot) { part($0) })
            #expect(try !b.add(snapshot) { part($0) })
            var found = try b.snapshots()
            #expect(found.map(\.position.position) == [3, 0])
            #expect(found[0].made > 1_600_000_000_000_000)
            found[0].made = 0
            #expect(found[0] == snapshot)
            for index in 0..<3 { #expect(try b.part(index, of: snapshot) == part(index)) }
            #expect(throws: LogFailure.self) { try b.part(3, of: snapshot) }
            // Removing one removes what crashes have left behind, too.
            try await fixture.server.sql(
                """
                INSERT INTO nest.snapshot (store, position, revision, chain, model, bytes, made)
                    VALUES (1, 2, 0, '', 0, 0, clock_timestamp() - interval '1 day');
                INSERT INTO nest.snapshot_part VALUES (1, 2, 0, ''), (1, 77, 0, '')
                """
            )
            try a.remove([found[1]])
            #expect(try a.snapshots().map(\.position.position) == [3])
            #expect(try await fixture.server.sql("SELECT count(*) FROM nest.snapshot") == "1")
            #expect(try await fixture.server.sql("SELECT count(*) FROM nest.snapshot_part") == "3")
        }

        @Test func theSummaryDescribesTheServer() async throws {
            let fixture = try await LogFixture.started()
            let log = try fixture.node("a")
            #expect(try TestWriter(log, fixture).append("1") == .appended)
            let summary = try log.summary()
            #expect(summary.hasPrefix("PostgreSQL "), "\(summary)")
            #expect(
                summary.contains(
                    " at 127.0.0.1:\(fixture.server.port) (timeline 1), no synchronous standby, 2 records since 2"
                )
            )
            #expect(summary.contains("Z, snapshot of 2"))
            let standby = try await fixture.server.standby(isSynchronous: true)
            try await waitUntil("the standby") { try log.summary().contains(", 1 synchronous standby, ") }
            try await standby.stop(.fast)
            try await waitUntil("its end") { try log.summary().contains(", synchronous standby not seen, ") }
        }
    }
}
