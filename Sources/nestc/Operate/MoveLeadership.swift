import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct MoveLeadership: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "move-leader",
        abstract: "Let another node of the cluster lead.",
        discussion: """
            Examples:
              nestc cluster move-leader b
              nestc cluster move-leader b --json   one JSON object

            The leader finishes its commit and gives up the lead to the node, for example before its machine is \
            restarted. Writes wait for a moment; no client gets an error. nestc exits with 0 when the node leads, also \
            if it led before, and with 75 if no node leads, or the node does not take the lead in time, \
            also because another one does. Administrators only.
            """
    )

    @Argument(
        help: ArgumentHelp("The node that shall lead, as 'nestc cluster status' lists it.", valueName: "node"),
        completion: ModelCompletion.nodes
    )
    var node: String

    @Option(help: ArgumentHelp("The time to wait until the node leads.", valueName: "seconds"))
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
        guard let former = before.leader else { throw Clusters.noLeader }
        guard former.name != target.name else { return try self.print(before, from: nil, &output) }
        self.note("waiting for \(target.name) to lead…")
        do throws(NestError) {
            try await client.moveLeader(to: target.name)
        } catch {
            if error.code == .conflict { throw Self.failure(error, before, now: try await Clusters.status(client)) }
            // The leader waits for a few seconds only. The node may take the lead later.
            guard error.code == .timedOut else { throw error }
        }
        let (after, isDone) = try await Clusters.wait(self.wait, client) { $0.name == target.name }
        guard isDone else {
            let now = after.leader.map { "node \($0.name) leads" } ?? "no node leads"
            throw CommandFailure(.temporary, "node \(target.name) did not take the lead in time: \(now). See --wait")
        }
        try self.print(after, from: former.name, &output)
    }

    /// The failure of the command by a CONFLICT: the leader has refused the node, or has given up the lead, and the
    /// node did not take it.
    static func failure(_ error: NestError, _ before: ClusterStatus, now: ClusterStatus) -> any Error {
        guard now.epoch > before.epoch else { return error }
        let leader = now.leader.map { "node \($0.name) leads" } ?? "no node leads"
        return CommandFailure(.temporary, "\(error.message): \(leader). Try again")
    }

    /// `former`: the node that led before; `nil` if nothing had to be done.
    private func print(_ status: ClusterStatus, from former: String?, _ output: inout Output) throws {
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("leader", self.node)
                    json.field("epoch", status.epoch)
                    json.key("former")
                    if let former { json.string(former) } else { json.null() }
                }
            )
        } else {
            let node = output.shown(self.node)
            try output.line(former == nil ? "\(node) leads already" : "\(node) leads now, epoch \(status.epoch)")
        }
    }
}
