import NIOConcurrencyHelpers
import NestHistory
import NestModel

/// What one client is told in one subscription, written down as it comes; taken out piece by piece.
final class ChaosRecorder<Record: ChaosRecord>: Sendable {
    /// Whose it is: the one it goes on after this subscription has ended.
    let participant: String
    private let contents: NIOLockedValueBox<(record: Record, reached: Revision)>

    init(_ record: Record, of participant: String) {
        self.participant = participant
        self.contents = NIOLockedValueBox((record, Revision(0)))
    }

    var name: String { self.contents.withLockedValue { $0.record.name } }
    /// All that is up to it has been told.
    var reached: Revision { self.contents.withLockedValue { $0.reached } }

    /// `reached`: where it leads; `nil`: nowhere.
    func append(_ event: Record.Event, reached: Revision? = nil) {
        self.contents.withLockedValue {
            $0.record.events.append(event)
            if let reached { $0.reached = reached }
        }
    }

    /// What has come since it was taken last.
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
