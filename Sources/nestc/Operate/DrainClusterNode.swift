import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct DrainClusterNode: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Send the clients of a node to other nodes.",
        discussion: """
            Examples:
              nestc cluster drain b          before b is stopped, upgraded or examined
              nestc cluster drain b --end    let it serve again
              nestc cluster drain b --json   one JSON object

            The node gives up the lead if it has it, is no longer ready (/readyz), and sends its clients to the other \
            nodes of their lists. They resume there, without an error. The node goes on to apply the log. A node that \
            starts again serves again.

            nestc connects to the address that the node advertises. It exits with 0 when the node is drained and \
            another one leads, and with 75 if none does in time. Administrators only.
            """
    )

    @Argument(
        help: ArgumentHelp("The node, as 'nestc cluster status' lists it.", valueName: "node"),
        completion: ModelCompletion.nodes
    )
    var node: String

    @Flag(help: "End it: the node serves again.")
    var end = false

    @Option(help: ArgumentHelp("The time to wait until another node leads.", valueName: "seconds"))
    var wait: Double = 30

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard self.wait > 0, self.wait <= 86_400 else {
            throw ValidationError("--wait must be a number of seconds above 0, at most 86400")
        }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let before = try await Clusters.status(client)
        let target = try Clusters.node(self.node, in: before)
        try await self.ask(target)
        let (after, isDone) =
            self.end ? (before, true) : try await self.waitForLeader(instead: target, before, client)
        try self.print(after, &output)
        guard isDone else { throw Clusters.noLeader }
    }

    /// Asks the node itself, at the address that it advertises.
    private func ask(_ target: ClusterStatus.Node) async throws {
        var configuration = try self.global.configuration()
        do {
            configuration.endpoints = [try ServerAddress(target.address)]
        } catch {
            throw CommandFailure(.refused, "node \(target.name) advertises '\(target.address)', which is no address")
        }
        configuration.followsLeader = false
        do {
            try await NestClient.withClient(configuration) { node in
                guard let status = try await node.cluster() else { throw await Clusters.notANode(node) }
                guard status.node == target.name else {
                    throw CommandFailure(
                        .refused,
                        "node \(target.name) advertises \(target.address), but node \(status.node) answers there"
                    )
                }
                try await node.drain(!self.end)
                guard try await node.cluster()?.isDrained == !self.end else {
                    throw CommandFailure(.temporary, "node \(target.name) has started again meanwhile: try again")
                }
            }
        } catch let error as NestError where error.connectFault != nil {
            throw NamedRefusal(
                error,
                nil,
                hint: "\nnode \(target.name) advertises this address: run nestc where it can be reached."
            )
        }
    }

    private func waitForLeader(
        instead target: ClusterStatus.Node,
        _ before: ClusterStatus,
        _ client: NestClient
    ) async throws -> (ClusterStatus, Bool) {
        if before.leader?.name == target.name { self.note("waiting for another node to lead…") }
        return try await Clusters.wait(self.wait, client) { $0.name != target.name }
    }

    private func print(_ status: ClusterStatus, _ output: inout Output) throws {
        let leader = status.leader?.name
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("node", self.node)
                    json.field("drained", !self.end)
                    json.key("leader")
                    if let leader { json.string(leader) } else { json.null() }
                }
            )
        } else {
            let node = output.shown(self.node)
            let text = leader.map { "; \(output.shown($0)) leads" } ?? ""
            try output.line(self.end ? "\(node) serves again" : "\(node) is drained\(text)")
        }
    }
}
