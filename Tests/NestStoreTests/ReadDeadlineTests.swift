import Foundation
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol

/// Reads of a whole store end at their deadline: with the reason, without leaving files, and without keeping the log.
@Suite struct ReadDeadlineTests {
    /// Becomes true after this number of checks. Only the reading thread calls it.
    private final class Looks: @unchecked Sendable {
        private(set) var count = 0
        private let max: Int

        init(_ max: Int) {
            self.max = max
        }

        func isOver() -> Bool {
            self.count += 1
            return self.count > self.max
        }
    }

    enum Work: CaseIterable {
        case check, backup, export, read

        func run(_ store: Store, _ deadline: ReadDeadline) throws(NestError) {
            switch self {
            case .check:
                let report = try store.reader.check(deadline: deadline) { _ in }
                #expect(report.problems.isEmpty && report.revision == store.head)
            case .backup:
                let backup = try store.reader.backup(isCompressed: false, bytesLeftMin: 0, deadline: deadline) { $1 }
                #expect(backup.revision == store.head)
            case .export:
                let export = try store.reader.exportSubtree(
                    SubtreeRequest(root: ObjectID(1), relationship: PropertyNumber(6), properties: []),
                    atLeast: store.head,
                    isCompressed: false,
                    deadline: deadline
                )
                #expect(export.rowCount == ReadDeadlineTests.itemCount + 1)
            case .read:
                let count = try store.reader.read(deadline: deadline) { (objects, _) throws(StoreError) in
                    var count = 0
                    for id in 1...ReadDeadlineTests.itemCount {
                        if try objects.row(Fixture.item, ObjectID(Int64(id))) != nil { count += 1 }
                    }
                    return count
                }
                #expect(count == ReadDeadlineTests.itemCount)
            }
        }
    }

    private static let itemCount = 4_000

    private static func fixture(tune: (inout Store.Configuration) -> Void = { _ in }) throws -> Fixture {
        let fixture = try Fixture(inMemory: true, tune: tune)
        let dots = String(repeating: ".", count: 200)
        try fixture.commit { graph in
            _ = try graph.perform(
                WriteTransaction(mutations: (0..<Self.itemCount).map { Fixture.insert("item \($0) \(dots)") })
            )
        }
        return fixture
    }

    @Test(arguments: Work.allCases) func readsEndAtTheDeadline(_ work: Work) throws {
        let fixture = try Self.fixture()
        let names = { try FileManager.default.contentsOfDirectory(atPath: fixture.directory.path).sorted() }
        let (before, all) = (try names(), Looks(.max))
        try work.run(fixture.store, ReadDeadline(isCancelled: { false }, isLate: all.isOver))
        #expect(all.count > 2)
        for max in Set([0, 1, all.count / 2, all.count - 1]) {
            let (late, cancelled) = (Looks(max), Looks(max))
            expectRefusal(.limitExceeded) {
                try work.run(fixture.store, ReadDeadline(isCancelled: { false }, isLate: late.isOver))
            }
            expectRefusal(.cancelled) {
                try work.run(fixture.store, ReadDeadline(isCancelled: cancelled.isOver, isLate: { false }))
            }
            #expect(try names() == before)
        }
    }

    /// Packing a finished copy needs nothing from the store: it may take any time, but it ends if the client has left.
    @Test func packingABackupIgnoresTheDeadline() throws {
        let fixture = try Self.fixture()
        let backup = { (deadline: ReadDeadline, parts: Looks) in
            try fixture.store.reader.backup(isCompressed: false, bytesLeftMin: 0, deadline: deadline) { _, packed in
                _ = parts.isOver()
                return packed
            }
        }
        let (first, second) = (Looks(0), Looks(0))
        let done = try backup(ReadDeadline(isCancelled: { false }, isLate: { first.count > 0 }), first)
        #expect(done.chunks.chunkCount > 1)
        expectRefusal(.cancelled) {
            _ = try backup(ReadDeadline(isCancelled: { second.count > 0 }, isLate: { false }), second)
        }
        #expect(second.count == 1)
    }

    /// While a read is open the log only grows. When the read has ended, the log is used from its beginning again.
    @Test func logIsReusedAfterAnEndedRead() throws {
        let fixture = try Self.fixture { $0.checkpointPages = 10 }
        let logBytes = { FileBytes.read(fixture.path + "-wal").count }
        func write() throws {
            for number in 0..<100 {
                try fixture.perform(Fixture.insert("\(number) \(String(repeating: ".", count: 9_000))"))
            }
            try fixture.store.checkpointIfDue()
        }
        try write()
        let quiet = logBytes()
        let steps = Looks(0)
        expectRefusal(.limitExceeded) {
            let deadline = ReadDeadline(isCancelled: { false }, isLate: { steps.count > 1 })
            _ = try fixture.store.reader.check(deadline: deadline) { _ in
                // The first step has not started its read.
                if steps.isOver(), steps.count == 2 { #expect(throws: Never.self) { for _ in 0..<3 { try write() } } }
            }
        }
        #expect(logBytes() > 2 * quiet)
        try write()
        let most = logBytes()
        for _ in 0..<6 { try write() }
        #expect(logBytes() == most)
    }
}
