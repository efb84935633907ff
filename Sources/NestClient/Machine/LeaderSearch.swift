import NIOCore
import NestModel
import NestProtocol

/// Why and since when no node has taken a request. The request was not executed.
package struct Refusal: Equatable, Sendable {
    /// `nil`: a connection was lost since, so the time begins again with the next refusal.
    package var since: NIODeadline?
    /// The newest refusal.
    package var error: NestError
}

/// The search for a node that takes requests, from a refusal to the first request that a node takes.
struct LeaderSearch: Sendable {
    /// The address that a node named last; `nil` if it named none.
    var named: ServerAddress?
    /// Whether the client has moved in this search. Nodes may name each other for a moment, so it pauses before it
    /// moves again.
    var hasMoved = false
    /// The addresses where the log was unavailable.
    var left: Set<ServerAddress> = []
    /// Whether the requests wait until the pause ends.
    var isPausing = false
    private var pauses = Backoff(millisecondsMax: Limits.leaderPauseMillisecondsMax)
    private var hasPaused = false

    init(named: ServerAddress? = nil, hasMoved: Bool = false) {
        self.named = named
        self.hasMoved = hasMoved
    }

    mutating func nextPause(using random: inout some RandomNumberGenerator) -> Int {
        // The first pause of a back-off is none at all.
        if !self.hasPaused { _ = self.pauses.nextMilliseconds(using: &random) }
        self.hasPaused = true
        return self.pauses.nextMilliseconds(using: &random)
    }
}

/// Why the client could not connect to the leader.
struct LeaderFault: Equatable, Sendable {
    var address: ServerAddress
    var error: NestError
    var at: NIODeadline

    /// Whether another attempt would fail in the same way, until a setting is changed.
    private var isPermanent: Bool { self.error.code.retry == .never }

    /// Whether it is too early for another attempt.
    func isRecent(now: NIODeadline) -> Bool {
        let pause: TimeAmount =
            self.isPermanent
            ? .seconds(Int64(Limits.leaderWaitSeconds)) : .milliseconds(Int64(Limits.leaderPauseMillisecondsMax))
        return now - self.at < pause
    }

    /// Whether a request for this leader fails at once.
    func endsRequests(now: NIODeadline) -> Bool { self.isPermanent && self.isRecent(now: now) }
}
