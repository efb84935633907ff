import NestModel
import NestTestSupport
import Testing

@testable import NestClient

@Suite struct ResultsQueueTests {
    private static func queue(verifiesDigest: Bool = false) -> ResultsQueue {
        ResultsQueue(Fixtures.request, verifiesDigest: verifiesDigest, onTaken: { _ in }, onMismatch: { _ in })
    }

    /// However a feed's events fall, and whenever they are taken, the subscriber ends where the feed is: nothing that is
    /// merged takes a revision or a row away.
    @Test func theSubscriberReachesTheFeedsState() async throws {
        for seed in 0..<500 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let queue = Self.queue(verifiesDigest: true)
            var state = Fixtures.state(1, [Fixtures.row(2, "a")])
            var isAway = false
            _ = queue.append(.snapshot(state, .first, digest: state.digest), byteCount: 10)
            for step in 0..<60 as Range<UInt64> {
                switch random.below(5) {
                case 0 where !isAway:
                    let from = state.revision.rawValue
                    let row = Fixtures.row(Int64(step) + 10, "r")
                    let diff = Fixtures.append(row, to: &state, at: from + 1 + UInt64(random.below(3)), from: from)
                    _ = queue.append(.diff(diff), byteCount: 10)
                case 1 where !isAway:
                    state.revision = Revision(state.revision.rawValue + 1)
                    _ = queue.append(.progress(state.revision), byteCount: 0)
                case 2 where !isAway:
                    isAway = true
                    _ = queue.append(.disconnected(reason: "gone"), byteCount: 0)
                case 3 where isAway:
                    isAway = false
                    state.revision = Revision(state.revision.rawValue + UInt64(random.below(3)))
                    _ = queue.append(.resumed(state.revision), byteCount: 0)
                default:
                    continue
                }
                if random.oneIn(3), queue.state.revision < state.revision {
                    _ = try await queue.next()
                }
            }
            // A last mark, so that there is an end to wait for.
            state.revision = state.revision.next
            _ = queue.append(.progress(state.revision), byteCount: 0)
            while queue.state.revision < state.revision { _ = try await queue.next() }
            #expect(queue.state == state, "seed \(seed)")
        }
    }

    @Test func aConnectionThatComesAndGoesDoesNotFillTheQueue() async throws {
        let queue = Self.queue()
        let state = Fixtures.state(1, [])
        _ = queue.append(.snapshot(state, .first, digest: state.digest), byteCount: 10)
        for revision in 2..<1_000 as Range<UInt64> {
            _ = queue.append(.disconnected(reason: "gone"), byteCount: 0)
            _ = queue.append(.resumed(Revision(revision)), byteCount: 0)
        }
        var changes: [FetchedResultsChange] = []
        while queue.state.revision < Revision(999) { changes.append(try await queue.next()) }
        #expect(changes.count == 4, "\(changes)")
    }

    @Test func bytesAreReportedAsTheyAreTaken() async throws {
        let (reports, continuation) = AsyncStream.makeStream(of: Int.self)
        let queue = ResultsQueue(
            Fixtures.request,
            verifiesDigest: false,
            onTaken: { continuation.yield($0) },
            onMismatch: { _ in }
        )
        var state = Fixtures.state(1, [])
        var grown = queue.append(.snapshot(state, .first, digest: 0), byteCount: 1_000)
        for revision in 2..<20 as Range<UInt64> {
            let diff = Fixtures.append(Fixtures.row(Int64(revision), ""), to: &state, at: revision, from: revision - 1)
            grown += queue.append(.diff(diff), byteCount: 100_000)
        }
        for _ in 0..<10 { _ = try await queue.next() }
        let left = queue.drain()
        continuation.finish()
        var reported = 0
        for await report in reports { reported += report }
        #expect(reported > 0 && reported + left == grown)
    }

    @Test func aCancelledSubscriberIsLetGo() async {
        let queue = Self.queue()
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    _ = try await queue.next()
                    return false
                } catch {
                    return error is CancellationError
                }
            }
            group.cancelAll()
            #expect(await group.next() == true)
        }
    }
}
