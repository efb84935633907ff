import NIOConcurrencyHelpers
import NestEngine
import NestStore

/// Passes records from the link to the engine: those that wait, as one input, as soon as the engine has applied the
/// ones before. So none is behind a gap when the engine could not apply one, and no more is held than the bound.
final class RecordIntake: Sendable {
    private struct State {
        /// Where the engine's store is.
        var applied: LogPosition
        var waiting: [LogEntry] = []
        var waitingBytes = 0
        /// The last record that the engine was given and has not applied.
        var inFlight: Int64?
        /// Whether the link stopped reading because too much waits.
        var isHeld = false
        /// Whether what the link adds follows the engine's position without a gap.
        var isWhole = false

        /// Returns the records that the engine gets now.
        mutating func next() -> [LogEntry] {
            guard self.inFlight == nil, !self.waiting.isEmpty else { return [] }
            let applied = self.applied.position
            let entries = self.waiting.filter { $0.position.position > applied }
            self.waiting = []
            self.waitingBytes = 0
            self.inFlight = entries.last?.position.position
            return entries
        }
    }

    private let state: NIOLockedValueBox<State>
    private let submit: @Sendable ([LogEntry]) -> Void

    init(at position: LogPosition, submit: @escaping @Sendable ([LogEntry]) -> Void) {
        self.state = NIOLockedValueBox(State(applied: position))
        self.submit = submit
    }

    /// Where the engine's store is, as far as it has said.
    var position: LogPosition { self.state.withLockedValue { $0.applied } }

    /// Returns the position behind which the link asks for records: what it adds from now on follows it.
    func begin() -> LogPosition {
        self.state.withLockedValue { state in
            state.isWhole = true
            return state.applied
        }
    }

    /// Adds records, in order. Returns whether more may be read; otherwise `applied` says when.
    func add(_ entries: [LogEntry]) -> Bool {
        let (next, mayRead) = self.state.withLockedValue { state in
            guard state.isWhole else { return ([LogEntry](), true) }
            state.waiting += entries
            state.waitingBytes += entries.reduce(0) { $0 + $1.bytes.count }
            let next = state.next()
            state.isHeld = state.waitingBytes >= ReplicaMachine.unappliedBytesMax
            return (next, !state.isHeld)
        }
        if !next.isEmpty { self.submit(next) }
        return mayRead
    }

    /// The engine's store is here now. Returns whether the link may read again.
    func applied(_ position: LogPosition) -> Bool {
        let (next, mayReadAgain) = self.state.withLockedValue { state in
            state.applied = position
            if let last = state.inFlight, last <= position.position { state.inFlight = nil }
            let next = state.next()
            let mayReadAgain = state.isHeld && state.waitingBytes < ReplicaMachine.unappliedBytesMax
            if mayReadAgain { state.isHeld = false }
            return (next, mayReadAgain)
        }
        if !next.isEmpty { self.submit(next) }
        return mayReadAgain
    }

    /// Drops what waits and what is added until `begin`: the connection has ended, or the engine has not applied what
    /// it was given.
    func clear() {
        self.state.withLockedValue { state in
            state.waiting = []
            state.waitingBytes = 0
            state.inFlight = nil
            state.isHeld = false
            state.isWhole = false
        }
    }
}
