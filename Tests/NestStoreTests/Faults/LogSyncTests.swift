import NIOConcurrencyHelpers
import NestModel
import NestStore
import NestTestSupport
import Testing

/// A store whose commits are durable only after a sync of its own.
@Suite struct LogSyncTests {
    /// The heads that a store has when it opens what a power loss has left.
    private static func durableHead(_ disk: FaultyDisk) throws -> Revision {
        var replay = CrashStates(disk.events)
        replay.advance(to: disk.eventCount)
        return try CrashedStore(replay.durable()).head()
    }

    private static func deferredWork() throws -> StoreWork {
        try StoreWork(seed: 1, isRecording: true, defersSync: true)
    }

    @Test func aCommitSurvivesAPowerLossAfterTheSync() throws {
        let work = try Self.deferredWork()
        let sync = try #require(work.store.logSync)
        try work.perform(.commit)
        try work.perform(.commit)
        let base = try #require(work.moments.first).head
        #expect(sync.isPending)
        #expect(try Self.durableHead(work.disk) == base)
        try sync.sync()
        #expect(!sync.isPending)
        #expect(try Self.durableHead(work.disk) == work.store.head)
        #expect(work.store.head.rawValue == base.rawValue + 2)
    }

    /// One sync of several commits is one operation of the disk.
    @Test func severalCommitsShareASync() throws {
        let work = try Self.deferredWork()
        // The first commit also syncs the head of the empty log.
        try work.perform(.commit)
        let count = work.disk.events.count { if case .sync = $0 { true } else { false } }
        for _ in 0..<5 { try work.perform(.commit) }
        try work.store.logSync?.sync()
        #expect(work.disk.events.count { if case .sync = $0 { true } else { false } } == count + 1)
    }

    @Test func whatOthersHaveReadWaitsForTheSync() throws {
        let work = try Self.deferredWork()
        let sync = try #require(work.store.logSync)
        let called = NIOLockedValueBox<[String]>([])
        sync.whenDurable { error in called.withLockedValue { $0.append("first \(error.map { "\($0)" } ?? "durable")") }
        }
        #expect(called.withLockedValue { $0 } == ["first durable"])
        try work.perform(.commit)
        sync.whenDurable { error in called.withLockedValue { $0.append("second \(error.map { "\($0)" } ?? "durable")") }
        }
        #expect(called.withLockedValue { $0 } == ["first durable"])
        try sync.sync()
        #expect(called.withLockedValue { $0 } == ["first durable", "second durable"])
    }

    @Test func afterAFailedSyncNothingIsDurable() throws {
        let work = try Self.deferredWork()
        let sync = try #require(work.store.logSync)
        let failures = NIOLockedValueBox(0)
        let note: @Sendable (StoreError?) -> Void = { error in
            #expect(error?.isFatal == true)
            failures.withLockedValue { $0 += 1 }
        }
        try work.perform(.commit)
        sync.whenDurable(note)
        work.disk.set(.init([.sync], number: 1, .inputOutput, isLasting: false))
        #expect { try sync.sync() } throws: { ($0 as? StoreError)?.isFatal == true }
        #expect(failures.withLockedValue { $0 } == 1)
        // The disk works again, but what it has dropped is lost.
        work.disk.set(nil)
        #expect(throws: StoreError.self) { try sync.sync() }
        sync.whenDurable(note)
        #expect(failures.withLockedValue { $0 } == 2)
    }

    @Test func whoWaitsHearsThatTheStoreIsClosed() throws {
        let work = try Self.deferredWork()
        let ends = NIOLockedValueBox<[Bool]>([])
        try work.perform(.commit)
        work.store.logSync?.whenDurable { error in ends.withLockedValue { $0.append(error != nil) } }
        try work.store.close()
        #expect(ends.withLockedValue { $0 } == [true])
    }

    @Test func whatOnlyReadsNeedsNoSync() throws {
        let work = try Self.deferredWork()
        let sync = try #require(work.store.logSync)
        try work.store.access { try work.store.reading { _ = try work.store.objects.row(Fixture.item, ObjectID(1)) } }
        #expect(!sync.isPending)
        #expect(throws: StoreError.self) {
            try work.fixture.commit { _ = try $0.perform(WriteTransaction(mutations: [.delete(.object(ObjectID(9)))])) }
        }
        #expect(!sync.isPending)
    }

    /// Commits that need not survive a power loss are not synced.
    @Test func aStoreInMemoryAndAReplicaHaveNone() throws {
        var configuration = Store.Configuration(location: .memory, model: .nestedList)
        configuration.checkpointPages = 24
        let store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 2))
        try store.deferSync()
        #expect(store.logSync == nil)
        try store.close()
        let replicated = try Fixture(inMemory: true, isReplicated: true)
        try replicated.store.deferSync()
        #expect(replicated.store.logSync == nil)
    }
}
