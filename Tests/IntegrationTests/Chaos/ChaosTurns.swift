import NIOConcurrencyHelpers
import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// Makes a subscription one to something else, again and again: other rows, around an object, another order.
final class ChaosTurns: Sendable {
    private struct State {
        var random: SeededRandom
        /// Windows around objects so far.
        var count = 0
        /// What was asked for, by its request.
        var queries: [ObjectFetchRequest: WatchedQuery] = [:]
    }

    private let state: NIOLockedValueBox<State>

    init(_ random: SeededRandom) {
        self.state = NIOLockedValueBox(State(random: random))
    }

    /// What a request is: an object that its window has come to follow is not told apart.
    func query(of request: ObjectFetchRequest) -> WatchedQuery? {
        self.state.withLockedValue { $0.queries[Self.unnamed(request)] }
    }

    /// Until it is cancelled.
    func run(_ first: WatchedQuery, _ results: ResultsSubscription, _ ledger: ChaosLedger) async {
        self.state.withLockedValue { $0.queries[Self.unnamed(first.request)] = first }
        while !Task.isCancelled {
            let (pause, seed) = self.state.withLockedValue { (50 + $0.random.below(1_500), $0.random.next()) }
            // Nothing hangs on when it happens.
            try? await Task.sleep(for: .milliseconds(pause))
            let ids = await ledger.someIDs(1, seed: seed).ids
            let query = self.state.withLockedValue { Self.next(after: first, ids.first, &$0) }
            // Refused (the object is gone), or in vain (there is no connection): it goes on as it was.
            _ = try? await results.change(to: query.request)
        }
    }

    private static func next(after first: WatchedQuery, _ id: ObjectID?, _ state: inout State) -> WatchedQuery {
        var query = first
        if state.random.oneIn(5) { query.kind = ChaosSubscriber.kinds.randomElement(using: &state.random)! }
        switch state.random.below(5) {
        case 0: query.window = .range(offset: state.random.below(50), limit: state.random.below(12))
        case 1: query.window = .range(offset: state.random.below(8), limit: 1 + state.random.below(8))
        default:
            guard let id else { break }
            // Told apart by how much they show.
            query.window = .around(id, before: state.count % 8, after: state.count / 8 % 8)
            state.count += 1
        }
        state.queries[Self.unnamed(query.request)] = query
        return query
    }

    private static func unnamed(_ request: ObjectFetchRequest) -> ObjectFetchRequest {
        var request = request
        if case .around(_, let before, let after) = request.window {
            request.window = .around(ObjectID(0), before: before, after: after)
        }
        return request
    }
}
