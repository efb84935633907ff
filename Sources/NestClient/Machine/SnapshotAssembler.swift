import NIOCore
import NestModel
import NestWire

/// Puts a snapshot together from its head and the frames of rows after it.
package struct SnapshotAssembler: Sendable {
    package let header: SnapshotHeader
    private let projection: [PropertyNumber]
    private var sections: [Section] = []
    /// The section that the next row belongs to.
    private var section = 0
    private var rowCount = 0
    package private(set) var byteCount = 0

    package init(_ header: SnapshotHeader, projection: [PropertyNumber]) {
        self.header = header
        self.projection = projection
        self.sections = header.sections.map { Section(key: $0.key, rows: []) }
    }

    package mutating func add(_ body: ByteBuffer) throws(WireError) {
        self.byteCount += body.readableBytes
        let rows: [Row]
        let message = try SnapshotRows(body: body)
        do throws(DecodingFailure) {
            rows = try message.rows(valueCount: self.projection.count)
        } catch {
            throw .malformed(error)
        }
        guard rows.count <= self.header.total - self.rowCount else {
            throw .malformed(DecodingFailure(.invalidValue, "snapshot rows"))
        }
        self.rowCount += rows.count
        var next = rows[...]
        while !next.isEmpty {
            let missing = self.header.sections[self.section].rowCount - self.sections[self.section].rows.count
            self.sections[self.section].rows.append(contentsOf: next.prefix(missing))
            next = next.dropFirst(missing)
            if !next.isEmpty { self.section += 1 }
        }
    }

    /// The snapshot, when the last frame has come.
    package func finish() throws(WireError) -> SectionedSnapshot {
        guard self.rowCount == self.header.total else {
            throw .malformed(DecodingFailure(.truncated, "snapshot rows"))
        }
        return SectionedSnapshot(
            revision: self.header.revision,
            projection: self.projection,
            sections: self.sections
        )
    }
}
