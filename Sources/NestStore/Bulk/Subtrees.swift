import NestModel

/// A whole upload, checked chunk by chunk and kept in a spool file until the engine makes it one transaction.
package struct StagedSubtree: Sendable {
    package let request: SubtreeImport
    /// Not compressed.
    package let chunks: SpooledChunks
    package let rowCount: Int
    /// Of the rows, see `SubtreeRowsChecksum`: distinguishes a retry from another upload with the same key.
    package let checksum: UInt64

    package init(request: SubtreeImport, chunks: SpooledChunks, rowCount: Int, checksum: UInt64) {
        self.request = request
        self.chunks = chunks
        self.rowCount = rowCount
        self.checksum = checksum
    }
}

/// A sub-tree as it was at one revision, read to its end and kept in a spool file: no read transaction is open for it.
package struct SubtreeExport: Sendable {
    package let revision: Revision
    package let entity: EntityNumber
    package let properties: [PropertyNumber]
    package let chunks: SpooledChunks
    package let rowCount: Int
    package let checksum: UInt64
}
