import Glibc
import Histogram
import PeerWires

/// Keeps `depth` requests in flight on each connection for some time.
final class RequestRace {
    struct Result {
        var answered = 0
        var time = 0.0
        /// The microseconds from just before a request is sent until its reply arrives.
        var latency = Histogram<UInt64>(highestTrackableValue: 120_000_000)
    }

    private final class Lane {
        let connection: LoadConnection
        let wire: any RequestWire
        var sent = 0
        var answered = 0
        /// When the requests in flight were sent, as a ring.
        var sentAt: [UInt64]

        init(_ connection: LoadConnection, _ wire: any RequestWire, depth: Int) {
            self.connection = connection
            self.wire = wire
            self.sentAt = [UInt64](repeating: 0, count: depth)
        }
    }

    private let loop: LoadLoop
    private let depth: Int
    private let requestsMax: Int
    private let lanes: [Lane]
    private var deadline: UInt64 = 0
    private var result = Result()
    /// The number of requests without a reply.
    private var open = 0

    /// `requestsMax`: the maximum number of requests on each connection.
    init(
        _ loop: LoadLoop,
        _ connections: [(LoadConnection, any RequestWire)],
        depth: Int,
        requestsMax: Int
    ) {
        self.loop = loop
        self.depth = depth
        self.requestsMax = requestsMax
        self.lanes = connections.map { Lane($0, $1, depth: depth) }
    }

    func run(seconds: Double) throws -> Result {
        let start = monotonicTime()
        self.deadline = start + UInt64(seconds * 1e9)
        for lane in self.lanes { try self.send(self.depth, on: lane) }
        try self.loop.turn(until: { self.open == 0 }, within: 30, "\(self.open) requests were not answered") {
            let lane = self.lanes[$0.index]
            let now = monotonicTime()
            for _ in 0..<$1.answers {
                let sentAt = lane.sentAt[lane.answered % self.depth]
                _ = self.result.latency.record((now - sentAt) / 1_000)
                lane.answered += 1
            }
            self.open -= $1.answers
            self.result.answered += $1.answers
            if now < self.deadline { try self.send($1.answers, on: lane) }
        }
        self.result.time = Double(monotonicTime() - start) / 1e9
        return self.result
    }

    private func send(_ wanted: Int, on lane: Lane) throws {
        let count = min(wanted, self.requestsMax - lane.sent)
        guard count > 0 else { return }
        let now = monotonicTime()
        for _ in 0..<count {
            lane.sentAt[lane.sent % self.depth] = now
            lane.sent += 1
        }
        self.open += count
        try self.loop.send(lane.connection) { output in
            for _ in 0..<count { lane.wire.appendRequest(to: &output) }
        }
    }
}
