import NestModel
import NestTestSupport
import Testing

@testable import NestClient

@Suite(.timeLimit(.minutes(10))) struct ResultsQueueTests {
    private static func queue(verifiesDigest: Bool = false) -> ResultsQueue {
        ResultsQueue(Fixtures.request, verifiesDigest: verifiesDigest, onTaken: { _ in }, onMismatch: { _ in })
    }

    /// For any order of events and any timing of the subscriber, the subscriber reaches the subscription's state:
    /// merging loses no revision and no row.
    @Test func theSubscriberReachesTheSubscriptionsState() async throws {
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
            // A last revision to wait for.
            state.revision = state.revision.next
            _ = queue.append(.progress(state.revision), byteCount: 0)
            while queue.state.revision < state.revision { _ = try await queue.next() }
            #expect(queue.state == state, "seed \(seed)")
        }
    }

    private static let change = SubscriptionElement.reset(ResultsReset(cause: .request, message: "another request"))

    /// After a request change, the new state may be older than the newest revision reported for the old request.
    @Test(arguments: [false, true]) func anOlderStateIsShownOnceItHasCaughtUp(byDiff: Bool) async throws {
        let queue = Self.queue(verifiesDigest: true)
        let first = Fixtures.state(7, [Fixtures.row(2, "a")])
        _ = queue.append(.snapshot(first, .first, digest: first.digest), byteCount: 10)
        #expect(try await queue.next() == .snapshot(.first))
        var state = Fixtures.state(4, [Fixtures.row(3, "b")])
        _ = queue.append(Self.change, byteCount: 0)
        _ = queue.append(.snapshot(state, .largeChange, digest: state.digest), byteCount: 10)
        _ = queue.append(.diff(Fixtures.append(Fixtures.row(4, "c"), to: &state, at: 5, from: 4)), byteCount: 10)
        _ = queue.append(.disconnected(reason: "gone"), byteCount: 0)
        _ = queue.append(.resumed(Revision(5)), byteCount: 0)
        guard case .reset = try await queue.next() else { return #expect(Bool(false), "no reset") }
        #expect(try await queue.next() == .disconnected(reason: "gone"))
        #expect(queue.advance() == nil)
        #expect(queue.state == first)
        if byDiff {
            _ = queue.append(.diff(Fixtures.append(Fixtures.row(5, "d"), to: &state, at: 7, from: 5)), byteCount: 10)
        } else {
            state.revision = Revision(8)
            _ = queue.append(.progress(Revision(8)), byteCount: 0)
        }
        #expect(try await queue.next() == .snapshot(.largeChange))
        #expect(queue.state == state)
    }

    /// In another history, revisions start again.
    @Test func anotherHistoryMayHaveLowerRevisions() async throws {
        let queue = Self.queue()
        for (revision, before) in [(50, []), (2, [SubscriptionElement.otherHistory, Self.change])]
            as [(UInt64, [SubscriptionElement])]
        {
            let state = Fixtures.state(revision, [])
            for element in before { _ = queue.append(element, byteCount: 0) }
            _ = queue.append(.snapshot(state, .first, digest: state.digest), byteCount: 10)
            while queue.state.revision != Revision(revision) { _ = try await queue.next() }
        }
        // From there on revisions only grow.
        let old = Fixtures.state(1, [])
        _ = queue.append(.snapshot(old, .first, digest: old.digest), byteCount: 10)
        #expect(queue.advance() == nil)
        #expect(queue.state.revision == Revision(2))
    }

    /// A subscriber joins a subscription whose first subscriber has pending events. It reaches the same state and never
    /// goes back to an older revision.
    @Test func lateSubscribersNeverSeeAnOlderRevision() async throws {
        for seed in 0..<500 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let (donor, other) = (Self.queue(verifiesDigest: true), Self.queue(verifiesDigest: true))
            var state = Fixtures.state(1, [])
            _ = donor.append(.snapshot(state, .first, digest: state.digest), byteCount: 10)
            _ = try await donor.next()
            let joins = random.below(20)
            var isJoined = false
            func append(_ element: SubscriptionElement) {
                _ = donor.append(element, byteCount: 0)
                if isJoined { _ = other.append(element, byteCount: 0) }
            }
            for step in 0..<30 {
                if step == joins {
                    // The joining subscriber may have seen any revision up to the newest, of another request.
                    let seen = Fixtures.state(1 + UInt64(random.below(Int(state.revision.rawValue) + 2)), [])
                    _ = other.append(.snapshot(seen, .first, digest: seen.digest), byteCount: 10)
                    _ = try await other.next()
                    _ = other.append(Self.change, byteCount: 0)
                    _ = other.seed(from: donor)
                    isJoined = true
                }
                if random.oneIn(2) {
                    let from = state.revision.rawValue
                    let row = Fixtures.row(Int64(step) + 10, "r")
                    append(.diff(Fixtures.append(row, to: &state, at: from + 1, from: from)))
                } else {
                    state.revision = state.revision.next
                    append(.progress(state.revision))
                }
                if random.oneIn(3), donor.state.revision < state.revision { _ = try await donor.next() }
            }
            var revision = other.state.revision
            while other.state.revision < state.revision {
                _ = try await other.next()
                #expect(other.state.revision >= revision, "seed \(seed)")
                revision = other.state.revision
            }
            #expect(other.state == state, "seed \(seed)")
        }
    }

    private static var reversed: ObjectFetchRequest {
        var request = Fixtures.request
        request.sort = [OrderingTerm(PropertyNumber(1), isAscending: false)]
        return request
    }

    /// A donor that waits for the snapshot of its new request still holds the rows of the old one. Another subscriber
    /// that joins now gets the snapshot only, whether the donor has taken the reset or not.
    @Test(arguments: [false, true]) func aStateThatAResetHasEndedIsNotPassedOn(isTaken: Bool) async throws {
        let (donor, other) = (Self.queue(), Self.queue())
        let old = Fixtures.state(3, [Fixtures.row(2, "a")])
        _ = donor.append(.snapshot(old, .first, digest: old.digest, of: Fixtures.request), byteCount: 10)
        _ = donor.append(Self.change, byteCount: 0)
        while isTaken, donor.advance() != nil {}
        _ = other.seed(from: donor)
        #expect(other.arrivedRevision == nil && other.advance() == nil)
        let new = Fixtures.state(3, [Fixtures.row(4, "b")])
        for queue in [donor, other] {
            _ = queue.append(.snapshot(new, .first, digest: new.digest, of: Self.reversed), byteCount: 10)
        }
        #expect(other.advance() == .snapshot(.first))
        #expect(other.state == new && other.request == Self.reversed)
    }

    @Test func theRequestOfAStateThatAResetHasEndedStays() {
        let queue = Self.queue()
        let state = Fixtures.state(3, [Fixtures.row(2, "a")])
        _ = queue.append(.snapshot(state, .first, digest: state.digest, of: Fixtures.request), byteCount: 10)
        _ = queue.append(Self.change, byteCount: 0)
        _ = queue.append(.request(Self.reversed), byteCount: 0)
        while queue.advance() != nil {}
        #expect(queue.state == state && queue.request == Fixtures.request)
    }

    /// A donor that has not taken the difference to its new request passes on the rows of that request, not the earlier
    /// ones.
    @Test func theRequestThatADonorHadBeforeIsNotPassedOn() async throws {
        let (donor, other) = (Self.queue(verifiesDigest: true), Self.queue(verifiesDigest: true))
        var state = Fixtures.state(3, [Fixtures.row(2, "a")])
        _ = donor.append(.snapshot(state, .first, digest: state.digest, of: Fixtures.request), byteCount: 10)
        _ = donor.append(.diff(Fixtures.append(Fixtures.row(4, "b"), to: &state, at: 4, from: 3)), byteCount: 10)
        for (id, request) in [(5, Fixtures.requestTwice), (7, Self.reversed)] as [(Int64, ObjectFetchRequest)] {
            let change = Fixtures.append(Fixtures.row(id, "c"), to: &state, at: 4, from: 4)
            _ = donor.append(.diff(change, of: request), byteCount: 10)
        }
        let changed = state
        _ = donor.append(.diff(Fixtures.append(Fixtures.row(6, "d"), to: &state, at: 5, from: 4)), byteCount: 10)
        _ = other.seed(from: donor)
        #expect(try await other.next() == .snapshot(.first))
        #expect(other.state == changed && other.request == Self.reversed)
        guard case .diff = try await other.next() else { return #expect(Bool(false), "no diff") }
        #expect(other.state == state)
    }

    /// A joining subscriber's state is at the revision of the window's position, which does not raise the connection's
    /// head. The difference of a resume then starts before it and may end at it.
    @Test func aDifferenceMayEndAtTheRevisionOfAPosition() async throws {
        let (donor, other) = (Self.queue(verifiesDigest: true), Self.queue(verifiesDigest: true))
        let position = WindowPosition(total: 2, sectionTotal: 1, start: WindowStart(row: 1, rowInSection: 1))
        var state = Fixtures.state(3, [Fixtures.row(2, "a")])
        state.window = WindowPosition(total: 1, sectionTotal: 1, start: WindowStart())
        _ = donor.append(.snapshot(state, .first, digest: state.digest), byteCount: 10)
        _ = donor.append(.position(position, Revision(4)), byteCount: 0)
        while donor.advance() != nil {}
        _ = other.seed(from: donor)
        var diff = ResultsDiff(from: Revision(3), to: Revision(4), total: 1, digest: state.digest)
        diff.window = position
        for queue in [donor, other] {
            _ = queue.append(.resumed(Revision(3)), byteCount: 0)
            _ = queue.append(.diff(diff), byteCount: 10)
        }
        #expect(try await other.next() == .snapshot(.first))
        #expect(other.state.revision == Revision(4) && other.state.window == position)
        #expect(try await other.next() == .resumed(Revision(4)))
        #expect(try await other.upcoming() == [] && other.advance() == nil)
        while donor.advance() != nil {}
        #expect(other.state == donor.state)
    }

    /// `isFromCache` ends with the first element that makes the state current. If that is a difference that the state
    /// already contains, it is shown as progress.
    @Test func aStateFromTheCacheStaysOneUntilItIsConfirmed() async throws {
        let (queue, joined) = (Self.queue(), Self.queue())
        var state = Fixtures.state(4, [Fixtures.row(2, "a")])
        let position = WindowPosition(total: 1, sectionTotal: 1, start: WindowStart())
        state.window = position
        var cached = ArrivingState(state, digest: state.digest, request: Fixtures.request)
        (cached.isCurrent, cached.isFromCache) = (false, true)
        _ = queue.append(.held(cached), byteCount: 0)
        #expect(try await queue.next() == .snapshot(.first))
        _ = queue.append(.disconnected(reason: "gone"), byteCount: 0)
        #expect(try await queue.next() == .disconnected(reason: "gone"))
        _ = queue.append(.resumed(Revision(3), awaitsDifference: true), byteCount: 0)
        #expect(try await queue.next() == .resumed(Revision(4)))
        _ = joined.seed(from: queue)
        #expect(try await joined.next() == .snapshot(.first))
        #expect(queue.isFromCache && joined.isFromCache)
        var diff = ResultsDiff(from: Revision(3), to: Revision(4), total: 1, digest: state.digest)
        diff.window = position
        for queue in [queue, joined] {
            _ = queue.append(.diff(diff), byteCount: 10)
            #expect(try await queue.next() == .progress(Revision(4)))
            #expect(queue.isCurrent && !queue.isFromCache)
        }
    }

    /// Without a cache, a state that is not current is not one from a cache.
    @Test func aStateOfALostConnectionIsNotFromTheCache() async throws {
        let (donor, other) = (Self.queue(), Self.queue())
        let state = Fixtures.state(4, [Fixtures.row(2, "a")])
        _ = donor.append(.snapshot(state, .first, digest: state.digest), byteCount: 10)
        _ = donor.append(.disconnected(reason: "gone"), byteCount: 0)
        while donor.advance() != nil {}
        _ = other.seed(from: donor)
        #expect(try await other.next() == .snapshot(.first))
        #expect(!other.isCurrent && !other.isFromCache && !donor.isFromCache)
    }

    /// A donor whose state is wrong is about to get a snapshot.
    @Test func aStateThatDoesNotFitIsNotPassedOn() async throws {
        let donor = Self.queue(verifiesDigest: true)
        let other = ResultsQueue(Fixtures.request, verifiesDigest: true, onTaken: { _ in }) {
            Issue.record("the other subscriber has no state, but \($0)")
        }
        var state = Fixtures.state(3, [])
        _ = donor.append(.snapshot(state, .first, digest: state.digest), byteCount: 10)
        var wrong = Fixtures.append(Fixtures.row(4, "b"), to: &state, at: 4, from: 3)
        wrong.digest ^= 1
        _ = donor.append(.diff(wrong), byteCount: 10)
        while donor.advance() != nil {}
        _ = other.seed(from: donor)
        let next = Fixtures.append(Fixtures.row(5, "c"), to: &state, at: 5, from: 4)
        for queue in [donor, other] { _ = queue.append(.diff(next), byteCount: 10) }
        #expect(other.advance() == nil && other.state.revision == Revision(0))
    }

    @Test func reconnectingDoesNotFillTheQueue() async throws {
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

    @Test func queuedBytesAreReportedWhenTaken() async throws {
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

    @Test func cancellingASubscriberReleasesIt() async {
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
