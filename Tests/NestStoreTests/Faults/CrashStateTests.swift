import Foundation
import NestModel
import NestStore
import NestTestSupport
import Testing

/// After any crash, whatever is on the disk, the store opens in the last acknowledged state or in the state that was
/// being written, complete, and can be used.
///
/// `NEST_CRASH_STATES=100000 swift test --filter CrashStateTests` tests that many states; `NEST_SEED` is the first
/// seed.
@Suite struct CrashStateTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let stateCount = Int(Self.environment["NEST_CRASH_STATES"] ?? "") ?? 400
    private static let firstSeed = UInt64(Self.environment["NEST_SEED"] ?? "") ?? 1
    /// The number of tested states of one history, half of them of killed processes.
    private static let statesPerHistory = 200

    /// `defersSync`: whether one sync, after several commits, makes them durable.
    @Test(arguments: [false, true])
    func everyCrashLeavesAConsistentState(defersSync: Bool) throws {
        var lost = 0
        for history in 0..<max(1, Self.stateCount / Self.statesPerHistory) {
            let seed = Self.firstSeed + UInt64(history)
            let (lacking, faulty) = try self.states(of: seed, isSynced: true, defersSync: defersSync) {
                faults,
                comment in
                #expect(faults == [], "\(comment)")
            }
            lost += lacking
            #expect(faulty == 0, "seed \(seed)")
        }
        if Self.environment["NEST_CRASH_STATES"] != nil {
            print("\(Self.stateCount) states, \(lost) of them lacked completed operations")
        }
        #expect(lost > 0, "no power loss removed anything: the test tests nothing")
    }

    /// Tests the test: on a disk that does not sync, power losses remove acknowledged changes.
    @Test(arguments: [false, true])
    func aDiskThatDoesNotSyncIsDetected(defersSync: Bool) throws {
        let (_, faulty) = try self.states(of: Self.firstSeed, isSynced: false, defersSync: defersSync) { _, _ in }
        #expect(faulty > 0, "seed \(Self.firstSeed)")
    }

    /// After a failed fsync the kernel may drop the dirty mark of the pages and still return their bytes to readers.
    /// The next process finds these bytes in the log: the changes that it acknowledges must not depend on them.
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func acknowledgedWritesSurviveAnEarlierFailedSync(seed: UInt64) throws {
        let first = try StoreWork(seed: seed, isRecording: true)
        try first.run(steps: 10)
        first.disk.set(.init([.sync], number: 1, .inputOutput, isLasting: true))
        var failure: (any Error)?
        for _ in 0..<20 where failure == nil {
            do { try first.perform(.commit) } catch { failure = error }
        }
        #expect((failure as? StoreError)?.isFatal == true)
        var replay = CrashStates(first.disk.events)
        replay.advance(to: first.disk.eventCount)

        let second = try StoreWork(seed: seed, isRecording: true, on: replay.killed())
        for _ in 0..<3 {
            try second.perform(.commit)
            try second.note()
        }
        // The bytes that the second process found in memory were never on the disk.
        let events = second.disk.events.filter { if case .adopt = $0 { false } else { true } }
        var afterwards = CrashStates(events, on: replay.durable())
        afterwards.advance(to: events.count)
        for files in [afterwards.durable(), afterwards.killed()] {
            let faults = try CrashedStore(files).faults(allowed: [#require(second.moments.last)], mayBeMissing: false)
            #expect(faults == [], "seed \(seed)")
        }
    }

    /// Tests the states of one history. Returns how many of them lacked completed operations, and how many were faulty.
    private func states(
        of seed: UInt64,
        isSynced: Bool,
        defersSync: Bool,
        _ check: ([String], String) -> Void
    ) throws -> (lacking: Int, faulty: Int) {
        let work = try StoreWork(seed: seed, isRecording: true, defersSync: defersSync)
        try work.run(steps: 40)
        try work.store.logSync?.sync()
        try work.note()
        try work.fixture.store.close()
        let events = work.disk.events
        var faulty = 0
        var random = SeededRandom(seed: seed &+ 1 << 32)
        var replay = CrashStates(events, isSynced: isSynced)
        var lacking = 0
        let cuts = (0..<Self.statesPerHistory / 2).map { _ in random.below(events.count + 1) }.sorted()
        for cut in cuts {
            replay.advance(to: cut)
            let killed = replay.killed()
            let lost = replay.powerLost(&random)
            if lost != killed { lacking += 1 }
            for (name, files) in [("kill", killed), ("power loss", lost)] {
                let faults: [String]
                do {
                    faults = try CrashedStore(files).faults(
                        allowed: Self.allowed(work.moments, at: cut),
                        mayBeMissing: cut < work.moments[0].eventCount
                    )
                } catch {
                    faults = ["\(error)"]
                }
                if !faults.isEmpty { faulty += 1 }
                check(faults, "seed \(seed), \(name) after \(cut) of \(events.count) operations")
            }
        }
        return (lacking, faulty)
    }

    /// Returns the last acknowledged moment, and the ones that were being made: those of the next sync.
    static func allowed(_ moments: [StoreWork.Moment], at cut: Int) -> [StoreWork.Moment] {
        let next = moments.firstIndex { $0.eventCount > cut } ?? moments.count
        let made = moments[next...].prefix { $0.eventCount == moments[next].eventCount }
        return moments[..<next].suffix(1) + made
    }
}
