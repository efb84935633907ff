import Foundation
import NestModel
import NestStore
import NestTestSupport
import Testing

/// Lets the first disk operation fail, then the second, and so on until a fault comes after the end of the work: for
/// every kind of work, with every kind of fault. Failed changes are absent, acknowledged changes are present. After a
/// full disk the same store can still be used, after any other fault the next process can use it.
@Suite struct FaultLoopTests {
    private typealias Operation = FaultyDisk.Operation

    private static let faults: [(operations: Set<Operation>, effect: FaultyDisk.Fault.Effect, isLasting: Bool)] = [
        ([.write, .truncate], .full, true), ([.write, .truncate], .full, false), ([.write], .inputOutput, false),
        ([.sync], .inputOutput, false), ([.sync], .inputOutput, true), ([.truncate], .inputOutput, false),
        ([.read], .inputOutput, false), ([.open, .delete], .inputOutput, false), ([.sharedMemory], .inputOutput, false),
    ]

    /// The number of store histories on which the steps are tested.
    private static let histories = Int(ProcessInfo.processInfo.environment["NEST_FAULT_HISTORIES"] ?? "") ?? 1

    @Test(arguments: StoreWork.Step.allCases)
    func everyOperationOfEveryStepMayFail(step: StoreWork.Step) throws {
        var count = 0
        for seed in 1...UInt64(Self.histories) {
            let next = try self.next(step, seed: seed)
            for (operations, effect, isLasting) in Self.faults {
                var number = 0
                var isOver = false
                while !isOver, number < 2_000 {
                    number += 1
                    let fault = FaultyDisk.Fault(operations, number: number, effect, isLasting: isLasting)
                    let faults: [String]
                    do {
                        (faults, isOver) = try self.faults(step, fault, next, seed: seed)
                    } catch {
                        faults = ["\(error)"]
                    }
                    #expect(faults == [], "\(step), \(fault), seed \(seed)")
                }
                count += number - 1
            }
        }
        #expect(count > 0, "nothing failed")
        if Self.histories > 1 { print("\(step): \(count) faults in \(Self.histories) histories") }
    }

    /// Returns the faults after a step that met a disk fault, and whether the disk fault came too late.
    private func faults(
        _ step: StoreWork.Step,
        _ fault: FaultyDisk.Fault,
        _ next: StoreWork.Moment,
        seed: UInt64
    ) throws -> (faults: [String], isOver: Bool) {
        let work = try self.work(before: step, seed: seed)
        let acknowledged = try #require(work.moments.last)
        work.disk.set(fault)
        var failure: StoreError?
        do {
            try work.perform(step)
        } catch let error as StoreError {
            failure = error
        }
        let hits = work.disk.hits
        work.disk.set(nil)
        guard hits > 0 else { return ([], true) }
        if let failure, failure.isFatal || step == .reopened {
            // The result of the failed commit is unknown, but it must be complete or absent.
            return (try CrashedStore(work.files).faults(allowed: [acknowledged, next], mayBeMissing: false), false)
        }
        try work.finishPreparations()
        let expected = failure == nil ? next : acknowledged
        var faults: [String] = []
        let image = try StoredImage.of(work.store)
        if work.store.head != expected.head || image != expected.image {
            faults.append("revision \(work.store.head), not \(expected.head) and whole, after \(failure as Any)")
        }
        return (try faults + self.faultsOfGoingOn(work), false)
    }

    private func work(before step: StoreWork.Step, seed: UInt64) throws -> StoreWork {
        let work = try StoreWork(seed: seed, isRecording: false, checkpointPages: 1)
        try work.run(steps: 8)
        if step == .checkpointed || step == .reopened {
            // Writes something to the log.
            for _ in 0..<3 { try work.perform(.commit) }
            try work.note()
        }
        return work
    }

    /// Returns the state after the same step without a fault.
    private func next(_ step: StoreWork.Step, seed: UInt64) throws -> StoreWork.Moment {
        let work = try self.work(before: step, seed: seed)
        try work.perform(step)
        try work.note()
        return try #require(work.moments.last)
    }

    /// Uses the same store further, and returns the faults.
    private func faultsOfGoingOn(_ work: StoreWork) throws -> [String] {
        var faults: [String] = []
        for step in [StoreWork.Step.commit, .imported, .prepared, .reverted, .checkpointed, .reopened] {
            try work.perform(step)
            faults += try StoredImage.damage(work.store)
            faults += try StoredInvariants(work.store.layout).broken(in: work.store, head: work.store.head)
        }
        try work.store.close()
        return faults
    }
}
