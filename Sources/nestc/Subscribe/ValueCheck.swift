import NestClient
import NestModel

/// Compares all values of a subscription with a fetch, at intervals. The digest covers order and membership, but not
/// values.
///
/// A fetch returns the state at some revision. It is compared when the subscription is at exactly that revision, and
/// dropped if the subscription is past it.
struct ValueCheck {
    private static let diffsBetween = 16

    let client: NestClient
    private var diffCount = 0
    private var expected: SectionedSnapshot?

    init(client: NestClient) {
        self.client = client
    }

    mutating func examine(_ change: FetchedResultsChange, _ results: ResultsSubscription) async throws {
        if self.isDue(change) {
            var request = results.request
            // A fetch of a window around an object needs the object that the window follows now.
            let anchor = results.state.window?.anchor
            request.window = request.window?.following(anchor)
            do throws(NestError) {
                self.expected = try await self.client.fetch(request)
                self.expected?.window?.anchor = anchor
            } catch {
                // The object may have left the result in the meantime.
                guard error.code == .notFound, anchor != nil else { throw error }
            }
        }
        try self.compare(results.state)
    }

    /// Counts the change. Returns whether it requires a fetch.
    private mutating func isDue(_ change: FetchedResultsChange) -> Bool {
        switch change {
        case .diff:
            self.diffCount += 1
            return self.expected == nil && self.diffCount % Self.diffsBetween == 1
        case .snapshot, .progress, .position, .totals, .resumed, .paused:
            return false
        case .reset, .disconnected:
            self.expected = nil
            return false
        }
    }

    private mutating func compare(_ state: SectionedSnapshot) throws {
        guard let expected, state.revision >= expected.revision else { return }
        self.expected = nil
        guard state.revision == expected.revision, state.window?.anchor == expected.window?.anchor,
            state.sections != expected.sections || state.totals != expected.totals
        else { return }
        throw CommandFailure(
            .refused,
            "the state does not match: at revision \(expected.revision) a fetch returned other values"
        )
    }
}
