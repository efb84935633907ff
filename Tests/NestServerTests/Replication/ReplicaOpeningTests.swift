import NestModel
import NestStore
import NestTestSupport
import Testing

@testable import NestServer

/// What becomes of a node's file before the node follows the log.
@Suite struct ReplicaOpeningTests {
    private func open(_ path: String, _ log: ScriptedLog, isStopping: Bool = false) throws {
        let opening = ReplicaOpening(
            log: log,
            path: path,
            journal: nil,
            reopening: nil,
            isStopping: { isStopping }
        )
        _ = try opening.run()
    }

    /// A file at position 2 when the log was restored to position 0, and another node went on to `head`.
    private func restored(_ world: ReplicaWorld, head: Int) throws -> (path: String, log: ScriptedLog) {
        let path = try world.file("a", node: 1, leads: 2, in: world.log())
        let log = world.log()
        _ = try world.file("b", node: 2, leads: head, in: log)
        return (path, log)
    }

    /// The next leader begins a new history, also if the node never comes to the end of its opening.
    @Test(arguments: [1, 2, 3])
    func aDivergedFileIsDoubtedBeforeItIsSetAside(head: Int) throws {
        let world = try ReplicaWorld()
        let (path, log) = try self.restored(world, head: head)
        log.withState { $0.failingParts = 1 }
        #expect(throws: ReplicaOpening.Failure.self) { try self.open(path, log) }
        #expect(log.doubt)
        try self.open(path, log)
        #expect(try world.hasSetAside("a"))
        #expect(log.doubt)
        guard case .replica(let state, _) = try Store.replicaFile(at: path) else {
            Issue.record("not joined")
            return
        }
        #expect(state.position.position == 0)
    }

    /// The file of another cluster changes nothing in this one, and stays where it is.
    @Test(arguments: [1, 2, 3])
    func aFileOfAnotherClusterIsRefused(head: Int) throws {
        let world = try ReplicaWorld()
        let (_, log) = try self.restored(world, head: head)
        let other = try ReplicaWorld(history: 2)
        let path = try other.file("c", node: 3, leads: 2, in: other.log())
        do {
            try self.open(path, log)
            Issue.record("not refused")
        } catch ReplicaOpening.Failure.store(.clusterMismatch(_, let reason)) {
            #expect(reason.contains("it belongs to another cluster"))
        }
        #expect(!log.doubt)
        #expect(try !other.hasSetAside("c"))
        guard case .replica(let state, other.history) = try Store.replicaFile(at: path) else {
            Issue.record("not as it was")
            return
        }
        #expect(state.position.position == 2)
    }

    @Test func aNodeThatStopsDownloadsNothingMore() throws {
        let world = try ReplicaWorld()
        let log = world.log()
        #expect(throws: ReplicaOpening.Failure.self) { try self.open(world.path("a"), log, isStopping: true) }
        #expect(log.withState { $0.partCount } == 0)
        #expect(try Store.replicaFile(at: world.path("a")) == .missing)
    }

    /// A snapshot that another record made useless is no place to join from, wherever it stands in the list.
    @Test func aNodeJoinsFromASnapshotThatTheLogConfirms() throws {
        let world = try ReplicaWorld()
        let (_, log) = try self.restored(world, head: 3)
        log.withState { state in
            var stale = state.snapshots[0]
            stale.position = LogPosition(position: 2, chain: .empty)
            state.snapshots.insert(stale, at: 0)
        }
        try self.open(world.path("c"), log)
        guard case .replica(let state, _) = try Store.replicaFile(at: world.path("c")) else {
            Issue.record("not joined")
            return
        }
        #expect(state.position.position == 0)
    }
}
