import NIOConcurrencyHelpers
import NestHistory
import NestModel

/// Records the events of one subscription of one client. The record is taken piece by piece.
final class ChaosRecorder<Record: ChaosRecord>: Sendable {
    /// The participant that owns the subscription. It may subscribe again after this subscription ends.
    let participant: String
    private let contents: NIOLockedValueBox<(record: Record, reached: Revision)>

    init(_ record: Record, of participant: String) {
        self.participant = participant
        self.contents = NIOLockedValueBox((record, Revision(0)))
    }

    var name: String { self.contents.withLockedValue { $0.record.name } }
    /// The revision up to which all changes have arrived.
    var reached: Revision { self.contents.withLockedValue { $0.reached } }

    /// `reached`: the revision after the event, or `nil` if the event does not complete a revision.
    func append(_ event: Record.Event, reached: Revision? = nil) {
        self.contents.withLockedValue {
            $0.record.events.append(event)
            if let reached { $0.reached = reached }
        }
    }

    /// Returns and removes the events since the last call.
    func take(isComplete: Bool) -> Record {
        self.contents.withLockedValue {
            var piece = $0.record
            piece.isComplete = isComplete
            $0.record.events = []
            return piece
        }
    }
}

protocol ChaosRecord: Sendable {
    associatedtype Event: Sendable
    var name: String { get }
    var events: [Event] { get set }
    var isComplete: Bool { get set }
}

extension SubscriptionRecord: ChaosRecord {}
extension FollowerRecord: ChaosRecord {}
extension ClientRecord: ChaosRecord {}
