import NIOCore

/// Finds peers that are gone without a word, and connections whose output makes no progress.
package struct Liveness: Sendable {
    package enum Action: Equatable, Sendable {
        case none, ping, silent
    }

    private var lastHeard: NIODeadline
    private var pingedAt: NIODeadline?
    private var lastProgress: NIODeadline
    private var bytesWritten = 0

    package init(now: NIODeadline) {
        self.lastHeard = now
        self.lastProgress = now
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

    /// Whether bytes have waited for longer than `limit` while none went out. `bytesWritten`: what the socket took so far.
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
}
