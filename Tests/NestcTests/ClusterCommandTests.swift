import NestModel
import Testing

@testable import nestc

/// What `nestc cluster` prints.
@Suite struct ClusterReportTests {
    private static func id(_ number: UInt64) -> Identifier128 { Identifier128(high: 0, low: number) }

    private static func node(_ number: UInt64, _ name: String, _ role: ReplicaRole?, _ position: Int64?)
        -> ClusterStatus.Node
    {
        .init(id: Self.id(number), name: name, address: "\(name):7000", version: "1", role: role, position: position)
    }

    private static let status = ClusterStatus(
        store: "default",
        node: "b",
        role: .follower,
        epoch: 7,
        position: 1_300,
        head: 1_300,
        lag: 432,
        base: 1_000,
        log: "PostgreSQL 15 at db1",
        snapshot: .init(position: 1_100, made: 1_000_000, byteCount: 9),
        nodes: [
            Self.node(1, "a", .leader, 1_290), Self.node(2, "b", .follower, 1_200),
            Self.node(3, "c", .follower, 1_267), Self.node(4, "d", nil, nil), Self.node(5, "e", .follower, 1_300),
        ]
    )

    @Test func nodesAreListedWithTheirLag() {
        let report = ClusterReport(status: Self.status)
        #expect(report.lines.map(\.1) == ["default, epoch 7", "PostgreSQL 15 at db1"])
        #expect(
            report.rows.map { Array($0[2...4]) } == [
                ["leader", "1300", "–"], ["follower", "1300", "0.4 ms"], ["follower", "1267", "33 behind"],
                ["gone", "–", "–"], ["follower", "1300", "none"],
            ]
        )
    }

    @Test func drainedNodesAreMarked() {
        var status = Self.status
        for index in [1, 2, 3] { status.nodes[index].isDrained = true }
        let report = ClusterReport(status: status)
        #expect(report.rows.map { $0[2] } == ["leader", "follower, drained", "follower, drained", "gone", "follower"])
    }

    @Test func aNodeWithoutTheLogShowsItself() {
        let status = ClusterStatus(
            store: "s",
            node: "b",
            role: .follower,
            epoch: 2,
            position: 9,
            head: 9,
            logFault: "x"
        )
        let report = ClusterReport(status: status)
        #expect(report.lines.map(\.1) == ["s, epoch 2", "b, follower at position 9", "no answer"])
        #expect(report.rows.isEmpty)
    }

    /// A node that was started again is listed twice until its old lease is forgotten.
    @Test func aNodeIsNamedIfItIsAlive() throws {
        var status = Self.status
        status.nodes.insert(Self.node(6, "c", nil, nil), at: 0)
        #expect(try Clusters.node("c", in: status).id == Self.id(3))
        let gone = #expect(throws: CommandFailure.self) { try Clusters.node("d", in: status) }
        #expect(gone?.status == .refused && gone?.message.contains("node d is gone") == true)
        let unknown = #expect(throws: CommandFailure.self) { try Clusters.node("x", in: status) }
        #expect(unknown?.message == "the cluster has no node 'x', but a, b, c, d, e")
    }

    @Test func aStatusWithoutTheLogIsAFailureToTryAgain() {
        var status = Self.status
        #expect(Clusters.failure(status) == nil)
        status.logFault = "server closed\n\tthe connection"
        let failure = Clusters.failure(status)
        #expect(failure?.status == .temporary && failure?.message.hasSuffix("server closed the connection") == true)
    }

    /// The leader says CONFLICT before it gives up the lead, and also when another node was faster than the named one.
    @Test func aLeadThatAnotherNodeTookIsAFailureToTryAgain() {
        let conflict = NestError(.conflict, "the node has not taken the lead")
        var now = Self.status
        #expect(MoveLeadership.failure(conflict, Self.status, now: now) as? NestError == conflict)
        now.epoch += 1
        let failure = MoveLeadership.failure(conflict, Self.status, now: now) as? CommandFailure
        #expect(failure?.status == .temporary)
        #expect(failure?.message == "the node has not taken the lead: node a leads. Try again")
    }

    // MARK: Comparing

    private static func comparison(_ digests: [UInt64: UInt64]) -> StoreComparison {
        var status = Self.status
        status.verifications = digests.map { .init(node: Self.id($0), digest: Self.id($1)) }
        return StoreComparison(status, mark: 1_300)
    }

    @Test func equalStoresOfAllRunningNodesAreASuccess() {
        let comparison = Self.comparison([1: 7, 2: 7, 3: 7, 5: 7])
        #expect(comparison.isComplete && comparison.failure == nil)
        #expect(comparison.nodes.map(\.name) == ["a", "b", "c", "e"])
    }

    @Test func aStoreThatDiffersFromTheLeadersIsNamed() {
        let comparison = Self.comparison([1: 7, 2: 8, 3: 7, 5: 8])
        #expect(comparison.failure?.status == .refused)
        #expect(comparison.failure?.message.hasPrefix("b, e differ from a at position 1300.") == true)
        // Also before all have answered.
        #expect(Self.comparison([1: 7, 3: 8]).failure?.message.hasPrefix("c differs from a") == true)
    }

    @Test func nodesThatDoNotAnswerAreNamed() {
        let comparison = Self.comparison([1: 7, 3: 7])
        #expect(!comparison.isComplete && comparison.failure?.status == .temporary)
        #expect(comparison.failure?.message.contains("b, e") == true)
        // A digest of a node that has started again since has another id.
        #expect(!Self.comparison([1: 7, 2: 7, 3: 7, 99: 7]).isComplete)
    }

    @Test func withoutNodesNothingIsEqual() {
        let status = ClusterStatus(store: "s", node: "b", role: .follower, epoch: 2, position: 9, head: 9)
        #expect(StoreComparison(status, mark: 3).failure?.status == .temporary)
        #expect(!StoreComparison(status, mark: 3).isComplete)
    }
}
