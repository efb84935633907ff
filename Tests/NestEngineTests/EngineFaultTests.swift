import Foundation
import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// The engine's answers are correct while the disk fails. An acknowledged write is stored, a refused one is not, and
/// after a failure with an unknown outcome the engine acknowledges nothing more.
@Suite struct EngineFaultTests {
    /// An engine on a disk that can fail, with three connections.
    private final class Scene {
        let directory = TemporaryDirectory(inMemory: true)
        let disk: FaultyDisk
        let engine: Engine
        private let store: Store
        private var requestID: UInt32 = 0
        private var now: Int64 = 1_000_000

        init() throws {
            self.disk = FaultyDisk(watching: self.directory.path, isRecording: false)
            var configuration = Store.Configuration(
                location: .file(self.directory.path + "/nest.sqlite"),
                model: .nestedList
            )
            configuration.checkpointPages = 8
            self.store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
            self.engine = try Engine(store: self.store, limits: EngineLimits(diskFreeBytesMin: 1_000))
            for number in 1...3 as ClosedRange<UInt64> {
                let session = Identifier128(high: 9, low: number)
                _ = self.engine.perform(
                    [.connected(ConnectionID(number), session: session, scope: .everything)],
                    now: self.now
                )
            }
        }

        /// Performs several writes as one batch. Returns the answers by title.
        func write(_ titles: [String], key: Identifier128? = nil) -> [String: EngineReply] {
            var titleOfRequest: [UInt32: String] = [:]
            let inputs = titles.enumerated().map { index, title -> EngineInput in
                self.requestID += 1
                titleOfRequest[self.requestID] = title
                var transaction = WriteTransaction(mutations: [Self.insert(title)])
                transaction.key = key
                let connection = ConnectionID(UInt64(index % 3 + 1))
                return .request(connection, requestID: self.requestID, .transaction(transaction))
            }
            return self.perform(inputs).reduce(into: [:]) { $0[titleOfRequest[$1.key] ?? "?"] = $1.value }
        }

        func perform(_ inputs: [EngineInput]) -> [UInt32: EngineReply] {
            self.now += 1_000
            let effects = self.engine.perform(inputs, now: self.now)
            self.engine.checkpointIfDue()
            var replies: [UInt32: EngineReply] = [:]
            for case .reply(_, let id, let reply) in effects { replies[id] = reply }
            return replies
        }

        private static func insert(_ title: String) -> Mutation {
            .insert(
                entity: EngineFixture.item,
                values: [
                    PropertyAssignment(
                        EngineFixture.title,
                        .value(.string(title + String(repeating: ".", count: 1_500)))
                    )
                ],
                placements: [
                    Placement(relationship: EngineFixture.parent, owner: .object(EngineFixture.root), place: .last)
                ]
            )
        }

        /// Returns the directory with the store that the next process would find if this one stopped now.
        private func copy() -> TemporaryDirectory {
            let copy = TemporaryDirectory(inMemory: true)
            for name in ["nest.sqlite", "nest.sqlite-wal"] where FileBytes.exists("\(self.directory.path)/\(name)") {
                FileBytes.write(FileBytes.read("\(self.directory.path)/\(name)"), to: "\(copy.path)/\(name)")
            }
            return copy
        }

        /// Returns the sessions that the next process would find, and those that have entries in the journal.
        func sessionsAfterwards() throws -> (saved: [UInt64], writers: Set<UInt64>) {
            let copy = self.copy()
            let store = try Store(
                .init(location: .file(copy.path + "/nest.sqlite"), model: .nestedList),
                newHistoryID: Identifier128(high: 2, low: 2)
            )
            var writers: Set<UInt64> = []
            let saved = try store.access { () throws(StoreError) in
                try store.forEachHeader { writers.insert($0.sessionNumber) }
                return try store.sessions().map(\.number)
            }
            try store.close()
            return (saved, writers)
        }

        /// Returns the titles that the next process would find if this one stopped now.
        func titlesAfterwards() throws -> Set<String> {
            let copy = self.copy()
            let path = copy.path + "/nest.sqlite"
            let store = try Store(
                .init(location: .file(path), model: .nestedList),
                newHistoryID: Identifier128(high: 2, low: 2)
            )
            try store.close()
            let file = try StoredFile(path)
            #expect(try StoredImage.damage(file) == [])
            var titles: Set<String> = []
            try file.forEachRow("SELECT rtrim(title, '.') FROM Item WHERE id > 1") { row in
                titles.insert(row.text(0))
                return true
            }
            return titles
        }
    }

    private static let faults:
        [(operations: Set<FaultyDisk.Operation>, effect: FaultyDisk.Fault.Effect, isLasting: Bool)] = [
            ([.write], .full, true), ([.write], .full, false), ([.write], .inputOutput, false),
            ([.sync], .inputOutput, false), ([.sync], .inputOutput, true), ([.sharedMemory], .inputOutput, false),
        ]

    @Test func answersToWritesAreCorrectWhileTheDiskFails() throws {
        var refusedCount = 0
        var failedCount = 0
        for (operations, effect, isLasting) in Self.faults {
            var number = 0
            var hits = 1
            while hits > 0 {
                number += 1
                let scene = try Scene()
                var acknowledged: Set<String> = []
                var refused: Set<String> = []
                func write(_ titles: [String]) {
                    let hadFailed = scene.engine.failure != nil
                    for (title, reply) in scene.write(titles) {
                        switch reply {
                        case .receipt:
                            acknowledged.insert(title)
                            if hadFailed { Issue.record("\(title) was acknowledged after the failure") }
                        case .failure(let error) where error.code == .diskFull: refused.insert(title)
                        case .failure(let error):
                            #expect(error.code == .storageFailure && error.code.retry == .unknownOutcome, "\(error)")
                        default: Issue.record("\(reply)")
                        }
                    }
                }
                write(["a", "b"])
                scene.disk.set(.init(operations, number: number, effect, isLasting: isLasting))
                for batch in 0..<6 { write((0..<4).map { "c\(batch) \($0)" }) }
                hits = scene.disk.hits
                scene.disk.set(nil)
                let comment: Comment = "\(effect) of \(operations), the \(number)th, lasting: \(isLasting)"
                if scene.engine.failure == nil {
                    // The engine continues without intervention.
                    write(["d"])
                    #expect(acknowledged.contains("d"), comment)
                    refusedCount += refused.count
                } else {
                    failedCount += 1
                    write(["e"])
                    #expect(!acknowledged.contains("e"), comment)
                }
                let titles = try scene.titlesAfterwards()
                #expect(acknowledged.subtracting(titles) == [], comment)
                #expect(refused.intersection(titles) == [], comment)
                if scene.engine.failure == nil { #expect(titles == acknowledged, comment) }
                // Closes the engine as the server does. After a failure the test discards it.
                if scene.engine.failure == nil { try scene.engine.close() }
            }
        }
        #expect(refusedCount > 10 && failedCount > 10)
    }

    /// A session is saved together with its first entry, also when the requests of several sessions alternate in a
    /// group. A group that fails saves no session, and the next one saves them again.
    @Test func alternatingSessionsAreSavedWithTheirFirstEntriesWhileTheDiskFails() throws {
        var refusedCount = 0
        for (operations, effect, isLasting) in Self.faults {
            var number = 0
            var hits = 1
            while hits > 0 {
                number += 1
                let scene = try Scene()
                scene.disk.set(.init(operations, number: number, effect, isLasting: isLasting))
                // The first writes of three sessions, in turn.
                let replies = scene.write((0..<7).map { "a\($0)" })
                hits = scene.disk.hits
                scene.disk.set(nil)
                let comment: Comment = "\(effect) of \(operations), the \(number)th, lasting: \(isLasting)"
                let (saved, writers) = try scene.sessionsAfterwards()
                #expect(Set(saved) == writers, comment)
                guard scene.engine.failure == nil else { continue }
                if replies.values.contains(where: { $0.error != nil }) { refusedCount += 1 }
                _ = scene.write((0..<7).map { "b\($0)" })
                let later = try scene.sessionsAfterwards()
                #expect(later.saved == [1, 2, 3] && later.writers == [1, 2, 3], comment)
                try scene.engine.close()
            }
        }
        // Groups were rolled back after they had saved sessions.
        #expect(refusedCount > 0)
    }

    /// With too little free space no write is accepted, but a retry of an earlier write is answered. Writes are
    /// accepted again only when a quarter more than the minimum is free.
    @Test func writesAreRefusedWhileFreeSpaceIsLow() throws {
        let scene = try Scene()
        let key = Identifier128(high: 5, low: 5)
        guard case .receipt? = scene.write(["a"], key: key)["a"] else { throw NestError(.internalError, "not written") }
        func code(_ title: String) -> ErrorCode? {
            if case .failure(let error)? = scene.write([title])[title] { error.code } else { nil }
        }
        for (free, expected) in [
            (999, ErrorCode.diskFull), (1_200, .diskFull), (1_250, nil), (1_000, nil), (0, .diskFull),
        ] {
            _ = scene.perform([.healthSample(.init(freeBytes: free))])
            #expect(code("\(free)") == expected, "\(free)")
        }
        guard case .receipt(let receipt)? = scene.write(["a"], key: key)["a"] else {
            throw NestError(.internalError, "a retry of an earlier write was not answered with its receipt")
        }
        #expect(receipt.isReplayed)
        _ = scene.perform([.healthSample(.init(freeBytes: nil))])
        #expect(code("unknown") == nil)
        // A replaced file is a failure.
        _ = scene.perform([.healthSample(.init(freeBytes: 1, failure: .replaced(path: "x", reason: "is gone")))])
        #expect(scene.engine.failure != nil && code("late") == .storageFailure)
        #expect(try scene.titlesAfterwards() == ["a", "1250", "1000", "unknown"])
    }
}
