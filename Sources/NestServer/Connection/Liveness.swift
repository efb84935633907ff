import NIOCore

/// When a connection must end because time has passed: its peer is gone without a word, its output makes no progress,
/// its handshake or a frame takes too long, or it does not close. It knows no clock.
package struct Liveness: Sendable {
    package enum Action: Equatable, Sendable {
        case none, ping, silent
    }

    package let openedAt: NIODeadline
    /// Something was received since the last `takeHeard`: cheaper to note for each read than the time.
    private var hasHeard = false
    private var lastHeard: NIODeadline
    private var pingedAt: NIODeadline?
    private var lastProgress: NIODeadline
    private var bytesWritten = 0
    /// The frame that is arriving, by the number of those before it, and since when it is awaited.
    private var arrivingFrame: (number: Int, since: NIODeadline)?
    private var endedAt: NIODeadline?

    package init(now: NIODeadline) {
        self.openedAt = now
        self.lastHeard = now
        self.lastProgress = now
    }

    // MARK: Silence

    package mutating func noteBytes() { self.hasHeard = true }

    /// Returns whether something was received since the last call.
    package mutating func takeHeard() -> Bool {
        defer { self.hasHeard = false }
        return self.hasHeard
    }

    package mutating func heard(now: NIODeadline) {
        self.lastHeard = now
        self.pingedAt = nil
    }

    /// After `interval` of silence a PING is due; `timeout` after that the peer counts as gone.
    package mutating func check(now: NIODeadline, interval: TimeAmount, timeout: TimeAmount) -> Action {
        if let pingedAt = self.pingedAt { return now >= pingedAt + timeout ? .silent : .none }
        guard now >= self.lastHeard + interval else { return .none }
        self.pingedAt = now
        return .ping
    }

    // MARK: Slowness

    /// Whether bytes have waited for longer than `limit` while none went out. `bytesWritten`: what the socket took so
    /// far.
    package mutating func isStalled(
        now: NIODeadline,
        isWaiting: Bool,
        bytesWritten: Int,
        limit: TimeAmount
    ) -> Bool {
        if !isWaiting || bytesWritten != self.bytesWritten {
            self.bytesWritten = bytesWritten
            self.lastProgress = now
            return false
        }
        return now >= self.lastProgress + limit
    }

    /// Whether a frame takes longer than `limit` to arrive: a peer that trickles bytes does not stay connected for
    /// ever. `frame`: how many frames came before the one that is arriving; `nil` when none is.
    package mutating func isFrameLate(now: NIODeadline, frame: Int?, limit: @autoclosure () -> TimeAmount) -> Bool {
        guard let frame else {
            self.arrivingFrame = nil
            return false
        }
        guard let arriving = self.arrivingFrame, arriving.number == frame else {
            self.arrivingFrame = (frame, now)
            return false
        }
        return now >= arriving.since + limit()
    }

    package func isHandshakeLate(now: NIODeadline, limit: TimeAmount) -> Bool { now >= self.openedAt + limit }

    // MARK: The end

    package mutating func ended(now: NIODeadline) { self.endedAt = now }

    /// Whether the peer had `limit` to close the connection after it ended.
    package func isLingerOver(now: NIODeadline, limit: TimeAmount) -> Bool {
        self.endedAt.map { now >= $0 + limit } ?? false
    }
}
