import NestEngine
import NestModel
import NestServer
import NestTestSupport
import Testing

struct ServerMailboxTests {
    private static func write(_ id: UInt32) -> EngineInput {
        .request(ConnectionID(1), requestID: id, .undo(key: nil))
    }

    private static func read(_ id: UInt32) -> EngineInput {
        .request(ConnectionID(1), requestID: id, .statistics)
    }

    private static func ids(_ inputs: [EngineInput]) -> [UInt32] {
        inputs.compactMap { if case .request(_, let id, _) = $0 { id } else { nil } }
    }

    @Test func theThreadIsWokenOnlyWhenItSleeps() {
        var mailbox = Mailbox()
        #expect(mailbox.append([.tick]) == false)
        guard case .batch(let batch) = mailbox.next() else {
            Issue.record("expected a batch")
            return
        }
        #expect(batch.inputs.count == 1 && batch.requestCount == 0)
        guard case .wait = mailbox.next() else {
            Issue.record("an empty mailbox must wait")
            return
        }
        #expect(mailbox.append([.tick]) == true)
        #expect(mailbox.append([.tick]) == false)
    }

    @Test func afterStopTheMailboxDrainsAndAcceptsNothing() {
        var mailbox = Mailbox()
        _ = mailbox.append([Self.write(1)])
        _ = mailbox.stop()
        #expect(mailbox.append([Self.write(2)]) == false)
        guard case .batch(let batch) = mailbox.next(), case .end = mailbox.next() else {
            Issue.record("expected one batch, then the end")
            return
        }
        #expect(Self.ids(batch.inputs) == [1])
    }

    /// Every input leaves the mailbox once and in order, and no batch has more writes than allowed.
    @Test func batchesKeepTheOrderAndTheLimit() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let writesMax = Int.random(in: 1...5, using: &random)
            var mailbox = Mailbox(writesMax: writesMax)
            var next: UInt32 = 0
            var taken: [UInt32] = []
            for _ in 0..<20 {
                for _ in 0..<Int.random(in: 0...12, using: &random) {
                    next += 1
                    _ = mailbox.append([Bool.random(using: &random) ? Self.write(next) : Self.read(next)])
                }
                guard case .batch(let batch) = mailbox.next() else { continue }
                let writes = batch.inputs.filter { if case .request(_, _, .undo) = $0 { true } else { false } }
                #expect(writes.count <= writesMax, "seed \(seed)")
                #expect(batch.requestCount == batch.inputs.count, "seed \(seed)")
                taken += Self.ids(batch.inputs)
            }
            while case .batch(let batch) = mailbox.next() { taken += Self.ids(batch.inputs) }
            #expect(taken == Array(1..<(next + 1)), "seed \(seed)")
        }
    }

    /// The engine's thread spins for a moment before it parks. After many misses it tries only now and then.
    @Test func spinningStopsAfterRepeatedMisses() {
        var wait = SpinThenPark(processors: 2)
        var now: UInt64 = 1_000
        func goesOn() -> Bool { wait.spins(now: now) }
        func begin() { wait.begin(after: 1, now: now) }
        func isMissed() -> Bool {
            now += SpinThenPark.nanoseconds - 1
            let wasOn = goesOn()
            now += 1
            return wasOn && !goesOn() && !goesOn()
        }
        #expect(!goesOn())
        // An input that arrives in time is a hit and resets the count of misses.
        for _ in 1..<SpinThenPark.missesMax {
            begin()
            #expect(isMissed())
        }
        begin()
        #expect(goesOn())
        wait.end()
        #expect(!goesOn())
        for _ in 0..<SpinThenPark.missesMax {
            begin()
            #expect(isMissed())
        }
        for _ in 0..<3 {
            for _ in 1..<SpinThenPark.retryBatches {
                begin()
                #expect(!goesOn())
                wait.end()
            }
            begin()
            #expect(isMissed())
        }
        // After one hit at such a try the thread spins every time.
        for _ in 0..<SpinThenPark.retryBatches { begin() }
        wait.end()
        begin()
        #expect(goesOn())
        wait.end()
        for count in [0, SpinThenPark.requestsMax + 1] {
            wait.begin(after: count, now: now)
            #expect(!goesOn())
        }
        wait.begin(after: SpinThenPark.requestsMax, now: now)
        #expect(goesOn())
        wait = SpinThenPark(processors: 1)
        begin()
        #expect(!goesOn())
    }
}
