import NIOCore
import NestProtocol
import NestModel
import NestFraming

/// Imports compressed chunks of a few bytes that each unpack to the maximum number of rows; then undoes the last
/// import.
struct RowBombs: Attacker {
    private let site: AttackSite
    private let chunks: Int

    init(_ sizes: AttackSizes, on server: AttackServer) {
        self.site = server.site
        self.chunks = sizes.chunks
    }

    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackCounts {
        var counts = AttackCounts()
        guard let connection = await self.site.connect() else { return counts }
        var id: UInt32 = 0
        repeat {
            id += 1
            counts.add(await connection.ask(self.bomb(id), id: id, within: self.site.patience).outcome)
        } while !deadline.isOver && counts.ended + counts.late == 0
        id += 1
        counts.add(await connection.ask(Undo(key: nil).frame(id: id), id: id, within: self.site.patience).outcome)
        await connection.close()
        return counts
    }

    /// Returns the frames of a whole import. The initial credit is enough, because the chunks are far smaller.
    private func bomb(_ id: UInt32) -> ByteBuffer {
        let request = SubtreeImport(
            entity: EntityNumber(1),
            placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last),
            properties: [PropertyNumber(1)]
        )
        let chunk = Self.chunk()
        var checksum = SubtreeChecksum()
        var bytes = ImportSubtree(request).frame(id: id)
        for _ in 0..<self.chunks {
            bytes.writeFrame(type: .subtreeChunk, id: id, body: chunk)
            checksum.add(chunk)
        }
        let end = SubtreeEnd(rowCount: self.chunks * Limits.chunkRowsMax, checksum: checksum.value)
        bytes.writeImmutableBuffer(end.frame(id: id))
        return bytes
    }

    /// Returns the body of one chunk: 65,536 top-level rows with empty titles.
    static func chunk() -> [UInt8] {
        var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: false)
        let row = SubtreeRow(depth: 0, id: nil, values: [.string("")])
        for _ in 0..<Limits.chunkRowsMax { writer.append(row) }
        return SubtreeChunk(packing: writer.take(), Zstandard.Compressor()).bytes
    }
}
