import NestModel

/// The rows of a result at one revision, in sections: a value that later changes do not touch.
///
/// It is a collection of all its rows. An element is a `FetchedRow`, or what was made of it (`RowDecodable`). A result
/// without a section key has exactly one section, with the key "".
public struct FetchedRows<Element> {
    public struct Section {
        public let key: AttributeValue
        public let rows: [Element]
        /// The request's totals over all rows of the section, also over those outside the window.
        public let totals: [AttributeValue]

        /// The key as text: see `FetchedResultsSectionInfo.name(for:)`.
        public var name: String { FetchedResultsSectionInfo.name(for: self.key) }
    }

    public let revision: Revision
    public let sections: [Section]
    /// The request's totals over the whole result, in the order of the request.
    public let totals: [AttributeValue]
    /// The window's position in the whole result; `nil`: the rows are the whole result.
    public let window: WindowPosition?
    /// The number of rows before each section, and of all rows.
    private let starts: [Int]

    init(_ state: SectionedSnapshot, _ elements: [[Element]]) {
        self.revision = state.revision
        self.sections = zip(state.sections, elements).map { section, rows in
            Section(key: section.key, rows: rows, totals: section.totals)
        }
        self.totals = state.totals
        self.window = state.window
        var starts = [0]
        for rows in elements { starts.append(starts[starts.count - 1] + rows.count) }
        self.starts = starts
    }

    /// No rows, at revision 0: the state before the first snapshot.
    init() {
        self.init(SectionedSnapshot(revision: Revision(0), projection: [], sections: []), [])
    }

    /// The number of rows of the whole result, also of those outside the window.
    public var total: Int { self.window?.total ?? self.count }

    public subscript(path: RowPosition) -> Element { self.sections[path.section].rows[path.row] }
}

extension FetchedRows: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { self.starts[self.starts.count - 1] }

    /// The row at an index over all sections: O(log sections).
    public subscript(index: Int) -> Element {
        precondition(self.indices.contains(index), "there is no row \(index) of \(self.count)")
        // The last section that begins at the index or before it: those without rows are passed.
        var (low, high) = (0, self.sections.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if self.starts[middle] <= index { low = middle } else { high = middle }
        }
        return self.sections[low].rows[index - self.starts[low]]
    }
}

extension FetchedRows: Sendable where Element: Sendable {}
extension FetchedRows.Section: Sendable where Element: Sendable {}
extension FetchedRows: Equatable where Element: Equatable {}
extension FetchedRows.Section: Equatable where Element: Equatable {}

extension FetchedRows where Element: RowDecodable {
    /// Makes the elements of a state's rows.
    init(decoding state: SectionedSnapshot, _ columns: Columns) throws {
        let elements = try state.sections.map { section in
            try section.rows.map { try Element(row: FetchedRow($0, columns)) }
        }
        self.init(state, elements)
    }
}
