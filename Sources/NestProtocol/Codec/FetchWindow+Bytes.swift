import NestModel

extension ByteWriter {
    package mutating func write(windowPosition position: WindowPosition) {
        self.write(count: position.total)
        self.write(count: position.sectionTotal)
        self.write(count: position.start.row)
        self.write(count: position.start.section)
        self.write(count: position.start.rowInSection)
        self.write(varint: UInt64(position.anchor?.rawValue ?? 0))
    }
}

extension ByteReader {
    package mutating func windowPosition() throws(DecodingFailure) -> WindowPosition {
        let total = try self.index("total")
        let sectionTotal = try self.index("section total")
        let start = WindowStart(
            row: try self.index("first row"),
            section: try self.index("first section"),
            rowInSection: try self.index("first row in its section")
        )
        guard start.row <= total, start.rowInSection <= start.row else {
            throw DecodingFailure(.outOfRange, "first row")
        }
        let anchor = try self.varint("anchor")
        guard anchor <= UInt64(Limits.objectIDMax) else { throw DecodingFailure(.outOfRange, "anchor") }
        return WindowPosition(
            total: total,
            sectionTotal: sectionTotal,
            start: start,
            anchor: anchor == 0 ? nil : ObjectID(Int64(anchor))
        )
    }
}
