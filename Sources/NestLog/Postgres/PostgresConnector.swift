import NestStore

/// Opens connections to whichever server takes writes, with a pause after each failure.
struct PostgresConnector {
    private let address: PostgresAddress
    private let commit: PostgresServerFacts.Commit
    /// The host that answered last: the first to be tried.
    private var host = 0
    private var pause = Self.pauseMin
    private var next = Deadline(after: .zero)
    private var lastFailure = PostgresFailure.lost("not connected yet")

    private static let pauseMin = Duration.milliseconds(25)
    private let pauseMax: Duration

    /// `pauseMax`: the longest pause after a failure.
    init(_ address: PostgresAddress, commit: PostgresServerFacts.Commit, pauseMax: Duration) {
        self.address = address
        self.commit = commit
        self.pauseMax = pauseMax
    }

    /// The time until `connect` tries again.
    var waitTime: Duration { .milliseconds(Int(self.next.milliseconds)) }

    /// Connects, or throws the last failure while it pauses.
    mutating func connect() throws(PostgresFailure) -> PostgresConnection {
        guard self.next.isOver else { throw self.lastFailure }
        var failure: PostgresFailure?
        for offset in 0..<self.address.hosts.count {
            let host = (self.host + offset) % self.address.hosts.count
            do throws(PostgresFailure) {
                let connection = try PostgresConnection.open(self.address, host: host, commit: self.commit)
                self.host = host
                self.pause = Self.pauseMin
                return connection
            } catch {
                // An unusable server is more important than one that is only away.
                if failure == nil || !error.isPassing { failure = error }
            }
        }
        self.lastFailure = failure ?? .lost("no host")
        self.next = Deadline(after: self.pause)
        self.pause = min(self.pause * 2, self.pauseMax)
        throw self.lastFailure
    }
}

extension PostgresFailure {
    /// Whether waiting may help.
    fileprivate var isPassing: Bool {
        if case .unavailable = self.logFailure { true } else { false }
    }
}
