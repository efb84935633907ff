import NIOCore
import NestFraming
import NestModel
import NestProtocol
import NestStore

// The frames of downloads.

extension Download.Content {
    func chunkFrame(_ chunk: [UInt8], id: UInt32) -> ByteBuffer {
        var frame = ByteBuffer()
        frame.reserveCapacity(Frame.headerBytes + chunk.count)
        frame.writeFrame(type: self.kind == .backup ? .backupChunk : .subtreeChunk, id: id, body: chunk)
        return frame
    }

    func endFrame(id: UInt32) -> ByteBuffer {
        switch self.kind {
        case .subtree, .value: SubtreeEnd(rowCount: self.count, checksum: self.checksum).frame(id: id)
        case .backup: BackupEnd(fileBytes: self.count, checksum: self.checksum).frame(id: id)
        }
    }
}

extension SubtreeStart {
    init(_ export: SubtreeExport) {
        self.init(
            revision: export.revision,
            entity: export.entity,
            rowCount: export.rowCount,
            byteCount: export.chunks.bodyByteCount,
            properties: export.properties
        )
    }
}

extension BackupStart {
    init(_ backup: StoreBackup) {
        self.init(
            revision: backup.revision,
            historyID: backup.historyID,
            fileBytes: backup.fileBytes,
            byteCount: backup.chunks.bodyByteCount
        )
    }
}

extension SpooledChunks {
    /// The bytes of the chunks, without the four-byte length before each chunk.
    var bodyByteCount: Int { self.byteCount - 4 * self.chunkCount }
}
