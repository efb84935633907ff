import Dispatch
import Glibc
import NIOConcurrencyHelpers
import NestModel
import NestProtocol
import NestStore
import Synchronization

/// Appends the records of one node.
///
/// The engine's thread sends a record and waits for the answer. When the session ends, or the answer takes longer than
/// `Limits.logCommitSeconds`, another thread goes on with the very same record until its fate is known.
final class PostgresSharedLog: SharedLog {
    private let session: Mutex<AppendSession>
    private let resolver = DispatchQueue(label: "nest.log.append")
    private let onResolved: @Sendable (LogPosition, AppendOutcome) -> Void
    private let state = NIOLockedValueBox(State())

    private struct State {
        /// A record is on its way. No other may be appended, and no claim made.
        var isBusy = false
        var isClosed = false
        /// This node has claimed the lead, and so keeps its session.
        var isWatched = false
        /// Records so far.
        var count = 0
    }

    private static let watchTime = DispatchTimeInterval.milliseconds(50)
    /// How long one step of the resolver waits, so that `close` is noticed.
    private static let stepTime = Duration.milliseconds(100)

    init(
        _ address: PostgresAddress,
        store: Int64,
        node: Identifier128,
        onResolved: @escaping @Sendable (LogPosition, AppendOutcome) -> Void
    ) {
        self.session = Mutex(AppendSession(address, store: store, node: node))
        self.onResolved = onResolved
    }

    func append(_ record: LogRecord, chain: Chain, after: LogPosition) -> AppendOutcome {
        let deadline = Deadline(after: .seconds(Limits.logCommitSeconds))
        let number = self.state.withLockedValue { (state) -> Int? in
            guard !state.isBusy, !state.isClosed else { return nil }
            state.isBusy = true
            state.count += 1
            return state.count
        }
        guard let number else {
            return .refused(NestError(.logUnavailable, "this node does not append to the cluster's log now"))
        }
        let attempt = AppendSession.Attempt(number: number, record: record, chain: chain, after: after)
        if let outcome = self.tryAtOnce(attempt, until: deadline) {
            self.state.withLockedValue { $0.isBusy = false }
            return outcome
        }
        let promise = Promise()
        self.resolver.async { self.resolve(attempt, promise) }
        return promise.wait(until: deadline) ?? .unknown
    }

    /// The usual way: one round trip on the engine's thread. Returns `nil` if it takes more than that.
    private func tryAtOnce(_ attempt: AppendSession.Attempt, until deadline: Deadline) -> AppendOutcome? {
        // Connecting, reading, and the parts of a large record may take longer than the engine waits.
        guard attempt.record.bytes.isBody else { return nil }
        let step = self.session.withLockIfAvailable { session in
            session.canAppendAtOnce ? session.step(attempt, until: deadline) : nil
        }
        if case .known(let outcome)?? = step { return outcome }
        return nil
    }

    /// On the resolver's thread: goes on until the record's fate is known.
    private func resolve(_ attempt: AppendSession.Attempt, _ promise: Promise) {
        while !self.state.withLockedValue({ $0.isClosed }) {
            switch self.session.withLock({ $0.step(attempt, until: Deadline(after: Self.stepTime)) }) {
            case .waiting:
                continue
            case .again(let pause):
                usleep(UInt32(pause / .microseconds(1)))
            case .known(let outcome):
                self.state.withLockedValue { $0.isBusy = false }
                if !promise.fulfil(outcome) { self.onResolved(attempt.place, outcome) }
                return
            case .unresolvable:
                // The outcome stays unknown. The node's store is behind the log's base too, so that it joins again.
                self.state.withLockedValue { $0.isBusy = false }
                _ = promise.fulfil(.unknown)
                return
            }
        }
    }

    /// Looks regularly whether the session has ended, which an idle leader would not notice, and other nodes would.
    private func watch() {
        self.resolver.asyncAfter(deadline: .now() + Self.watchTime) { [weak self] in
            guard let self, !self.state.withLockedValue({ $0.isClosed }) else { return }
            self.keepConnected()
            self.watch()
        }
    }

    /// Connects again when the session has ended while no record was on its way.
    func keepConnected() {
        guard !self.state.withLockedValue({ $0.isBusy || $0.isClosed }) else { return }
        _ = self.session.withLockIfAvailable { session in
            do throws(PostgresFailure) { try session.connect() } catch {}
        }
    }

    /// Claims the lead for this node: returns the epoch, or `nil` if another node leads.
    func claim(_ claimed: AppendSession.Claimed) throws(LogFailure) -> Int64? {
        try self.checkIdle()
        return try self.session.withLock { (session) throws(LogFailure) in
            // The engine may have begun to append.
            try self.checkIdle()
            do throws(PostgresFailure) {
                switch try session.claim(claimed) {
                case .leading(let epoch):
                    let mustWatch = self.state.withLockedValue { state in
                        defer { state.isWatched = true }
                        return !state.isWatched
                    }
                    if mustWatch { self.watch() }
                    return epoch
                case .refused: return nil
                case .waiting: throw .lost("PostgreSQL has not confirmed the claim yet: it waits for its standby")
                }
            } catch {
                throw error.logFailure
            }
        }
    }

    private func checkIdle() throws(LogFailure) {
        guard self.state.withLockedValue({ $0.isBusy }) else { return }
        throw .unavailable("the fate of a record of this node is not known yet")
    }

    /// Ends the session. A record whose fate is open stays so.
    func close() {
        self.state.withLockedValue { $0.isClosed = true }
        self.resolver.async { self.session.withLock { $0.drop() } }
    }
}

/// A value that one thread waits for and another one provides.
private final class Promise: Sendable {
    private enum State {
        case waiting
        case fulfilled(AppendOutcome)
        case abandoned
    }

    private let state = NIOLockedValueBox(State.waiting)
    private let signal = DispatchSemaphore(value: 0)

    /// Provides the value; `false` if no thread waits any more.
    func fulfil(_ outcome: AppendOutcome) -> Bool {
        let isAwaited = self.state.withLockedValue { state in
            guard case .waiting = state else { return false }
            state = .fulfilled(outcome)
            return true
        }
        if isAwaited { self.signal.signal() }
        return isAwaited
    }

    /// Returns the value, or `nil` at the deadline.
    func wait(until deadline: Deadline) -> AppendOutcome? {
        _ = self.signal.wait(timeout: .now() + .milliseconds(Int(deadline.milliseconds)))
        return self.state.withLockedValue { state in
            guard case .fulfilled(let outcome) = state else {
                state = .abandoned
                return nil
            }
            return outcome
        }
    }
}
