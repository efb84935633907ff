import ArgumentParser
import NIOCore
import NIOPosix
import NestModel

/// A cluster against a single node: commits, bulk transactions, applying, and the pause after the leader is killed.
struct ClusterCommand: AsyncParsableCommand {
    enum Part: String, CaseIterable, ExpressibleByArgument {
        case commit, groups, apply, forward, lag, deliveries, nodes, kills, survivors
    }

    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Measure a cluster of three nodes, whose log is in PostgreSQL, against a single node.",
        discussion: """
            Starts PostgreSQL (which must be installed) and three nestd in a directory of their own. PostgreSQL has its
            default settings and no standby: a commit waits for the fsync of one server. Everything shares this machine.

              commit      one-row transactions, 1 in flight: the time of a commit
              groups      transactions of 1,000 rows, and 64 connections with 16 requests in flight
              apply       in the engine, without sockets: a follower applies what a leader executed
              forward     a write at a follower against one at the leader
              lag         a commit until a subscriber at a follower has it, against a subscriber at the leader
              deliveries  the processor time of a delivery: subscribers at all nodes against all of them at a single
                          node; and that of a node with subscribers, beside nodes with subscribers and without
              nodes       deliveries and commits of a second of processor time at 1, 2 and 3 nodes
              kills       the leader is killed while 4 clients write: the pause until the next write is acknowledged.
                          At the end no acknowledged row may be missing, and all nodes must hold the same rows
              survivors   the same for clients at the other nodes that repeat nothing: no write may fail

            Examples:
              nestbench cluster
              nestbench cluster kills --kills 100
            """
    )
    @OptionGroup var options: BenchOptions
    @Argument(help: "\(Part.allCases.map(\.rawValue).joined(separator: ", ")); without an argument all.")
    var parts: [Part] = []
    @Option(help: "Number of times that the leader is killed.") var kills = 20
    @Option(help: "Nodes.") var nodes = 3
    @Option(help: "Subscribers in all.") var subscribers = 3_000

    func validate() throws {
        guard self.options.server == nil else { throw ValidationError("cluster starts its servers; remove --server") }
        guard (1...10_000).contains(self.kills) else { throw ValidationError("--kills must be 1 to 10000") }
        guard (2...9).contains(self.nodes) else { throw ValidationError("--nodes must be 2 to 9") }
        guard (self.nodes...100_000).contains(self.subscribers) else {
            throw ValidationError("--subscribers must be \(self.nodes) to 100000")
        }
    }

    func run() async throws {
        let parts = self.parts.isEmpty ? Part.allCases : self.parts
        let report = Report(isJSON: self.options.json)
        if parts.contains(.apply) { try ClusterApply(report: report, options: self.options).run() }
        guard parts.contains(where: { $0 != .apply }) else { return }
        guard BenchPostgres.programs != nil else {
            report.note("skipped: PostgreSQL is not installed (apt-get install postgresql)")
            return
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        guard self.subscribers < Descriptors.connectionsMax() else {
            throw ValidationError("\(self.subscribers) subscribers need as many descriptors; raise ulimit -n")
        }
        if !Set(parts).isDisjoint(with: [.commit, .groups, .forward, .lag, .deliveries]) {
            let target = try BenchTarget(self.options)
            let cluster = try await BenchCluster(self.nodes, under: self.options.directory, on: group)
            let commits = ClusterCommits(report: report, rounds: self.options.rounds, single: target, cluster: cluster)
            if parts.contains(.commit) { try await commits.oneRow() }
            if parts.contains(.groups) {
                try await commits.bulk()
                try await commits.shared()
            }
            if parts.contains(.forward) {
                let rounds = self.options.rounds
                try await ClusterForwarding(report: report, rounds: rounds, cluster: cluster, group: group).run()
            }
            if parts.contains(.lag) {
                try await ClusterLag(report: report, rounds: self.options.rounds, cluster: cluster, group: group).run()
            }
            if parts.contains(.deliveries) {
                let deliveries = self.deliveries(report, group)
                try await deliveries.againstSingle(cluster, target)
                try await deliveries.besideOthers(cluster)
            }
            await cluster.close()
            try await target.shutdown()
        }
        if parts.contains(.kills) {
            let cluster = try await BenchCluster(self.nodes, under: self.options.directory, on: group)
            try await ClusterKills(report: report, cluster: cluster, group: group, kills: self.kills).run()
            await cluster.close()
        }
        if parts.contains(.nodes) { try await self.deliveries(report, group).byNodes() }
        if parts.contains(.survivors) {
            let cluster = try await BenchCluster(self.nodes, under: self.options.directory, on: group)
            try await ClusterSurvivors(report: report, cluster: cluster, group: group, kills: self.kills).run()
            await cluster.close()
        }
        try await group.shutdownGracefully()
    }

    private func deliveries(_ report: Report, _ group: any EventLoopGroup) -> ClusterDeliveries {
        ClusterDeliveries(report: report, options: self.options, subscribers: self.subscribers, group: group)
    }
}
