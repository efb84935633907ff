import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    @Suite struct ImportCrashes {
        /// The moment at which the server is killed.
        enum Moment: CaseIterable {
            /// While the fully sent import is being written to the store's files.
            case storing
            /// During the upload.
            case early, late
            /// When SUBTREE_END is sent.
            case end
            /// Immediately after the reply.
            case answered
        }

        /// So many that the import is prepared in parts.
        private static let rowCount = 20_000

        /// `kill -9` during an import: the store then holds all of the import or nothing, and a retry succeeds.
        @Test func aKilledImportIsStoredWhollyOrNotAtAll() async throws {
            for (round, moment) in Moment.allCases.enumerated() {
                let server = try await ServerProcess.started()
                let session = Identifier128(high: 7, low: UInt64(round))
                let key = Identifier128(high: 8, low: UInt64(round))
                let client = NestClient(await server.configuration(session: session))
                let before = try await Self.descendantCount(client)
                let isAcknowledged = try await Self.upload(key, client, killing: server, at: moment)
                await client.close()

                try await server.start()
                let again = NestClient(await server.configuration(session: session))
                let isWhole = try await Self.expectWholeOrAbsent(again, before: before, "\(moment)")
                #expect(isWhole || !isAcknowledged, "\(moment)")
                // An incomplete upload cannot be stored.
                if moment == .early || moment == .late { #expect(!isWhole, "\(moment)") }

                // The same import with the same key is stored once.
                var rows: [SubtreeRow]? = Self.rows()
                let receipt = try await again.importSubtree(Self.request(key)) { rows.take() }
                #expect(receipt.insertedCount == Self.rowCount)
                #expect(receipt.isReplayed == isWhole, "\(moment)")
                #expect(try await Self.descendantCount(again) == before + Self.rowCount, "\(moment)")
                await again.close()
            }
        }

        private static func request(_ key: Identifier128) -> SubtreeImport {
            SubtreeImport(
                key: key,
                entity: Item.entity,
                placement: Placement(relationship: Item.parent, owner: .object(Item.root), place: .last),
                properties: [Item.title]
            )
        }

        /// Returns the rows of one tree of random depth.
        private static func rows() -> [SubtreeRow] {
            var random = SeededRandom(seed: 3)
            var depth = -1
            return (0..<self.rowCount).map { number in
                depth = number == 0 ? 0 : max(1, depth + 1 - random.below(3))
                return SubtreeRow(
                    depth: depth,
                    id: nil,
                    values: [.string("row \(number) " + String(repeating: "x", count: 40))]
                )
            }
        }

        /// Uploads the rows and kills the server at `moment`. Returns whether the import was acknowledged before.
        private static func upload(
            _ key: Identifier128,
            _ client: NestClient,
            killing server: ServerProcess,
            at moment: Moment
        ) async throws -> Bool {
            let rows = Self.rows()
            let killAt =
                switch moment {
                case .early: self.rowCount / 4
                case .late: self.rowCount * 3 / 4
                case .end, .storing, .answered: self.rowCount
                }
            var next = 0
            return try await withThrowingTaskGroup(of: Void.self) { group in
                do {
                    _ = try await client.importSubtree(Self.request(key)) {
                        if next == killAt, moment == .early || moment == .late { try await server.killNow() }
                        guard next < rows.count else {
                            // SUBTREE_END is sent next; kill the server at that moment or while it stores the rows.
                            if moment != .answered {
                                group.addTask {
                                    if moment == .storing { try await Self.waitForWriting(server) }
                                    try await server.killNow()
                                }
                            }
                            return nil
                        }
                        defer { next += 500 }
                        return Array(rows[next..<next + 500])
                    }
                } catch let error as NestError {
                    #expect([.connectionLost, .outcomeUnknown].contains(error.code), "\(error)")
                    return false
                }
                try await group.waitForAll()
                try await server.killNow()
                return true
            }
        }

        /// Waits until the write-ahead log of the almost empty store grows.
        private static func waitForWriting(_ server: ServerProcess) async throws {
            try await waitUntil("the import to be written", every: .milliseconds(1)) {
                let attributes = try? FileManager.default.attributesOfItem(atPath: server.storePath + "-wal")
                return (attributes?[.size] as? Int).map { $0 > 256 << 10 } ?? false
            }
        }

        /// Reads everything below the root and returns whether the import is stored.
        private static func expectWholeOrAbsent(
            _ client: NestClient,
            before: Int,
            _ comment: Comment
        ) async throws -> Bool {
            let count = try await self.descendantCount(client)
            #expect([before, before + self.rowCount].contains(count), comment)
            return count > before
        }

        /// Reads the whole tree and returns the number of its rows. Each import must have its rows, depths and order.
        private static func descendantCount(_ client: NestClient) async throws -> Int {
            let expected = self.rows()
            let request = SubtreeRequest(root: Item.root, relationship: Item.children, properties: [Item.title])
            return try await client.fetchSubtree(request) { subtree in
                var count = -1
                for try await rows in subtree {
                    for row in rows {
                        if count >= 0 {
                            let original = expected[count % self.rowCount]
                            guard row.depth == original.depth + 1, row.values == original.values else {
                                throw ProcessFailure("row \(count) is \(row), not \(original)")
                            }
                        }
                        count += 1
                    }
                }
                return count
            }
        }
    }
}
