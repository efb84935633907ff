import NIOCore

/// What deliveries cost: at three nodes against one server, at one node while others have subscribers, and at one, two
/// and three nodes.
///
/// All servers share this machine, so rates say little. Processor time says what each would do on a machine of its own.
struct ClusterDeliveries {
    let report: Report
    let options: BenchOptions
    let subscribers: Int
    let group: any EventLoopGroup

    private static let writes = 60
    private static let microseconds = 1e6
    private static let milliseconds = 1e3

    // MARK: Three nodes against a single server

    /// The processor time of all servers for each delivery.
    func againstSingle(_ cluster: BenchCluster, _ target: BenchTarget) async throws {
        for inFlight in [1, 16] {
            var measurement = Measurement(
                workload: "cluster",
                parameters: "CPU a delivery, \(cluster.ports.count) nodes, \(inFlight) in flight",
                unit: "us",
                nest: [],
                limitName: "a single node with all \(self.subscribers) subscribers",
                limit: [],
                isTime: true,
                wanted: "ratio at most 1.1"
            )
            for round in 0..<self.options.rounds {
                Progress.show("\(measurement.parameters): round \(round + 1)")
                let leader = cluster.ports[try await cluster.leader()]
                let spread = cluster.ports.map { ($0, self.subscribers / cluster.ports.count) }
                let nodes = try await self.run(spread, leader, inFlight) { await cluster.processorTimes }
                let single = try await self.run([(target.port, self.subscribers)], target.port, inFlight) {
                    [target.child?.processorTime ?? 0]
                }
                measurement.nest.append(nodes.total / Double(nodes.deliveries) * Self.microseconds)
                measurement.limit.append(single.total / Double(single.deliveries) * Self.microseconds)
            }
            Progress.clear()
            self.report.add(measurement)
        }
    }

    // MARK: A node beside others

    /// The processor time of a follower with subscribers, while the other nodes have as many, or servers that are not
    /// of the cluster have them.
    ///
    /// What processes on one machine cost each other, in caches and turns, is then the same in both.
    func besideOthers(_ cluster: BenchCluster) async throws {
        let own = self.subscribers / cluster.ports.count
        let strangers = try cluster.ports.dropFirst().map { _ in try BenchTarget(self.options) }
        var measurement = Measurement(
            workload: "cluster",
            parameters: "CPU of a node, \(own) subscribers at each",
            unit: "ms",
            nest: [],
            limitName: "the same node and subscribers, those of the other nodes at servers that are not of the cluster",
            limit: [],
            isTime: true,
            wanted: "ratio at most 1.1"
        )
        for round in 0..<self.options.rounds {
            Progress.show("\(measurement.parameters): round \(round + 1)")
            let leader = try await cluster.leader()
            let node = (leader + 1) % cluster.ports.count
            let spread = cluster.ports.map { ($0, own) }
            let beside = try await self.run(spread, cluster.ports[leader], 1) { await cluster.processorTimes }
            measurement.nest.append(beside.processor[node] * Self.milliseconds)
            let alone = try await self.run(at: cluster.ports[node], cluster.ports[leader], own, beside: strangers) {
                await cluster.processorTimes
            }
            measurement.limit.append(alone.processor[node] * Self.milliseconds)
        }
        Progress.clear()
        for stranger in strangers { try await stranger.shutdown() }
        self.report.add(measurement)
    }

    /// As many subscribers are at each of the strangers, which get enough writes never to rest meanwhile.
    private func run(
        at node: Int,
        _ leader: Int,
        _ own: Int,
        beside strangers: [BenchTarget],
        _ servers: () async -> [Double]
    ) async throws -> ClusterSubscribers.Run {
        let here = try await ClusterSubscribers(at: [(port: node, count: own)], leader: leader, on: self.group)
        var others: [ClusterSubscribers] = []
        for stranger in strangers {
            others.append(
                try await ClusterSubscribers(at: [(stranger.port, own)], leader: stranger.port, on: self.group)
            )
        }
        let run = try await withThrowingTaskGroup(of: Void.self) { [others] tasks in
            for other in others {
                tasks.addTask { _ = try await other.run(writes: Self.writes * 2, inFlight: 1) { [] } }
            }
            let run = try await here.run(writes: Self.writes, inFlight: 1, servers)
            try await tasks.waitForAll()
            return run
        }
        for each in others + [here] { try await each.close() }
        return run
    }

    // MARK: One, two and three nodes

    /// The deliveries and commits of a second of processor time of the busiest node.
    func byNodes() async throws {
        var rates: [Int: (deliveries: [Double], commits: [Double])] = [:]
        for count in [1, 2, 3] {
            let cluster = try await BenchCluster(count, under: self.options.directory, on: self.group)
            for round in 0..<self.options.rounds {
                Progress.show("\(count) nodes: round \(round + 1)")
                let leader = cluster.ports[try await cluster.leader()]
                let spread = cluster.ports.map { ($0, self.subscribers / count) }
                let run = try await self.run(spread, leader, 16) { await cluster.processorTimes }
                rates[count, default: ([], [])].deliveries.append(Double(run.deliveries) / run.busiest)
                let commits = try await self.run([], leader, 16, writes: 4_000) { await cluster.processorTimes }
                rates[count]?.commits.append(Double(commits.writes) / commits.busiest)
            }
            await cluster.close()
        }
        Progress.clear()
        for count in [1, 2, 3] {
            guard let rate = rates[count], let one = rates[1] else { continue }
            let figures = [
                ("deliveries", rate.deliveries, one.deliveries, "about \(count) times"),
                ("commits", rate.commits, one.commits, "about the same"),
            ]
            for (what, nest, limit, wanted) in figures {
                self.report.add(
                    Measurement(
                        workload: "cluster",
                        parameters: "\(what) a CPU second, \(count) node\(count == 1 ? "" : "s")",
                        unit: "/s",
                        nest: nest,
                        limitName: "one node with a log",
                        limit: limit,
                        wanted: wanted
                    )
                )
            }
        }
    }

    private func run(
        _ spread: [(Int, Int)],
        _ leader: Int,
        _ inFlight: Int,
        writes: Int = Self.writes,
        _ servers: () async -> [Double]
    ) async throws -> ClusterSubscribers.Run {
        let subscribers = try await ClusterSubscribers(
            at: spread.map { (port: $0, count: $1) },
            leader: leader,
            on: self.group
        )
        let run = try await subscribers.run(writes: writes, inFlight: inFlight, servers)
        try await subscribers.close()
        return run
    }
}
