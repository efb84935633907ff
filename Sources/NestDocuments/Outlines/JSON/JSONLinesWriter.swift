import NestModel

/// Writes JSON lines: one object for each row with its depth. A row from a server also gets its id and its parent's.
package struct JSONLinesWriter: OutlineWriter {
    private let fields: OutlineFields
    private var bytes: [UInt8] = []
    /// The ids of the last row and its ancestors.
    private var path: [ObjectID?] = []

    package init(_ fields: OutlineFields = OutlineFields()) {
        self.fields = fields
    }

    package var byteCount: Int { self.bytes.count }
    package var warnings: [String] { [] }

    package mutating func write(_ row: OutlineRow) throws(FormatError) {
        precondition(row.depth >= 0 && row.depth <= self.path.count, "a row is at most one level below the last")
        self.path.removeSubrange(row.depth...)
        let parent = self.path.last ?? nil
        self.path.append(row.id)
        let line = JSONWriter.object { json in
            json.field("depth", row.depth)
            if let id = row.id {
                json.field("id", id.rawValue)
                json.key("parent")
                if let parent { json.integer(parent.rawValue) } else { json.null() }
            }
            json.item(row, self.fields)
        }
        self.bytes += line.bytes
        self.bytes.append(UInt8(ascii: "\n"))
    }

    package mutating func finish() throws(FormatError) {}

    package mutating func take() -> [UInt8] {
        defer { self.bytes = [] }
        return self.bytes
    }
}
