import ArgumentParser
import NestClient
import NestModel

/// `nestc cluster …`: several servers with the same store.
struct Clusters: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Show and verify a cluster of servers.",
        discussion: """
            Examples:
              nestc cluster status
              nestc cluster verify          compare the stores of all nodes

            The nodes of a cluster have the same store: each applies the same log. One of them, the leader, takes \
            writes; the others serve reads. nestc goes to the leader when another node refuses a write.
            """,
        subcommands: [ShowCluster.self, VerifyStores.self],
        defaultSubcommand: ShowCluster.self
    )

    /// The error of a command at a server that is not a node of a cluster.
    static func notANode(_ client: NestClient) async -> CommandFailure {
        CommandFailure(.refused, "the server at \(await client.address) is a single node, not one of a cluster")
    }

    /// The error of a command that needs a leader.
    static let noLeader = CommandFailure(
        .temporary,
        "no node leads now: writes wait. Another node takes over within a few seconds if it runs and reaches the log"
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
        if let fault = status.logFault {
            // PostgreSQL's messages have several lines.
            let line = fault.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            throw CommandFailure(.temporary, "node \(status.node) gets no answer from the log: \(line)")
        }
        if status.leader == nil { throw Clusters.noLeader }
    }
}
