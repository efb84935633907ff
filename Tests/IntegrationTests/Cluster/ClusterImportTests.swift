import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Bulk writes on a cluster. Their records are stored in parts.
    @Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing")) struct ClusterImportTests {
        private static let rowCount = 20_000

        private static var hasFailpoints: Bool {
            #if DEBUG
            true
            #else
            false
            #endif
        }

        /// The leader is killed before or after the append of a bulk write. Every node has all of it or nothing, and
        /// the same import with its key is executed once.
        @Test(
            .enabled(if: hasFailpoints, "failpoints are in builds for debugging only"),
            arguments: [("log.appending", false), ("log.appended", true)]
        )
        func aKilledImportIsWholeOrAbsentOnEveryNode(point: String, isInLog: Bool) async throws {
            let world = try await ClusterWorld.begun()
            let first = world.node("a")
            // The leader record has passed the point.
            try await first.start(environment: ["NEST_FAILPOINTS": "\(point)=2"])
            try await world.leader()
            let attempt = Task { try await Self.upload(to: first) }
            try await first.process?.wait(forEnd: .signal(SIGKILL))
            attempt.cancel()
            _ = await attempt.result

            let second = try await world.started("b")
            try await world.leader(after: "a")
            #expect(try await second.titles().count == (isInLog ? Self.rowCount : 0))
            let receipt = try await Self.upload(to: second)
            #expect(receipt.insertedCount == Self.rowCount && receipt.isReplayed == isInLog)
            #expect(try await world.sql("SELECT max(parts) > 0 FROM nest.log") == "t")
            try await first.start()
            for node in [first, second] {
                _ = try await waitFor("all rows") {
                    try await node.titles().count == Self.rowCount ? true : nil
                }
                try await node.terminate()
            }
        }

        private static func upload(to node: ServerProcess) async throws -> Receipt {
            let request = SubtreeImport(
                key: Identifier128(high: 5, low: 6),
                entity: Item.entity,
                placement: Placement(relationship: Item.parent, owner: .object(Item.root), place: .last),
                properties: [Item.title]
            )
            // Titles that compress badly, so that the record has several parts.
            var random = SeededRandom(seed: 3)
            var rows: [SubtreeRow]? = (0..<self.rowCount).map { _ in
                SubtreeRow(depth: 0, id: nil, values: [.string(String(random.next(), radix: 36))])
            }
            let configuration = await node.configuration(session: Identifier128(high: 7, low: 8))
            return try await NestClient.withClient(configuration) { client in
                try await client.importSubtree(request) { rows.take() }
            }
        }
    }
}
