import NIOCore

/// Decides when a connection must end because time has passed: its peer is silent, its output makes no progress, its
/// handshake or a frame takes too long, or the peer does not close it. The caller passes the time.
package struct Liveness: Sendable {
    package enum Action: Equatable, Sendable {
        case none, ping, silent
    }

    package let openedAt: NIODeadline
    /// Whether something was received since the last `takeHeard`. A flag is cheaper to set for each read than the time.
    private var hasHeard = false
    private var lastHeard: NIODeadline
    private var pingedAt: NIODeadline?
    private var lastProgress: NIODeadline
    private var bytesWritten = 0
    /// The frame that is arriving: the number of frames before it, and the time since when the connection waits for it.
    private var arrivingFrame: (number: Int, since: NIODeadline)?
    private var endedAt: NIODeadline?

    /// `openedAt`: when the handshake began, if that is not now.
    package init(now: NIODeadline, openedAt: NIODeadline? = nil) {
        self.openedAt = openedAt ?? now
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

    /// Returns `ping` after `interval` of silence, and `silent` when `timeout` has passed after that.
    package mutating func check(now: NIODeadline, interval: TimeAmount, timeout: TimeAmount) -> Action {
        if let pingedAt = self.pingedAt { return now >= pingedAt + timeout ? .silent : .none }
        guard now >= self.lastHeard + interval else { return .none }
        self.pingedAt = now
        return .ping
    }

    // MARK: Slowness

    /// Whether output has waited for `limit` while the socket accepted none. `bytesWritten`: the bytes that the socket
    /// has accepted so far.
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

    /// Whether a frame takes longer than `limit` to arrive, so that a peer that trickles bytes does not stay connected
    /// for ever. `frame`: the number of frames before the one that is arriving; `nil` when none is arriving.
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

    /// Whether the peer has not closed the connection within `limit` after its end.
    package func isLingerOver(now: NIODeadline, limit: TimeAmount) -> Bool {
        self.endedAt.map { now >= $0 + limit } ?? false
    }
}
