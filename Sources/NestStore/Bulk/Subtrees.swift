import NestModel

/// A whole upload, checked chunk by chunk and kept in a spool file until the engine imports it in one transaction.
package struct StagedSubtree: Sendable {
    package let request: SubtreeImport
    /// Not compressed.
    package let chunks: SpooledChunks
    package let rowCount: Int
    /// The number of rows of depth 0; `nil`: unknown.
    package let topCount: Int?
    /// The checksum of the rows, see `SubtreeRowsChecksum`. It distinguishes a retry from another upload with the same
    /// key.
    package let checksum: UInt64

    package init(
        request: SubtreeImport,
        chunks: SpooledChunks,
        rowCount: Int,
        topCount: Int? = nil,
        checksum: UInt64
    ) {
        self.request = request
        self.chunks = chunks
        self.rowCount = rowCount
        self.topCount = topCount
        self.checksum = checksum
    }
}

/// A sub-tree at one revision, read completely and kept in a spool file: it needs no open read transaction.
package struct SubtreeExport: Sendable {
    package let revision: Revision
    package let entity: EntityNumber
    package let properties: [PropertyNumber]
    package let chunks: SpooledChunks
    package let rowCount: Int
    package let checksum: UInt64
}
