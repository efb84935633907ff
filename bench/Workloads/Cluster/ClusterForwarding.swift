import Histogram
import NIOCore
import NestFraming
import NestModel
import NestProtocol

/// A write at a follower, which forwards it, against the same write at the leader, in turn.
struct ClusterForwarding {
    let report: Report
    let rounds: Int
    let cluster: BenchCluster
    let group: any EventLoopGroup

    private static let writes = 2_000

    func run() async throws {
        var (follower, leader) = ([Histogram<UInt64>](), [Histogram<UInt64>]())
        for round in 0..<self.rounds {
            Progress.show("writes at a follower: round \(round + 1)")
            let index = try await self.cluster.leader()
            let other = (index + 1) % self.cluster.ports.count
            // The side that begins alternates.
            let order = round % 2 == 0 ? [other, index] : [index, other]
            for node in order {
                let latency = try await self.write(to: self.cluster.ports[node])
                if node == index { leader.append(latency) } else { follower.append(latency) }
            }
        }
        Progress.clear()
        for percentile in [50.0, 99] {
            self.report.add(
                Measurement(
                    workload: "cluster",
                    parameters: "1 row at a follower, p\(Int(percentile))",
                    unit: "us",
                    nest: follower.map { Double($0.valueAtPercentile(percentile)) },
                    limitName: "the same at the leader",
                    limit: leader.map { Double($0.valueAtPercentile(percentile)) },
                    isTime: true,
                    wanted: percentile == 50 ? "at most 1,000 us more" : nil
                )
            )
        }
    }

    private func write(to port: Int) async throws -> Histogram<UInt64> {
        let connection = try await BenchConnection.connect(host: "127.0.0.1", port: port, on: self.group)
        let latency = try await Pipeline.run(
            connection,
            depth: 1,
            total: Self.writes,
            firstID: 1,
            answers: [.receipt]
        ) { Load.insertFrame(under: ObjectID(1), id: $0) }
        try await connection.close()
        return latency
    }
}
