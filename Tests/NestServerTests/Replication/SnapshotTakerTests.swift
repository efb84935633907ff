import Logging
import NestModel
import NestStore
import Testing

@testable import NestServer

/// What the thread for snapshots does besides.
@Suite struct SnapshotTakerTests {
    /// The driver goes on while records are removed, and a node that stops does not wait for the end.
    @Test func aTruncationEndsWhenTheNodeStops() async throws {
        let world = try ReplicaWorld()
        let log = world.log()
        log.withState { $0.truncatesForEver = true }
        let configuration = Store.Configuration(location: .file(world.path("a")), model: .nestedList)
        let store = try Store(configuration, newHistoryID: world.history)
        let journal = ReplicaJournal(Logger(label: "tests"), ReplicaMetrics())
        let taker = SnapshotTaker(log, store.reader, journal, bytesLeftMin: 0)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            log.withState { $0.onTruncation = { continuation.resume() } }
            taker.truncate(through: 1, removing: [])
        }
        await taker.stop()
        try store.close()
    }
}
