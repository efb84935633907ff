import NestModel

/// A checksum that identifies the rows of an import, independent of chunks, compression and value forms: FNV-1a (64
/// bits) over the depth and the values of each row in order, each value in its shortest form.
package struct SubtreeRowsChecksum: Sendable {
    package private(set) var value = SubtreeChecksum().value
    private var bytes = ByteWriter()

    package init() {}

    package mutating func add(_ rows: [SubtreeRow]) {
        for row in rows {
            self.bytes.write(count: row.depth)
            for value in row.values { self.bytes.write(value: value) }
            self.value = fnv1a(self.bytes.bytes, seed: self.value)
            self.bytes.bytes.removeAll(keepingCapacity: true)
        }
    }
}
