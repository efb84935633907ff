import NestModel

/// A checksum that identifies the rows of an import, independent of chunks, compression and value forms: FNV-1a (64
/// bits) over the depth and the values of each row in order, each value in its shortest form.
package struct SubtreeRowsChecksum: Sendable {
    package private(set) var value = SubtreeChecksum().value
    private var bytes = ByteWriter()

    package init() {}

    package mutating func add(_ rows: SubtreeColumns) {
        rows.chunk.withUnsafeBytes { chunk in
            for row in 0..<rows.rowCount {
                self.bytes.write(count: rows.depths[row])
                for column in 0..<rows.valueCount { self.bytes.write(cell: rows[row, column], of: chunk) }
                if self.bytes.count >= Self.hashedBytes { self.hash() }
            }
        }
        self.hash()
    }

    /// How many bytes are collected before they are hashed: not a whole chunk, because each upload has such bytes.
    private static let hashedBytes = 4 << 10

    private mutating func hash() {
        self.value = fnv1a(self.bytes.bytes, seed: self.value)
        self.bytes.bytes.removeAll(keepingCapacity: self.bytes.count <= 2 * Self.hashedBytes)
    }
}
