import NIOConcurrencyHelpers
import NestClient
import NestHistory
import NestModel

/// Watches a query and records everything it is told.
enum ChaosSubscriber {
    /// Those that are cheap to compare.
    static let kinds: [WatchedQuery.Kind] = [.whole, .filtered, .sectioned, .related]

    /// Until the last write of the run is seen, or the client is closed.
    static func watch(
        _ query: WatchedQuery,
        _ name: String,
        _ client: NestClient,
        _ ledger: ChaosLedger,
        _ sights: ChaosSights? = nil
    ) async throws {
        var record = SubscriptionRecord(name: name, query: query)
        do {
            try await client.withFetchedResults(query.request, verifyDigest: true) { results in
                sights?.add(name, results)
                for try await change in results {
                    if let event = Self.event(change, results) { record.events.append(event) }
                    if Self.isAtEnd(results.state) {
                        record.isComplete = true
                        break
                    }
                }
            }
        } catch let error as NestError where error.code == .closed {
            // The client's life is over.
        }
        await ledger.add(record)
    }

    private static func event(_ change: FetchedResultsChange, _ results: FetchedResults) -> SubscriptionRecord.Event? {
        switch change {
        case .snapshot: .snapshot(results.state)
        case .diff(let diff): .diff(diff)
        case .progress(let revision): .progress(revision)
        case .position, .paused: nil
        case .reset(let reset): .reset(isMismatch: reset.cause == .mismatch, reset.message)
        case .paused, .disconnected: .disconnected
        case .resumed(let revision): .resumed(revision)
        }
    }

    private static func isAtEnd(_ state: SectionedSnapshot) -> Bool {
        guard let title = state.projection.firstIndex(of: ListModel.title) else { return false }
        return state.sections.contains { section in
            section.rows.contains { $0.values[title] == .string(ChaosLedger.endTitle) }
        }
    }
}

/// The subscriptions of one client, for a look at them in the moment when a receipt comes.
final class ChaosSights: Sendable {
    private let results = NIOLockedValueBox<[String: FetchedResults]>([:])

    func add(_ name: String, _ results: FetchedResults) {
        self.results.withLockedValue { $0[name] = results }
    }

    func look(_ receipt: Receipt) -> [Sight] {
        self.results.withLockedValue { $0 }.compactMap { name, results in
            results.arrivedRevision.map { Sight(subscription: name, receipt: receipt.revision, arrived: $0) }
        }
    }
}
