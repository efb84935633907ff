import NIOConcurrencyHelpers
import NestClient
import NestHistory
import NestModel

/// Watches a query and records everything it is told.
enum ChaosSubscriber {
    /// Those that are cheap to compare.
    static let kinds: [WatchedQuery.Kind] = [.whole, .filtered, .sectioned, .related]

    /// Until the last write of the run is seen, or the client is closed. `turns`: at times it becomes a subscription to
    /// something else. `participant`: whose subscription it is, if not its own.
    static func watch(
        _ query: WatchedQuery,
        _ name: String,
        of participant: String? = nil,
        _ client: NestClient,
        _ ledger: ChaosLedger,
        _ sights: ChaosSights? = nil,
        turns: ChaosTurns? = nil
    ) async throws {
        let recorder = await ledger.begin(SubscriptionRecord(name: name, query: query), of: participant)
        var isComplete = false
        do {
            try await client.withFetchedResults(query.request, verifyDigest: true) { results in
                sights?.add(name, results)
                let turning = turns.map { turns in Task { await turns.run(query, results, ledger) } }
                defer { turning?.cancel() }
                var current = query
                for try await change in results {
                    let now = turns?.query(of: results.request) ?? query
                    if now != current { recorder.append(.changed(now)) }
                    current = now
                    let state = results.state
                    recorder.append(Self.event(change, state), reached: state.revision)
                    isComplete = await Self.isAtEnd(state, ledger)
                    if isComplete { break }
                }
            }
        } catch let error as NestError where error.code == .closed {
            // The client's life is over.
        } catch let error as NestError where error.code == .notFound && turns != nil {
            // What it was to follow has left while the connection was lost, before anything was shown around it.
            await ledger.end(recorder, isComplete: false)
            return try await Self.watch(
                query,
                name + "'",
                of: participant ?? name,
                client,
                ledger,
                sights,
                turns: turns
            )
        }
        await ledger.end(recorder, isComplete: isComplete)
    }

    private static func event(
        _ change: FetchedResultsChange,
        _ state: SectionedSnapshot
    ) -> SubscriptionRecord.Event {
        switch change {
        case .snapshot: .snapshot(state)
        case .diff(let diff): .diff(diff)
        case .progress(let revision): .progress(revision)
        case .position(let position): .position(position)
        case .reset(let reset): .reset(isMismatch: reset.cause == .mismatch, reset.message)
        case .paused, .disconnected: .disconnected
        case .resumed(let revision): .resumed(revision)
        }
    }

    /// What is shown may be a part without the row that was written last.
    private static func isAtEnd(_ state: SectionedSnapshot, _ ledger: ChaosLedger) async -> Bool {
        guard let end = await ledger.endRevision else { return false }
        return state.revision >= end
    }
}

/// The subscriptions of one client, for a look at them in the moment when a receipt comes.
final class ChaosSights: Sendable {
    private let results = NIOLockedValueBox<[String: ResultsSubscription]>([:])

    func add(_ name: String, _ results: ResultsSubscription) {
        self.results.withLockedValue { $0[name] = results }
    }

    func look(_ receipt: Receipt) -> [Sight] {
        self.results.withLockedValue { $0 }.compactMap { name, results in
            results.arrivedRevision.map { Sight(subscription: name, receipt: receipt.revision, arrived: $0) }
        }
    }
}
