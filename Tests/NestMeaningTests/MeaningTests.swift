import Foundation
import NestMeaning
import NestTestSupport
import Testing

@Suite struct MeaningTests {
    /// Replays seeds that have found bugs.
    @Test func seedsOfFixedBugsPass() throws {
        for seed in [13_489, 15_653, 40_078, 61_075, 63_290, 65_049, 84_011, 85_745, 106_612] as [UInt64] {
            let run = try MeaningRun(SeededRandom(seed: seed), model: seed)
            do {
                try run.run(requests: 500)
                try run.close()
            } catch {
                Issue.record("NEST_SEED=\(seed) NEST_STEPS=500: \(error)")
            }
        }
    }

    /// To replay a failure, set `NEST_SEED=…` and `NEST_STEPS=…` in the environment. For a long run, set `NEST_COUNT=…`
    /// for the number of seeds and `NEST_FIRST=…` for the first one.
    @Test func everyRequestIsAnswered() throws {
        let environment = ProcessInfo.processInfo.environment
        let requests = environment["NEST_STEPS"].flatMap { Int($0) } ?? 400
        let seed = environment["NEST_SEED"].flatMap { UInt64($0) }
        let first = seed ?? environment["NEST_FIRST"].flatMap { UInt64($0) } ?? 0
        let count = seed != nil ? 1 : environment["NEST_COUNT"].flatMap { UInt64($0) } ?? 20
        var total = MeaningTotal()
        for seed in first..<(first + count) {
            do {
                let run = try MeaningRun(SeededRandom(seed: seed), model: seed)
                try run.run(requests: requests)
                try run.close()
                total.add(run)
            } catch {
                Issue.record("NEST_SEED=\(seed) NEST_STEPS=\(requests): \(error)")
            }
            if count > 100, seed % 100 == 99 { print("after seed \(seed): \(total)") }
        }
        guard seed == nil, environment["NEST_STEPS"] == nil else { return print(total) }
        // Most requests succeed, and the refusals have many different codes.
        #expect(total.replies * 10 > total.requests * 6 && total.diffs * 20 > total.requests, "\(total)")
        #expect(total.compared * 40 > total.requests && total.refusals.count > 12, "\(total)")
    }

    /// Models with large values: they are sent, set, undone and restored like others.
    @Test func largeValuesAreSentAndSet() throws {
        var (puts, sets) = (0, 0)
        for seed in stride(from: 6, to: 90, by: 7) as StrideTo<UInt64> {
            let run = try MeaningRun(SeededRandom(seed: seed), model: seed)
            do {
                try run.run(requests: 400)
                puts += run.putCount
                sets += try run.setCount()
                try run.close()
            } catch {
                Issue.record("NEST_SEED=\(seed) NEST_STEPS=400: \(error)")
            }
        }
        #expect(puts > 40 && sets > 5, "\(puts) values were sent, \(sets) were set")
    }
}
