import NestModel
import NestTestSupport
import Testing

@testable import NestStore

/// Stores of a cluster on disks that fail and lose power: what they lack is in the log, and they are never ahead of it.
@Suite struct ReplicaFaultTests {
    /// A cluster of two stores on a disk that fails.
    private final class Cluster {
        let fixture: Fixture
        let replica: Replica
        let disk: FaultyDisk

        init(isRecording: Bool = false) throws {
            var disk: FaultyDisk?
            self.fixture = try Fixture(inMemory: true, isReplicated: true) { configuration in
                configuration.streamedFrom = 10
                configuration.inlineBytesMax = 500
                configuration.checkpointPages = 8
                guard case .file(let path) = configuration.location else { return }
                disk = FaultyDisk(watching: String(path.dropLast("/nest.sqlite".count)), isRecording: isRecording)
            }
            self.replica = try #require(self.fixture.replica)
            self.disk = try #require(disk)
            try self.replica.catchUp()
        }

        /// Writes a transaction, an import and a deletion.
        func write() throws {
            let ids = try self.fixture.perform(Fixture.insert("a"), Fixture.insert("b"))
            let rows = (0..<40).map { (depth: min($0, $0 % 4), title: "import \($0)") }
            let staged = try self.fixture.stage(rows, under: ids[0])
            try self.fixture.commit { _ = try $0.importSubtree(staged) }
            try self.fixture.perform(.delete(.object(ids[0])))
        }

        /// Opens the files that a crash left, and applies what the log has behind them.
        func recovered(_ files: [String: [UInt8]]) throws -> Identifier128 {
            let directory = TemporaryDirectory(inMemory: true)
            for (name, bytes) in files where !name.hasSuffix("-shm") {
                FileBytes.write(bytes, to: "\(directory.path)/\(name)")
            }
            let name = try #require(files.keys.min())
            var configuration = Store.Configuration(location: .file("\(directory.path)/\(name)"), model: .nestedList)
            configuration.log = self.replica.log
            let store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
            let position = try #require(store.logState).position
            // Its place is in the log: it is not ahead of it, and not on another line.
            let all = self.replica.log.entries(after: -1)
            #expect(position.position < all.count && all[Int(position.position)].position == position)
            for entry in self.replica.log.entries(after: position.position) {
                _ = try store.apply(entry, isConcerned: { _ in true })
            }
            defer { try? store.close() }
            return try store.tableHash()
        }

        /// The content of a store's files.
        func files(_ name: String) -> [String: [UInt8]] {
            let names = [name, name + "-wal"].filter { FileBytes.exists("\(self.fixture.directory.path)/\($0)") }
            return Dictionary(
                uniqueKeysWithValues: names.map { ($0, FileBytes.read("\(self.fixture.directory.path)/\($0)")) }
            )
        }
    }

    private static let faults: [(Set<FaultyDisk.Operation>, FaultyDisk.Fault.Effect, isLasting: Bool)] = [
        ([.write, .truncate], .full, true), ([.write, .truncate], .full, false), ([.write], .inputOutput, false),
        ([.sync], .inputOutput, true), ([.read], .inputOutput, false),
    ]

    /// Runs `work` on a new cluster with each fault, until a fault comes after its end. Then runs `check` on a sound
    /// disk with the error of the work.
    private func forEachFault(
        prepare: (Cluster) throws -> Void = { _ in },
        _ work: (Cluster) throws -> Void,
        check: (Cluster, StoreError?, Comment) throws -> Void
    ) throws {
        var count = 0
        for (operations, effect, isLasting) in Self.faults {
            for number in 1...500 {
                let cluster = try Cluster()
                try prepare(cluster)
                let fault = FaultyDisk.Fault(operations, number: number, effect, isLasting: isLasting)
                cluster.disk.set(fault)
                var failure: StoreError?
                do {
                    try work(cluster)
                } catch {
                    failure = try #require(error as? StoreError)
                }
                let hits = cluster.disk.hits
                cluster.disk.set(nil)
                guard hits > 0 else { break }
                count += 1
                try check(cluster, failure, "\(fault): \(failure as Any)")
            }
        }
        #expect(count > 10, "\(count) faults")
    }

    @Test func aFollowerCatchesUpAfterEveryFailedOperation() throws {
        try self.forEachFault(prepare: { try $0.write() }) { cluster in
            try cluster.replica.catchUp()
            try cluster.replica.store.checkpointIfDue()
        } check: { cluster, failure, comment in
            let leader = try cluster.fixture.store.tableHash()
            if failure?.isFatal ?? false {
                #expect(try cluster.recovered(cluster.files("replica.sqlite")) == leader, comment)
            } else {
                try cluster.replica.catchUp()
                #expect(try cluster.replica.store.tableHash() == leader, comment)
            }
        }
    }

    /// If the record is in the log and the local commit fails, the node stops: a restart applies the record.
    @Test func aLeaderThatCannotCommitWhatIsInTheLogStops() throws {
        var stopped = 0
        try self.forEachFault {
            try $0.write()
        } check: { cluster, failure, comment in
            let leader = cluster.fixture.store
            try cluster.replica.catchUp()
            let expected = try cluster.replica.store.tableHash()
            if try #require(leader.logState).position != cluster.replica.log.head {
                stopped += 1
                #expect(failure?.isFatal == true, comment)
            }
            if failure?.isFatal ?? false {
                #expect(try cluster.recovered(cluster.files("nest.sqlite")) == expected, comment)
            } else {
                #expect(try leader.tableHash() == expected, comment)
                try cluster.write()
                try cluster.replica.catchUp()
                #expect(try leader.tableHash() == cluster.replica.store.tableHash(), comment)
            }
        }
        #expect(stopped > 0, "no commit failed behind its append: the test tests nothing")
    }

    /// Without an fsync for each commit a power loss removes the newest ones: the store is at an earlier position.
    @Test func aPowerLossLeavesAnEarlierPositionOfTheLog() throws {
        for seed in Seeds.range(1..<3) {
            var random = SeededRandom(seed: seed)
            let cluster = try Cluster(isRecording: true)
            let first = cluster.disk.eventCount
            for _ in 0..<6 {
                try cluster.write()
                try cluster.fixture.store.checkpointIfDue()
            }
            let expected = try cluster.fixture.store.tableHash()
            let events = cluster.disk.events
            var replay = CrashStates(events)
            let cuts = (0..<40).map { _ in first + random.below(events.count - first + 1) }.sorted()
            var lacking = 0
            for cut in cuts {
                replay.advance(to: cut)
                for files in [replay.killed(), replay.powerLost(&random)] {
                    let own = files.filter { $0.key.hasPrefix("nest.sqlite") }
                    #expect(try cluster.recovered(own) == expected, "NEST_SEED=\(seed), operation \(cut)")
                }
                let lost = replay.powerLost(&random)["nest.sqlite-wal"] != replay.killed()["nest.sqlite-wal"]
                lacking += lost ? 1 : 0
            }
            #expect(lacking > 0, "no power loss removed anything: the test tests nothing")
        }
    }
}
