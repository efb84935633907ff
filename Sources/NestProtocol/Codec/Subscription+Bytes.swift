import NestModel

/// The byte form of snapshot headers.
extension SnapshotHeader {
    /// The bodies of SNAPSHOT and of the SNAPSHOT_SECTIONS frames after it, each of about `Limits.chunkBytes`.
    package var bodies: [[UInt8]] { self.bodies(sectionCount: self.sections.count) }

    /// `sectionCount`: the number of all sections, of which these are the first.
    package func bodies(sectionCount: Int) -> [[UInt8]] {
        var head = ByteWriter()
        head.write(byte: self.reason.rawValue)
        head.write(revision: self.revision)
        head.write(integer: self.digest)
        head.write(windowPosition: self.window)
        head.write(count: sectionCount)
        var bodies: [[UInt8]] = []
        var next = self.sections[...]
        repeat {
            var list = ByteWriter()
            var count = 0
            while let section = next.first, list.count < Limits.chunkBytes {
                list.write(value: section.key)
                list.write(count: section.rowCount)
                count += 1
                next = next.dropFirst()
            }
            head.write(count: count)
            head.write(raw: list.bytes)
            bodies.append(head.bytes)
            head = ByteWriter()
        } while !next.isEmpty
        return bodies
    }
}

extension ByteReader {
    /// Reads the header of a snapshot with the sections in the first frame. `sectionCount`: the number of all sections.
    package mutating func snapshotHeader() throws(DecodingFailure) -> (header: SnapshotHeader, sectionCount: Int) {
        guard let reason = SnapshotReason(rawValue: try self.byte("reason")) else {
            throw DecodingFailure(.unsupported, "reason")
        }
        var header = SnapshotHeader(
            reason: reason,
            revision: try self.revision("revision"),
            digest: try self.integer(UInt64.self, "digest"),
            window: try self.windowPosition(),
            sections: []
        )
        let sectionCount = try self.index("section count")
        try self.snapshotSections(into: &header, sectionCount: sectionCount)
        return (header, sectionCount)
    }

    /// Reads further sections of a snapshot, in their order. Together they have no more rows than the result.
    package mutating func snapshotSections(
        into header: inout SnapshotHeader,
        sectionCount: Int
    ) throws(DecodingFailure) {
        let (end, overflow) = header.window.start.row.addingReportingOverflow(header.rowCount)
        guard !overflow, end <= header.total else { throw DecodingFailure(.outOfRange, "first row") }
        var left = header.total - end
        let count = try self.count("sections", bytesEach: 2)
        guard count <= sectionCount - header.sections.count, sectionCount <= header.window.sectionTotal else {
            throw DecodingFailure(.outOfRange, "sections")
        }
        for _ in 0..<count {
            let section = SnapshotHeader.Section(
                key: try self.value("section key"),
                rowCount: try self.index("section rows")
            )
            guard section.rowCount <= left else { throw DecodingFailure(.outOfRange, "section rows") }
            left -= section.rowCount
            header.sections.append(section)
        }
    }

    /// Reads a count, then rows.
    package mutating func rows(valueCount: Int) throws(DecodingFailure) -> [Row] {
        var rows: [Row] = []
        let count = try self.count("rows", bytesEach: 1 + valueCount)
        rows.reserveCapacity(count)
        for _ in 0..<count { rows.append(try self.row(valueCount: valueCount)) }
        return rows
    }
}
