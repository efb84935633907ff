import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// A store keeps the hash of each request with its idempotency key, so later versions must compute the same hashes.
@Suite struct RequestHashTests {
    private static let key = Identifier128(high: 1, low: 2)

    private func hash(_ request: EngineRequest) throws -> UInt64 {
        switch request {
        case .transaction(_, let hash), .undo(_, _, _, let hash), .redo(_, _, _, let hash),
            .revert(_, _, _, _, let hash), .importSubtree(_, let hash):
            return hash
        default:
            throw NestError(.invalid, "the request has no hash")
        }
    }

    private func transaction(key: Identifier128?) -> WriteTransaction {
        WriteTransaction(
            name: "Plan",
            key: key,
            preconditions: [Precondition(object: ObjectID(7), revision: Revision(300))],
            mutations: [EngineFixture.insert("a"), .delete(.object(ObjectID(3)))],
            coalescing: Coalescing(key: "k", milliseconds: 1_000)
        )
    }

    /// The hash is FNV-1a of the canonical body. The test writes the body by hand.
    @Test func theHashOfATransactionStaysTheSame() throws {
        let body: [UInt8] =
            [4] + Array("Plan".utf8) + [1, 7, 0x41, 0x2c, 2]
            + [1, 1, 1, 1, 0, 0x81, 0x61, 1, 5, 2, 0] + [4, 6] + [1, 0x6b, 0x43, 0xe8]
        let hash = try self.hash(.transaction(self.transaction(key: Self.key)))
        #expect(hash == 0xe183_6ed6_2827_0274)
        #expect(hash == fnv1a(body))
        #expect(try self.hash(.transaction(self.transaction(key: nil))) == 0)
    }

    @Test func theHashOfAnUndoStaysTheSame() throws {
        #expect(try self.hash(.undo(key: Self.key)) == 0xad2a_ca77_4798_5764)
        #expect(try self.hash(.undo(key: nil)) == 0xad2a_ca77_4798_5764)
        let rehoming = UndoOptions(policy: .force, rehomes: true)
        #expect(try self.hash(.redo(key: Self.key, rehoming, expected: Revision(300))) == 0x679e_eb25_cf32_c54a)
        let strict = UndoOptions(policy: .strict)
        #expect(try self.hash(.revert(key: Self.key, strict, Revision(5), ofAnyone: false)) == 0xdbcd_3187_ea33_dbaf)
        #expect(try self.hash(.revert(key: Self.key, strict, Revision(5), ofAnyone: true)) == 0xdbcd_3187_ea33_dbaf)
    }

    @Test func theHashOfAnImportStaysTheSame() throws {
        let directory = TemporaryDirectory()
        let staged = StagedSubtree(
            request: SubtreeImport(
                key: Self.key,
                name: "List",
                entity: EngineFixture.item,
                placement: Placement(relationship: EngineFixture.parent, owner: .object(ObjectID(1)), place: .first),
                properties: [EngineFixture.title]
            ),
            chunks: try SpooledChunks(directory: directory.path),
            rowCount: 3,
            checksum: 0x0102_0304_0506_0708
        )
        #expect(try self.hash(.importSubtree(staged)) == 0x4c24_3b4c_f913_42b7)
    }
}
