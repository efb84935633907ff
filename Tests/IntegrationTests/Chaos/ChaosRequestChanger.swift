import NIOConcurrencyHelpers
import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// Changes a subscription's request again and again: other rows, a window around an object, another order.
final class ChaosRequestChanger: Sendable {
    private struct State {
        var random: SeededRandom
        /// The number of windows around objects so far.
        var count = 0
        /// The queries by their request.
        var queries: [ObjectFetchRequest: WatchedQuery] = [:]
    }

    /// The query of the first request.
    private let first: WatchedQuery
    private let state: NIOLockedValueBox<State>

    init(_ first: WatchedQuery, _ random: SeededRandom) {
        self.first = first
        self.state = NIOLockedValueBox(State(random: random, queries: [Self.unnamed(first.request): first]))
    }

    /// Returns the query of a request; `nil` if the subscription was never asked for it. The anchor of the window is
    /// ignored, because the server may have replaced it.
    func query(of request: ObjectFetchRequest) -> WatchedQuery? {
        let query = self.state.withLockedValue { $0.queries[Self.unnamed(request)] }
        // If the anchor of an outline was deleted while the connection was lost, the window begins where it did.
        guard query == nil, request.outline != nil, case .range? = request.window else { return query }
        return WatchedQuery(.outline, of: self.first.list, window: request.window)
    }

    /// Changes the request until the task is cancelled.
    func run(_ results: ResultsSubscription, _ ledger: ChaosLedger) async {
        while !Task.isCancelled {
            let (pause, seed) = self.state.withLockedValue { (50 + $0.random.below(1_500), $0.random.next()) }
            // The moment does not matter.
            try? await Task.sleep(for: .milliseconds(pause))
            let ids = await ledger.someIDs(1, seed: seed).ids
            let query = self.state.withLockedValue { Self.next(after: self.first, ids.first, &$0) }
            // If the change is refused because the object is deleted, or fails without a connection, the old request
            // stays.
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
            // Distinguished by the numbers of rows before and after.
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
