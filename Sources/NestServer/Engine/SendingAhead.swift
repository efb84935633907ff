import NestEngine

/// Decides which batches the event loops get before they are durable, behind an `OutputGate`.
///
/// Small ones: for these the time in which the event loop wakes and makes frames after the sync is a large part. With
/// more clients it is better if the engine's thread begins the next batch, and does not send.
package struct SendingAhead: Sendable {
    /// With more, the engine's thread would send for longer than the event loop needs to wake.
    package static let recipientsMax = 16
    /// Connections whose requests the batch answers.
    package static let writersMax = 4
    /// So that looking at the effects takes no time that shows.
    package static let effectsMax = 32
    /// Bytes of all diffs together.
    package static let diffBytesMax = 8 << 10
    /// How many batches go the ordinary way after one that an event loop could not use, for example for a WebSocket.
    package static let pause = 64

    private let isOn: Bool
    private let pause: Int
    private var left = 0

    package init(isOn: Bool, pause: Int = Self.pause) {
        self.isOn = isOn
        self.pause = pause
    }

    /// Returns the recipients if the effects may go ahead.
    package mutating func recipients(of effects: [EngineEffect]) -> [ConnectionID]? {
        guard self.isOn, effects.count <= Self.effectsMax else { return nil }
        var recipients: [ConnectionID] = []
        var writers: [ConnectionID] = []
        var bytes = 0
        for effect in effects {
            guard let diffBytes = effect.diffBytesAhead else { return nil }
            bytes += diffBytes
            if case .reply(let id, _, _) = effect, !writers.contains(id) { writers.append(id) }
            effect.forEachRecipient { id in
                if recipients.count <= Self.recipientsMax, !recipients.contains(id) { recipients.append(id) }
            }
            guard bytes <= Self.diffBytesMax, writers.count <= Self.writersMax,
                recipients.count <= Self.recipientsMax
            else { return nil }
        }
        guard !recipients.isEmpty else { return nil }
        guard self.left == 0 else {
            self.left -= 1
            return nil
        }
        return recipients
    }

    /// Records whether an event loop has waited for the gate of the last batch that went ahead.
    package mutating func note(hadWaiters: Bool) {
        if hadWaiters { self.left = self.pause }
    }
}

extension EngineEffect {
    /// The bytes of a diff; `nil` for effects that do not go ahead: they may be large, or do more than send.
    fileprivate var diffBytesAhead: Int? {
        switch self {
        case .reply(_, _, let reply):
            switch reply {
            case .receipt, .failure, .done, .group, .undoState: 0
            default: nil
            }
        case .push(let push, _):
            switch push.content {
            case .diff(let body): body.count + (push.totals?.count ?? 0)
            case .totals(let body): body.count
            case .position: 0
            case .snapshot, .changeSet, .end: nil
            }
        case .progress, .own, .undoState: 0
        case .authors(let body, _): body.count
        default: nil
        }
    }
}
