import NestEngine
import NestModel
import NestServer
import NestTestSupport
import Testing

struct BatchDivisionTests {
    private static func write(_ connection: UInt64, _ id: UInt32) -> EngineInput {
        .request(ConnectionID(connection), requestID: id, .undo(key: nil))
    }

    /// A division that knows a batch, each write of which took `write` nanoseconds.
    private static func division(write: UInt64 = 10, sync: UInt64 = 100, subscribers: Int = 1) -> BatchDivision {
        var division = BatchDivision()
        division.note(writes: 64, subscribers: subscribers, nanoseconds: 64 * write, syncNanoseconds: sync)
        return division
    }

    private static func writes(_ next: Mailbox.Next) -> [UInt32]? {
        guard case .batch(let batch) = next else { return nil }
        return batch.inputs.compactMap { if case .request(_, let id, .undo) = $0 { id } else { nil } }
    }

    @Test func halfOfTheWritesComeFirstIfTheyTakeLongerThanASync() {
        #expect(Self.division(write: 10, sync: 319).writesMax(of: 64, writers: 1) == 32)
        #expect(Self.division(write: 10, sync: 321).writesMax(of: 64, writers: 1) == 64)
        #expect(Self.division().writesMax(of: 65, writers: 1) == 33)
    }

    @Test func fewWritesAndManyConnectionsAreNotDivided() {
        let undivided = BatchDivision.undividedWritesMax
        #expect(Self.division().writesMax(of: undivided, writers: 1) == undivided)
        #expect(Self.division().writesMax(of: undivided + 1, writers: 1) == undivided / 2 + 1)
        #expect(Self.division().writesMax(of: 64, writers: BatchDivision.writersMax) == 32)
        #expect(Self.division().writesMax(of: 64, writers: BatchDivision.writersMax + 1) == 64)
        let most = BatchDivision.subscribersMax
        #expect(Self.division(subscribers: most).writesMax(of: 64, writers: 1) == 32)
        #expect(Self.division(subscribers: most + 1).writesMax(of: 64, writers: 1) == 64)
    }

    @Test func nothingIsDividedBeforeTheFirstSync() {
        #expect(BatchDivision().writesMax(of: 512, writers: 1) == 512)
        #expect(Self.division(sync: 0).writesMax(of: 512, writers: 1) == 512)
    }

    @Test func theSubscribersAreThoseOfTheLargestPush() {
        let connections = (1...3).map { ConnectionID($0) }
        let effects: [EngineEffect] = [
            .progress(Revision(1), to: [connections[0]]), .progress(Revision(1), to: connections),
            .whenDrained(connections[0]),
        ]
        #expect(effects.subscriberCount == 3)
        #expect([EngineEffect]().subscriberCount == 0)
    }

    @Test func oneSlowSyncChangesLittle() {
        var division = Self.division(write: 10, sync: 100)
        division.note(writes: 32, subscribers: 1, nanoseconds: 320, syncNanoseconds: 1_000)
        #expect(division.writesMax(of: 64, writers: 1) == 32)
        for _ in 0..<8 { division.note(writes: 32, subscribers: 1, nanoseconds: 320, syncNanoseconds: 1_000) }
        #expect(division.writesMax(of: 64, writers: 1) == 64)
    }

    /// The second half is the next batch, together with what comes meanwhile.
    @Test func theSecondHalfIsTheNextBatch() {
        var mailbox = Mailbox()
        _ = mailbox.append((1...64).map { Self.write(1, $0) })
        #expect(Self.writes(mailbox.next(division: Self.division())) == Array(1...32))
        #expect(mailbox.hasRequests)
        _ = mailbox.append((65...72).map { Self.write(1, $0) })
        #expect(Self.writes(mailbox.next(division: Self.division())) == Array(33...52))
        #expect(Self.writes(mailbox.next(division: Self.division())) == Array(53...72))
        #expect(Self.writes(mailbox.next(division: Self.division())) == nil)
    }

    /// While more than one batch waits, there is enough to do beside a sync.
    @Test func onlyTheLastBatchIsDivided() {
        var mailbox = Mailbox(writesMax: 64)
        _ = mailbox.append((1...128).map { Self.write(1, $0) })
        #expect(Self.writes(mailbox.next(division: Self.division())) == Array(1...64))
        #expect(Self.writes(mailbox.next(division: Self.division())) == Array(65...96))
        #expect(Self.writes(mailbox.next(division: Self.division())) == Array(97...128))
    }

    /// Every input leaves the mailbox once and in order, and each batch knows what is in it.
    @Test func dividedBatchesKeepTheOrder() {
        var dividedCount = 0
        for seed in 0..<100 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var mailbox = Mailbox(writesMax: 100)
            var next: UInt32 = 0
            var taken: [UInt32] = []
            func take(_ division: BatchDivision?) -> Bool {
                let waiting = mailbox.count
                guard case .batch(let batch) = mailbox.next(division: division) else { return false }
                if batch.inputs.count < min(waiting, 100) { dividedCount += 1 }
                #expect(mailbox.count == waiting - batch.inputs.count, "seed \(seed)")
                #expect(batch.requestCount == batch.inputs.count, "seed \(seed)")
                #expect(
                    batch.writeCount
                        == batch.inputs.count { if case .request(_, _, .undo) = $0 { true } else { false } },
                    "seed \(seed)"
                )
                taken += batch.inputs.compactMap { if case .request(_, let id, _) = $0 { id } else { nil } }
                return true
            }
            for _ in 0..<20 {
                let connection = UInt64.random(in: 1...2, using: &random)
                for _ in 0..<Int.random(in: 0...90, using: &random) {
                    next += 1
                    let isRead = Int.random(in: 0..<8, using: &random) == 0
                    let read = EngineInput.request(ConnectionID(connection), requestID: next, .statistics)
                    _ = mailbox.append([isRead ? read : Self.write(connection, next)])
                }
                _ = take(Bool.random(using: &random) ? Self.division() : nil)
            }
            while take(Self.division()) {}
            #expect(taken == Array(1..<(next + 1)), "seed \(seed)")
        }
        #expect(dividedCount > 100)
    }
}
