import NestClient
import NestModel

/// Compares all values of a subscription with a fetch, now and then: the digest covers order and membership, not values.
///
/// A fetch answers at some revision; it is compared when the subscription's state is exactly there, and dropped when the
/// state has gone past it.
struct ValueCheck {
    private static let diffsBetween = 16

    let request: FetchRequest
    let client: NestClient
    private var diffCount = 0
    private var expected: SectionedSnapshot?

    init(request: FetchRequest, client: NestClient) {
        self.request = request
        self.client = client
    }

    mutating func examine(_ change: FetchedResultsChange, _ results: FetchedResults) async throws {
        switch change {
        case .diff:
            self.diffCount += 1
            if self.expected == nil, self.diffCount % Self.diffsBetween == 1 {
                self.expected = try await self.client.fetch(self.request)
            }
        case .snapshot, .progress, .resumed: break
        case .reset, .disconnected: self.expected = nil
        }
        guard let expected, results.state.revision >= expected.revision else { return }
        self.expected = nil
        guard results.state.revision == expected.revision else { return }
        guard results.state.sections == expected.sections else {
            throw CommandFailure(
                .refused,
                "the state does not match: at revision \(expected.revision) a fetch has other values"
            )
        }
    }
}
