import Histogram
import NIOCore
import NestFraming
import NestModel
import NestProtocol

/// The time from a write at the leader until a subscriber at a follower has it, against a subscriber at the leader.
struct ClusterLag {
    let report: Report
    let rounds: Int
    let cluster: BenchCluster
    let group: any EventLoopGroup

    private static let writes = 1_000

    /// When the diff of each write arrived at the two subscribers. Used only on one event loop.
    private struct Arrivals {
        var sent: [ContinuousClock.Instant] = []
        var leader: [ContinuousClock.Instant] = []
        var follower: [ContinuousClock.Instant] = []
    }

    func run() async throws {
        var lag = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        var measurement = Measurement(
            workload: "cluster",
            parameters: "to a subscriber at a follower, p50",
            unit: "us",
            nest: [],
            limitName: "to a subscriber at the leader",
            limit: [],
            isTime: true,
            wanted: "at most 1,000 us more"
        )
        for round in 0..<self.rounds {
            Progress.show("lag of a follower: round \(round + 1)")
            let arrivals = try await self.measure()
            let at = { (times: [ContinuousClock.Instant]) in
                zip(times, arrivals.sent).map { Double(($0 - $1).microseconds) }
            }
            measurement.nest.append(Measurement.median(at(arrivals.follower)))
            measurement.limit.append(Measurement.median(at(arrivals.leader)))
            for (follower, leader) in zip(arrivals.follower, arrivals.leader) {
                _ = lag.record(follower > leader ? (follower - leader).microseconds : 0)
            }
        }
        Progress.clear()
        // The latency columns are the lag itself.
        measurement.latency = lag
        self.report.add(measurement)
        self.report.note("the columns on the right: how much later the subscriber at the follower has it")
    }

    private func measure() async throws -> Arrivals {
        let index = try await self.cluster.leader()
        let ports = self.cluster.ports
        let writer = try await BenchConnection.connect(host: "127.0.0.1", port: ports[index], on: self.group)
        let made = try await writer.request(
            TransactionMessage(WriteTransaction(mutations: [Load.insert(under: ObjectID(1), "lag")])).frame(id: 1)
        )
        let receipt = try ReceiptMessage(body: made.body).receipt
        guard let parent = receipt.firstInserted else { throw BenchError.nothingInserted }
        let loop = self.group.any()
        let arrivals = NIOLoopBoundBox.makeBoxSendingValue(Arrivals(), eventLoop: loop)
        var subscribers: [(connection: BenchConnection, isLeader: Bool)] = []
        for (port, isLeader) in [(ports[index], true), (ports[(index + 1) % ports.count], false)] {
            let connection = try await BenchConnection.connect(host: "127.0.0.1", port: port, on: self.group)
            try await connection.subscribe([BenchConnection.children(of: parent)], atLeast: receipt.revision)
            subscribers.append((connection, isLeader))
        }
        let finished = loop.makePromise(of: Arrivals.self)
        let send: @Sendable () -> Void = {
            let number = arrivals.value.sent.count
            guard number < Self.writes else { return finished.succeed(arrivals.value) }
            arrivals.value.sent.append(.now)
            writer.send(Load.insertFrame(under: parent, id: UInt32(number + 2)))
        }
        for (connection, isLeader) in subscribers {
            try await connection.configure { handler in
                handler.onFrame = { frame in
                    guard frame.type == MessageType.diff.rawValue else { return }
                    let arrived = ContinuousClock.now
                    // One write is under way, so a diff is one write.
                    if isLeader {
                        arrivals.value.leader.append(arrived)
                    } else {
                        arrivals.value.follower.append(arrived)
                    }
                    let count = arrivals.value.sent.count
                    if arrivals.value.leader.count == count, arrivals.value.follower.count == count { send() }
                }
            }
        }
        loop.execute(send)
        let result = try await finished.futureResult.get()
        for connection in subscribers.map(\.connection) + [writer] { try await connection.close() }
        return result
    }
}
