import NIOConcurrencyHelpers
import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// Follows an outline, and folds, unfolds, zooms, filters and scrolls it again and again.
final class ChaosOutlineUser: Sendable {
    private struct State {
        var random: SeededRandom
        /// The query with the last fold states. Each of its edits has another window.
        var wanted: WatchedQuery
        /// Whether the fold states of `wanted` are those of the outline. Not after a request without an answer.
        var isCertain = true
        var count = 0
        var queries: [FetchWindow: WatchedQuery] = [:]
        /// The last query around an object, by its number of rows.
        var anchored: [Int: WatchedQuery] = [:]
    }

    let name: String
    private let list: ObjectID
    private let state: NIOLockedValueBox<State>

    init(_ name: String, of list: ObjectID, _ random: SeededRandom) {
        self.name = name
        self.list = list
        var random = random
        var query = WatchedQuery(.outline, of: list)
        query.outline.isUnfolded = random.oneIn(2)
        self.state = NIOLockedValueBox(State(random: random, wanted: query))
    }

    /// Watches until the run's last write arrives or the client is closed.
    func watch(_ client: NestClient, _ ledger: ChaosLedger) async throws {
        for life in 1... {
            let query = self.state.withLockedValue { state in
                (state.wanted.list, state.wanted.window, state.isCertain) = (self.list, Self.firstWindow, true)
                state.queries = [Self.firstWindow: state.wanted]
                state.anchored = [:]
                return state.wanted
            }
            let recorder = await ledger.begin(
                SubscriptionRecord(name: "\(self.name) \(life)", query: query),
                of: self.name
            )
            do {
                try await self.follow(query, client, recorder, ledger)
                return await ledger.end(recorder, isComplete: true)
            } catch let error as NestError where error.code == .closed {
                return await ledger.end(recorder, isComplete: false)
            } catch let error as NestError where error.code == .notFound {
                // The object that the outline is below was deleted while the connection was lost.
                await ledger.end(recorder, isComplete: false)
            }
        }
    }

    private static let firstWindow = FetchWindow.range(offset: 0, limit: 500)

    private func follow(
        _ first: WatchedQuery,
        _ client: NestClient,
        _ recorder: ChaosRecorder<SubscriptionRecord>,
        _ ledger: ChaosLedger
    ) async throws {
        try await client.withOutline(first.request, verifyDigest: true) { outline in
            let user = Task { await self.use(outline, recorder, ledger) }
            defer { user.cancel() }
            var current = first
            for try await change in outline {
                let now = try self.query(of: outline.request, after: current)
                if now != current { recorder.append(.changed(now)) }
                current = now
                let state = outline.snapshot
                recorder.append(ChaosSubscriber.event(change.event, state), reached: state.revision)
                if await ChaosSubscriber.isAtEnd(state, ledger) { return }
            }
        }
    }

    /// Returns the query of the visible state.
    private func query(of request: ObjectFetchRequest, after current: WatchedQuery) throws -> WatchedQuery {
        guard let window = request.window else { throw ProcessFailure("\(self.name) has no window") }
        if let query = self.state.withLockedValue({ $0.queries[Self.unnamed(window)] }) { return query }
        // If the anchor was deleted while the connection was lost, the window begins where it did, also if no state
        // around the anchor was ever visible.
        guard case .range(_, let limit) = window,
            var query = limit == current.window?.rowCount
                ? current : self.state.withLockedValue({ $0.anchored[limit] })
        else { throw ProcessFailure("\(self.name) shows a window that it was never asked for: \(window)") }
        query.window = window
        return query
    }

    // MARK: What the user does

    /// Uses the outline until the task is cancelled.
    private func use(
        _ outline: OutlineResults,
        _ recorder: ChaosRecorder<SubscriptionRecord>,
        _ ledger: ChaosLedger
    ) async {
        while !Task.isCancelled {
            let (pause, seed) = self.state.withLockedValue { (20 + $0.random.below(700), $0.random.next()) }
            // The moment does not matter.
            try? await Task.sleep(for: .milliseconds(pause))
            let ids = await ledger.someIDs(4, seed: seed).ids
            guard ids.count == 4 else { continue }
            if self.state.withLockedValue({ $0.isCertain && !$0.random.oneIn(3) }) {
                await self.fold(ids, outline, recorder)
            }
            if self.state.withLockedValue({ $0.random.oneIn(2) }) { await self.edit(ids, outline) }
        }
    }

    private func fold(
        _ ids: [ObjectID],
        _ outline: OutlineResults,
        _ recorder: ChaosRecorder<SubscriptionRecord>
    ) async {
        let (number, states) = self.state.withLockedValue { state in
            let states = ids.prefix(1 + state.random.below(4)).map {
                ExpandedState($0, isExpanded: state.random.oneIn(2))
            }
            state.wanted.foldNumber += 1
            state.wanted.outline.set(states)
            return (state.wanted.foldNumber, states)
        }
        recorder.append(.folding(number, states))
        do throws(NestError) {
            try await outline.setExpanded(states)
        } catch {
            self.state.withLockedValue { $0.isCertain = false }
        }
    }

    /// Changes all that the request has. Now and then, and if the fold states are not certain, the fold states too.
    private func edit(_ ids: [ObjectID], _ outline: OutlineResults) async {
        let (query, setsFolds) = self.state.withLockedValue { state in
            var query = state.wanted
            query.list = state.random.oneIn(3) ? ids[0] : self.list
            query.outline.hidesDone = state.random.oneIn(4)
            // Each edit has another window; the number of rows is even for ranges, odd around an object.
            state.count += 1
            let count = state.count
            if state.random.oneIn(2) {
                query.window = .around(ids[1], before: count % 8, after: count % 8 + count / 8 % 12 * 2)
                state.anchored[query.window!.rowCount] = query
            } else {
                query.window = .range(offset: count % 12, limit: 2 + count / 12 % 20 * 2)
            }
            let setsFolds = !state.isCertain || state.random.oneIn(5)
            if setsFolds, state.random.oneIn(2) {
                query.outline.isUnfolded = state.random.oneIn(2)
                query.outline.exceptions = Set(ids.prefix(state.random.below(4)))
            }
            state.queries[Self.unnamed(query.window!)] = query
            return (query, setsFolds)
        }
        do throws(NestError) {
            try await outline.change(
                source: query.list,
                where: query.outline.predicate,
                window: query.window,
                outline: setsFolds ? query.outline.fetch : nil
            )
            self.state.withLockedValue { ($0.wanted, $0.isCertain) = (query, true) }
        } catch {
            // The object was deleted, or there is no connection. Without an answer both fold states are possible.
            if setsFolds, error.code != .notFound { self.state.withLockedValue { $0.isCertain = false } }
        }
    }

    /// The anchor is left out, because the server may have replaced it.
    private static func unnamed(_ window: FetchWindow) -> FetchWindow {
        guard case .around(_, let before, let after) = window else { return window }
        return .around(ObjectID(0), before: before, after: after)
    }
}

extension FetchWindow {
    fileprivate var rowCount: Int {
        switch self {
        case .range(_, let limit): limit
        case .around(_, let before, let after): before + 1 + after
        }
    }
}
