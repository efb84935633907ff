import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct VerifyStores: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare the stores of all nodes of the cluster.",
        discussion: """
            Examples:
              nestc cluster verify
              nestc cluster verify --wait 600
              nestc cluster verify --json   one JSON object

            The leader appends a mark to the log, and every node computes a digest of all its tables when it has \
            applied the mark: all at the same position, while clients go on. That takes as long as reading the whole \
            store. nestc exits with 1 if a node differs from the leader, and with 75 if a node did not answer in time. \
            Nodes that are gone are not compared. Administrators only.
            """
    )

    @Option(help: ArgumentHelp("The time to wait for the nodes.", valueName: "seconds"))
    var wait: Double = 60

    @OptionGroup var global: GlobalOptions

    /// The interval at which nestc asks for results.
    private static let pause = Duration.milliseconds(100)

    func validate() throws {
        guard self.wait > 0, self.wait <= 86_400 else {
            throw ValidationError("--wait must be a number of seconds above 0, at most 86400")
        }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        guard try await client.cluster() != nil else { throw await Clusters.notANode(client) }
        let mark = try await client.verifyCluster()
        let clock = ContinuousClock()
        let end = clock.now + .seconds(self.wait)
        var comparison: StoreComparison
        repeat {
            guard let status = try await client.cluster(verifiedAt: mark) else { throw await Clusters.notANode(client) }
            comparison = StoreComparison(status, mark: mark)
            if comparison.isComplete { break }
            try await clock.sleep(for: Self.pause)
        } while clock.now < end
        if self.global.json { try output.line(comparison.json) } else { try comparison.print(&output) }
        try output.flush()
        if let failure = comparison.failure { throw failure }
        if !self.global.json {
            self.note("\(counted(comparison.nodes.count, "store")) compared at position \(mark): all are equal")
        }
    }
}

/// The digests that the nodes of a cluster found at a mark.
struct StoreComparison {
    /// A node that has not gone, and the digest of its store; `nil`: no answer yet.
    struct Node: Equatable {
        var name: String
        var isLeader: Bool
        var digest: Identifier128?
    }

    let mark: Int64
    let nodes: [Node]
    private let logFault: String?

    init(_ status: ClusterStatus, mark: Int64) {
        let digests = Dictionary(status.verifications.map { ($0.node, $0.digest) }) { first, _ in first }
        self.mark = mark
        self.logFault = status.logFault
        self.nodes = status.nodes.filter { $0.role != nil }.map { node in
            Node(name: node.name, isLeader: node.role == .leader, digest: digests[node.id])
        }
    }

    /// Whether all nodes have answered. If the leader was lost meanwhile, its successor has answered too.
    var isComplete: Bool { !self.nodes.isEmpty && self.nodes.allSatisfy { $0.digest != nil } }

    /// The digest that the others are compared with: the leader's, otherwise that of the first node that answered.
    private var reference: Node? {
        self.nodes.first { $0.isLeader && $0.digest != nil } ?? self.nodes.first { $0.digest != nil }
    }

    /// Whether a node's store equals that of the reference; `nil`: not known yet.
    func isEqual(_ node: Node) -> Bool? { node.digest.map { $0 == self.reference?.digest } }

    /// Why the stores are not known to be equal; `nil`: they are.
    var failure: CommandFailure? {
        let different = self.nodes.filter { self.isEqual($0) == false }.map(\.name)
        let silent = self.nodes.filter { $0.digest == nil }.map(\.name)
        if !different.isEmpty, let reference {
            return CommandFailure(
                .refused,
                "\(Self.list(different)) \(different.count == 1 ? "differs" : "differ") from \(reference.name) at "
                    + "position \(self.mark). Stop nestd there, keep the store's files aside, and start it without "
                    + "them: it joins from a snapshot. Please report this, with the files"
            )
        }
        if let logFault { return CommandFailure(.temporary, "the log does not answer: \(logFault)") }
        if !silent.isEmpty {
            return CommandFailure(.temporary, "no answer from \(Self.list(silent)) in time: see --wait")
        }
        return self.nodes.isEmpty ? CommandFailure(.temporary, "the log lists no node that runs") : nil
    }

    func print(_ output: inout Output) throws {
        let rows = self.nodes.map { node in
            [
                node.name, node.isLeader ? "leader" : "follower", node.digest?.hex ?? "–",
                self.isEqual(node).map { $0 ? "equal" : "differs" } ?? "no answer",
            ]
        }
        try TextTable(header: ["node", "role", "digest", "store"], rows: rows).print(&output)
    }

    var json: JSONWriter {
        .object { json in
            json.field("position", self.mark)
            json.field("equal", self.failure == nil)
            json.key("nodes")
            json.array(self.nodes) { json, node in
                json.object { json in
                    json.field("node", node.name)
                    json.field("role", node.isLeader ? "leader" : "follower")
                    json.key("digest")
                    if let digest = node.digest { json.string(digest.hex) } else { json.null() }
                    json.key("equal")
                    if let isEqual = self.isEqual(node) { json.boolean(isEqual) } else { json.null() }
                }
            }
        }
    }

    private static func list(_ names: [String]) -> String { names.joined(separator: ", ") }
}
