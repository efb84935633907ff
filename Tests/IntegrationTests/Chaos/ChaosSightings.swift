import NIOConcurrencyHelpers
import NestClient
import NestHistory
import NestModel

/// Records which revisions one client sees, and what it had seen when it asked.
final class ChaosSightings: Sendable {
    private let recorder: ChaosRecorder<ClientRecord>
    private let client: NestClient
    private let count = NIOLockedValueBox(0)

    init(_ recorder: ChaosRecorder<ClientRecord>, _ client: NestClient) {
        self.recorder = recorder
        self.client = client
    }

    /// Returns the number of a new question.
    func ask() -> Int {
        let question = self.count.withLockedValue {
            $0 += 1
            return $0
        }
        self.recorder.append(.asked(question))
        return question
    }

    func gaveUp(_ question: Int) { self.recorder.append(.gaveUp(question)) }
    func saw(_ revision: Revision) { self.recorder.append(.saw(revision)) }

    func answered(_ question: Int, _ revision: Revision) async {
        // No run has a fault that begins a new history, so there is no reason for another one.
        if let history = await self.client.server?.historyID { self.recorder.append(.history(history, reason: nil)) }
        self.recorder.append(.answered(question, revision))
    }
}
