import NIOConcurrencyHelpers
import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// Subscribes to a query and records all events.
enum ChaosSubscriber {
    /// The kinds of queries that are cheap to compare.
    static let kinds: [WatchedQuery.Kind] = [.whole, .filtered, .sectioned, .related, .outline]

    /// Watches until the run's last write arrives or the client is closed. `requestChanger` changes the request from
    /// time to time. `participant`: the owner of the subscription, if it is not named `name`. `sightings`: what the
    /// client sees.
    static func watch(
        _ query: WatchedQuery,
        _ name: String,
        of participant: String? = nil,
        _ client: NestClient,
        _ ledger: ChaosLedger,
        _ observer: ChaosReceiptObserver? = nil,
        requestChanger: ChaosRequestChanger? = nil,
        sightings: ChaosSightings? = nil
    ) async throws {
        let recorder = await ledger.begin(SubscriptionRecord(name: name, query: query), of: participant)
        var isComplete = false
        var question = sightings?.ask()
        defer { if let question { sightings?.gaveUp(question) } }
        do {
            try await client.withFetchedResults(query.request, verifyDigest: true) { results in
                observer?.add(name, results)
                let changing = requestChanger.map { changer in Task { await changer.run(results, ledger) } }
                defer { changing?.cancel() }
                var current = query
                for try await change in results {
                    let now = try requestChanger.map { try Self.query($0, of: results.request, name) } ?? query
                    if now != current { recorder.append(.changed(now)) }
                    current = now
                    let state = results.state
                    recorder.append(Self.event(change, state), reached: state.revision)
                    if let asked = question, case .snapshot = change {
                        await sightings?.answered(asked, state.revision)
                        question = nil
                    } else if question == nil {
                        sightings?.saw(state.revision)
                    }
                    isComplete = await Self.isAtEnd(state, ledger)
                    if isComplete { break }
                }
            }
        } catch let error as NestError where error.code == .closed {
            // The client was closed.
        } catch let error as NestError where error.code == .notFound && requestChanger != nil {
            // The anchor was deleted while the connection was lost, before the window had a state.
            await ledger.end(recorder, isComplete: false)
            return try await Self.watch(
                query,
                name + "'",
                of: participant ?? name,
                client,
                ledger,
                observer,
                requestChanger: requestChanger,
                sightings: sightings
            )
        }
        await ledger.end(recorder, isComplete: isComplete)
    }

    /// Returns the query of the visible state.
    private static func query(
        _ requestChanger: ChaosRequestChanger,
        of request: ObjectFetchRequest,
        _ name: String
    ) throws -> WatchedQuery {
        guard let query = requestChanger.query(of: request) else {
            throw ProcessFailure("subscription \(name) shows a request that it was never asked for: \(request)")
        }
        return query
    }

    static func event(
        _ change: FetchedResultsChange,
        _ state: SectionedSnapshot
    ) -> SubscriptionRecord.Event {
        switch change {
        case .snapshot: .snapshot(state)
        case .diff(let diff): .diff(diff)
        case .progress(let revision): .progress(revision)
        case .position(let position): .position(position)
        case .totals(let totals): .progress(totals.revision)
        case .reset(let reset): .reset(isMismatch: reset.cause == .mismatch, reset.message)
        case .paused, .disconnected: .disconnected
        case .resumed(let revision): .resumed(revision)
        }
    }

    /// Whether the state includes the last write. A window may not contain the last row, so the revision decides.
    static func isAtEnd(_ state: SectionedSnapshot, _ ledger: ChaosLedger) async -> Bool {
        guard let end = await ledger.endRevision else { return false }
        return state.revision >= end
    }
}

/// Observes which revisions the subscriptions of one client have received when a receipt arrives.
final class ChaosReceiptObserver: Sendable {
    private let results = NIOLockedValueBox<[String: ResultsSubscription]>([:])

    func add(_ name: String, _ results: ResultsSubscription) {
        self.results.withLockedValue { $0[name] = results }
    }

    func observe(_ receipt: Receipt) -> [ReceiptObservation] {
        self.results.withLockedValue { $0 }.compactMap { name, results in
            results.arrivedRevision.map {
                ReceiptObservation(subscription: name, receipt: receipt.revision, arrived: $0)
            }
        }
    }
}
