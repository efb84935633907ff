import ArgumentParser
import NestClient
import NestModel

/// `nestc cluster …`: several servers with the same store.
struct Clusters: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Show, verify and operate a cluster of servers.",
        discussion: """
            Examples:
              nestc cluster status
              nestc cluster verify          compare the stores of all nodes
              nestc cluster move-leader b   let node b lead
              nestc cluster drain c         send the clients of node c to other nodes

            The nodes of a cluster have the same store: each applies the same log. Any node takes any request; one of \
            them, the leader, executes the writes of all. Name several nodes, --server a,b,c: nestc goes to another \
            one if one fails.
            """,
        subcommands: [ShowCluster.self, VerifyStores.self, MoveLeadership.self, DrainClusterNode.self],
        defaultSubcommand: ShowCluster.self
    )

    /// The error of a command at a server that is not a node of a cluster.
    static func notANode(_ client: NestClient) async -> CommandFailure {
        CommandFailure(.refused, "the server at \(await client.address) is a single node, not one of a cluster")
    }

    /// Returns the state of the cluster. Throws if the log does not answer: then the list of nodes is missing.
    static func status(_ client: NestClient) async throws -> ClusterStatus {
        guard let status = try await client.cluster() else { throw await self.notANode(client) }
        if let failure = self.failure(status) { throw failure }
        return status
    }

    /// The error of a status in which the log did not answer.
    static func failure(_ status: ClusterStatus) -> CommandFailure? {
        status.logFault.map { fault in
            // PostgreSQL's messages have several lines.
            let line = fault.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            return CommandFailure(.temporary, "node \(status.node) gets no answer from the log: \(line)")
        }
    }

    /// Returns the node of a name. It must be alive: a node that was started again is listed twice for a while.
    static func node(_ name: String, in status: ClusterStatus) throws -> ClusterStatus.Node {
        let named = status.nodes.filter { $0.name == name }
        if let node = named.first(where: { $0.role != nil }) { return node }
        let names = Set(status.nodes.map(\.name)).sorted().joined(separator: ", ")
        throw CommandFailure(
            .refused,
            named.isEmpty
                ? "the cluster has no node '\(name)', but \(names)"
                : "node \(name) is gone: it is stopped, frozen or cut off from the log"
        )
    }

    /// Asks for the state of the cluster until a node that `isWanted` accepts leads, for some time. Returns the last
    /// answer.
    static func wait(
        _ seconds: Double,
        _ client: NestClient,
        forLeader isWanted: (ClusterStatus.Node) -> Bool
    ) async throws -> (status: ClusterStatus, isDone: Bool) {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(seconds)
        while true {
            // The log may not answer for a moment; the last answer is what counts.
            guard let status = try await client.cluster() else { throw await self.notANode(client) }
            if let leader = status.leader, isWanted(leader) { return (status, true) }
            guard clock.now < end else { return (status, false) }
            try await clock.sleep(for: .milliseconds(100))
        }
    }

    /// The error of a command that needs a leader.
    static let noLeader = CommandFailure(
        .temporary,
        "no node leads now: writes wait. Another node takes over within a few seconds if it runs, reaches the log "
            + "and is not drained (nestc cluster drain NODE --end)"
    )
}

struct ShowCluster: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "List the nodes of the cluster, and show the state of its log.",
        discussion: """
            Examples:
              nestc cluster status
              nestc cluster status --json   one JSON object

            Any node answers. 'position' is the number of the newest record that a node has applied; nodes write \
            theirs to the log every few seconds, so a node in use seems to be behind by what was written since. \
            'clients' is shown for the node that answers. A node that is 'gone' has not renewed its lease: it is \
            stopped, frozen or cut off. nestc exits with 75 if no node leads, or the log does not answer.
            """
    )

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        guard let status = try await client.cluster() else { throw await Clusters.notANode(client) }
        let report = ClusterReport(status: status)
        if self.global.json { try output.line(report.json) } else { try report.print(&output) }
        try output.flush()
        if let failure = Clusters.failure(status) { throw failure }
        if status.leader == nil { throw Clusters.noLeader }
    }
}
