import Histogram
import NIOCore
import NestFraming
import NestModel
import NestProtocol

/// Commits at the leader of a cluster against the same commits at a single node, in turn.
struct ClusterCommits {
    let report: Report
    let rounds: Int
    let single: BenchTarget
    let cluster: BenchCluster

    private static let rowsOfBulk = 1_000

    /// The shape of a load: `connections` clients with `inFlight` transactions of `rows` rows each.
    private struct Shape {
        var connections = 1
        var inFlight = 1
        var rows = 1
        var transactions: Int
    }

    /// The times of the transactions of a load, and of all of it.
    private struct Run {
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        var seconds = 0.0
    }

    /// One row at a time: the median time of a commit. Once with the other nodes stopped, as if they had a machine of
    /// their own, and once with all on this machine, where they take its processors from the leader.
    func oneRow() async throws {
        let load = Shape(transactions: 4_000)
        for isAlone in [true, false] {
            let parameters = isAlone ? "1 row, 1 in flight, p50" : "the same, followers on this machine, p50"
            try await self.measure(parameters, load, wanted: isAlone ? "ratio at most 2.5" : nil, isAlone: isAlone) {
                Double($0.latency.valueAtPercentile(50))
            }
        }
    }

    /// Transactions of 1,000 rows, one at a time.
    func bulk() async throws {
        let load = Shape(rows: Self.rowsOfBulk, transactions: 100)
        try await self.measure("1,000 rows a transaction", load, wanted: "ratio at least 0.65") {
            Double(load.transactions * load.rows) / $0.seconds
        }
    }

    /// One-row transactions that share commits.
    func shared() async throws {
        let load = Shape(connections: 64, inFlight: 16, transactions: 64 * 600)
        try await self.measure("64 x 16 in flight", load, wanted: nil) { Double(load.transactions) / $0.seconds }
    }

    /// `isAlone`: with the followers stopped.
    private func measure(
        _ parameters: String,
        _ load: Shape,
        wanted: String?,
        isAlone: Bool = false,
        _ figure: (Run) -> Double
    ) async throws {
        let isTime = load.connections * load.inFlight * load.rows == 1
        var measurement = Measurement(
            workload: "cluster",
            parameters: parameters,
            unit: isTime ? "us" : "rows/s",
            nest: [],
            limitName: "a single node, SQLite FULL",
            limit: [],
            latency: Histogram<UInt64>(highestTrackableValue: 60_000_000),
            isTime: isTime,
            wanted: wanted
        )
        for round in 0..<self.rounds {
            Progress.show("\(parameters): round \(round + 1)")
            let leader = try await self.cluster.leader()
            let port = self.cluster.ports[leader]
            if isAlone { await self.cluster.pause(true, except: leader) }
            // The side that begins alternates.
            let clusterFirst = round % 2 == 0
            let first = try await self.run(load, port: clusterFirst ? port : self.single.port)
            let second = try await self.run(load, port: clusterFirst ? self.single.port : port)
            if isAlone { await self.cluster.pause(false, except: leader) }
            let (nest, limit) = clusterFirst ? (first, second) : (second, first)
            measurement.nest.append(figure(nest))
            measurement.limit.append(figure(limit))
            measurement.latency?.add(nest.latency)
        }
        Progress.clear()
        self.report.add(measurement)
    }

    private func run(_ load: Shape, port: Int) async throws -> Run {
        var connections: [BenchConnection] = []
        for _ in 0..<load.connections {
            connections.append(
                try await BenchConnection.connect(host: "127.0.0.1", port: port, on: self.single.group)
            )
        }
        let parent = try await self.single.makeParent(connections[0], 1)
        let mutations = [Mutation](repeating: Load.insert(under: parent), count: load.rows)
        let each = load.transactions / load.connections
        var run = Run()
        run.seconds = try await seconds {
            run.latency = try await withThrowingTaskGroup(of: Histogram<UInt64>.self) { group in
                for connection in connections {
                    group.addTask {
                        try await Pipeline.run(
                            connection,
                            depth: load.inFlight,
                            total: each,
                            firstID: 2,
                            answers: [.receipt]
                        ) { TransactionMessage(WriteTransaction(mutations: mutations)).frame(id: $0) }
                    }
                }
                return try await group.reduce(into: Histogram<UInt64>(highestTrackableValue: 60_000_000)) {
                    $0.add($1)
                }
            }
        }
        for connection in connections { try await connection.close() }
        return run
    }
}
