/// Repeats one statement and reports its rows as deliveries.
public final class PostgresRequester: RequestWire {
    public let opening = PostgresFrames.startup()
    private var frames = PostgresFrames()
    private let setup: [UInt8]
    private let request: [UInt8]
    private let copied: [UInt8]
    /// How often the server became ready for a query. The first time is after the start, the second after the setup.
    private var readyCount = 0

    private init(setup: [UInt8], request: [UInt8], copied: [UInt8] = []) {
        self.setup = setup
        self.request = request
        self.copied = copied
    }

    /// Prepares the statement once and runs it for each request.
    public static func running(_ sql: String) -> PostgresRequester {
        PostgresRequester(setup: PostgresFrames.prepare("s", sql), request: PostgresFrames.execute("s"))
    }

    /// Runs statements without parameters, in one transaction.
    public static func asking(_ sql: String) -> PostgresRequester {
        PostgresRequester(setup: PostgresFrames.query("SELECT 1"), request: PostgresFrames.query(sql))
    }

    /// `COPY … FROM STDIN` with these lines.
    public static func copying(_ sql: String, lines: [UInt8]) -> PostgresRequester {
        var messages: [UInt8] = []
        for start in stride(from: 0, to: lines.count, by: 65_536) {
            messages += PostgresFrames.message("d", Array(lines[start..<min(start + 65_536, lines.count)]))
        }
        return PostgresRequester(
            setup: PostgresFrames.query("SELECT 1"),
            request: PostgresFrames.query(sql),
            copied: messages + PostgresFrames.message("c", [])
        )
    }

    public func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received {
        var received = Received()
        try self.frames.scan(bytes) { type in
            switch type {
            case UInt8(ascii: "D"): received.deliveries += 1
            case UInt8(ascii: "G"): reply += self.copied
            case UInt8(ascii: "Z"):
                self.readyCount += 1
                switch self.readyCount {
                case 1: reply += self.setup
                case 2: received.isReady = true
                default: received.answers += 1
                }
            default: break
            }
        }
        return received
    }

    public func appendRequest(to output: inout [UInt8]) { output += self.request }
}

/// Listens to a channel, and runs the query again after each notification. So it has the whole list in its order each
/// time, like a subscriber of nest. After notifications during a query it runs the query once more; the states that it
/// skips count as delivered.
public final class PostgresSubscriber: PeerWire {
    public let opening = PostgresFrames.startup()
    private var frames = PostgresFrames()
    private let setup: [[UInt8]]
    private var setupDone = 0
    private var isFetching = false
    private var isStale = false
    /// The rows of the current result, and of the last one.
    private var rows = 0
    private var known: Int?

    public init(channel: String, query: String) {
        self.setup = [PostgresFrames.query("LISTEN \(channel)"), PostgresFrames.prepare("s", query)]
    }

    public func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received {
        var received = Received()
        try self.frames.scan(bytes) { type in
            switch type {
            case UInt8(ascii: "D"): self.rows += 1
            case UInt8(ascii: "A"):
                self.isStale = true
                if !self.isFetching, self.known != nil { self.fetch(&reply) }
            case UInt8(ascii: "Z"): self.becameReady(&reply, &received)
            default: break
            }
        }
        return received
    }

    private func becameReady(_ reply: inout [UInt8], _ received: inout Received) {
        if self.setupDone < self.setup.count {
            reply += self.setup[self.setupDone]
            self.setupDone += 1
            return
        }
        guard self.isFetching else { return self.fetch(&reply) }
        self.isFetching = false
        if let known = self.known {
            received.deliveries += self.rows - known
        } else {
            received.isReady = true
        }
        self.known = self.rows
        if self.isStale { self.fetch(&reply) }
    }

    private func fetch(_ reply: inout [UInt8]) {
        self.rows = 0
        self.isStale = false
        self.isFetching = true
        reply += PostgresFrames.execute("s")
    }
}
