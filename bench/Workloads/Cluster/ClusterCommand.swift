import ArgumentParser
import NIOCore
import NIOPosix
import NestModel

/// A cluster against a single node: commits, bulk transactions, applying, and the pause after the leader is killed.
struct ClusterCommand: AsyncParsableCommand {
    enum Part: String, CaseIterable, ExpressibleByArgument {
        case commit, groups, apply, kills
    }

    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Measure a cluster of three nodes, whose log is in PostgreSQL, against a single node.",
        discussion: """
            Starts PostgreSQL (which must be installed) and three nestd in a directory of their own. PostgreSQL has its
            default settings and no standby: a commit waits for the fsync of one server. Everything shares this machine.

              commit  one-row transactions, 1 in flight: the time of a commit
              groups  transactions of 1,000 rows, and 64 connections with 16 requests in flight
              apply   in the engine, without sockets: a follower applies what a leader executed
              kills   the leader is killed while 4 clients write: the pause until the next write is acknowledged. At
                      the end no acknowledged row may be missing, and all nodes must hold the same rows

            Examples:
              nestbench cluster
              nestbench cluster kills --kills 100
            """
    )
    @OptionGroup var options: BenchOptions
    @Argument(help: "commit, groups, apply, kills; without an argument all.") var parts: [Part] = []
    @Option(help: "Number of times that the leader is killed.") var kills = 20
    @Option(help: "Nodes.") var nodes = 3

    func validate() throws {
        guard self.options.server == nil else { throw ValidationError("cluster starts its servers; remove --server") }
        guard (1...10_000).contains(self.kills) else { throw ValidationError("--kills must be 1 to 10000") }
        guard (2...9).contains(self.nodes) else { throw ValidationError("--nodes must be 2 to 9") }
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
        if parts.contains(.commit) || parts.contains(.groups) {
            let target = try BenchTarget(self.options)
            let cluster = try await BenchCluster(self.nodes, under: self.options.directory, on: group)
            let commits = ClusterCommits(report: report, rounds: self.options.rounds, single: target, cluster: cluster)
            if parts.contains(.commit) { try await commits.oneRow() }
            if parts.contains(.groups) {
                try await commits.bulk()
                try await commits.shared()
            }
            await cluster.close()
            try await target.shutdown()
        }
        if parts.contains(.kills) {
            let cluster = try await BenchCluster(self.nodes, under: self.options.directory, on: group)
            try await ClusterKills(report: report, cluster: cluster, group: group, kills: self.kills).run()
            await cluster.close()
        }
        try await group.shutdownGracefully()
    }
}
