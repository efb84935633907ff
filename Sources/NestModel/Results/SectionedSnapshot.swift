/// Section and row, each counted from 0.
public struct RowPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    public var section: Int
    public var row: Int

    public init(_ section: Int, _ row: Int) {
        self.section = section
        self.row = row
    }

    public static func < (a: RowPosition, b: RowPosition) -> Bool {
        (a.section, a.row) < (b.section, b.row)
    }

    public var description: String { "[\(self.section), \(self.row)]" }
}

/// One object of a result: its id and its projected values, in the order of the projection.
public struct Row: Identifiable, Hashable, Sendable {
    public var id: ObjectID
    public var values: [AttributeValue]

    public init(id: ObjectID, values: [AttributeValue]) {
        self.id = id
        self.values = values
    }
}

public struct ResultsSection: Hashable, Sendable {
    public var key: AttributeValue
    public var rows: [Row]
    /// The request's totals over all rows of the section, also over those outside the window.
    public var totals: [AttributeValue]

    public init(key: AttributeValue, rows: [Row], totals: [AttributeValue] = []) {
        self.key = key
        self.rows = rows
        self.totals = totals
    }
}

/// The whole state of a result at a revision. A result without a section key has exactly one section, with the key "",
/// even if it has no rows.
public struct SectionedSnapshot: Hashable, Sendable {
    public var revision: Revision
    /// The properties of the rows' values.
    public var projection: [PropertyNumber]
    public var sections: [ResultsSection]
    /// The window's position in the whole result; `nil`: the rows are the whole result.
    public var window: WindowPosition?
    /// The request's totals over the whole result.
    public var totals: [AttributeValue]

    public init(
        revision: Revision,
        projection: [PropertyNumber],
        sections: [ResultsSection],
        window: WindowPosition? = nil,
        totals: [AttributeValue] = []
    ) {
        self.revision = revision
        self.projection = projection
        self.sections = sections
        self.window = window
        self.totals = totals
    }

    public var total: Int { self.sections.reduce(0) { $0 + $1.rows.count } }

    public subscript(_ path: RowPosition) -> Row { self.sections[path.section].rows[path.row] }

    /// The digest of the rows, computed from scratch: O(n).
    public var digest: UInt64 {
        var digest = ResultsDigest.empty
        for section in self.sections {
            let hash = ResultsDigest.sectionHash(section.key)
            for row in section.rows { digest.append(sectionHash: hash, object: row.id) }
        }
        return digest.value
    }
}
