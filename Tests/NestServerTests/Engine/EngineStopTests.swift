import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestModel
import NestServer
import NestStore
import NestTestSupport
import Testing
import NestProtocol
import NestSchema

extension SocketTests {
    /// An interrupt ends the engine's thread during any work.
    struct EngineStopTests {
        private static let item = EntityNumber(1)
        private static let chunkRows = 65_536
        private static let chunkCount = 30

        /// Returns an import that would keep the writer busy for minutes. All its chunks have the same bytes.
        private static func bomb(_ directory: String) throws -> StagedSubtree {
            var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: false)
            for _ in 0..<Self.chunkRows { writer.append(SubtreeRow(depth: 0, id: nil, values: [.string("")])) }
            let chunk = writer.take()
            var chunks = try SpooledChunks(directory: directory)
            for _ in 0..<Self.chunkCount { try chunks.append(chunk) }
            return StagedSubtree(
                request: SubtreeImport(
                    entity: Self.item,
                    placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last),
                    properties: [PropertyNumber(1)]
                ),
                chunks: chunks,
                rowCount: Self.chunkRows * Self.chunkCount,
                checksum: 0
            )
        }

        /// Acknowledged writes stay, the running write is rolled back, and later writes do not begin.
        @Test func interruptRollsBackTheWriteUnderWay() async throws {
            let directory = TemporaryDirectory()
            let location = Store.Configuration.Location.file("\(directory.path)/nest.sqlite")
            let configuration = Store.Configuration(location: location, model: .nestedList)
            let receipts = NIOLockedValueBox<[Revision]>([])
            let hasBegun = NIOLockedValueBox(false)
            let thread = EngineThread { stage, inputs in
                let isImport = inputs.contains { input in
                    if case .request(_, _, .importSubtree) = input { true } else { false }
                }
                if stage == .begun, isImport { hasBegun.withLockedValue { $0 = true } }
            }
            _ = try await thread.start(
                configuration,
                limits: EngineLimits(diskFreeBytesMin: 0),
                readTransaction: .seconds(600),
                memory: EngineMemory()
            ) { delivery in
                for case .reply(_, _, .receipt(let receipt)) in delivery.effects {
                    receipts.withLockedValue { $0.append(receipt.revision) }
                }
            } failed: { failure in
                Issue.record("\(failure)")
            }
            let id = ConnectionID(1)
            let insert = WriteTransaction(mutations: [
                .insert(
                    entity: Self.item,
                    values: [PropertyAssignment(PropertyNumber(1), .value(.string("kept")))],
                    placements: [Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last)]
                )
            ])
            thread.submit([.connected(id, session: Identifier128(high: 1, low: 1), scope: .everything)])
            thread.submit([.request(id, requestID: 1, .transaction(insert))])
            try await waitUntil("the first receipt") { receipts.withLockedValue { !$0.isEmpty } }
            thread.submit([.request(id, requestID: 2, .importSubtree(try Self.bomb(directory.path)))])
            thread.submit([.request(id, requestID: 3, .transaction(insert))])
            try await waitUntil("the import to begin", every: .zero) { hasBegun.withLockedValue { $0 } }
            thread.interrupt()
            try await thread.stop()
            #expect(receipts.withLockedValue { $0 } == [Revision(1)])
            // Opening the store again replays the remaining log.
            let store = try Store(configuration, newHistoryID: Identifier128(high: 2, low: 2))
            #expect(store.head == Revision(1))
            let layout = try #require(store.layout[Self.item])
            var count = 0
            try store.access { try store.forEach(layout.toMany[0], of: ObjectID(1)) { _, _ in count += 1 } }
            #expect(count == 1)
            try store.close()
        }
    }
}
