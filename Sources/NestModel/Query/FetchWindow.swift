/// Which rows of a result a view shows.
public enum FetchWindow: Hashable, Sendable {
    /// Rows [offset, offset + limit), whichever they are.
    case range(offset: Int, limit: Int)
    /// An object and up to so many rows before and after it, wherever it goes. When it leaves the result, the row that has
    /// come into its place is followed instead.
    case around(ObjectID, before: Int, after: Int)

    public var isAround: Bool {
        if case .around = self { true } else { false }
    }

    public init(offset: Int = 0, limit: Int) {
        self = .range(offset: offset, limit: limit)
    }
}

/// Where in the whole result a window begins.
public struct WindowStart: Hashable, Sendable {
    /// Rows before it.
    public var row: Int
    /// Index of its first section.
    public var section: Int
    /// Rows of that section before it.
    public var rowInSection: Int

    public init(row: Int = 0, section: Int = 0, rowInSection: Int = 0) {
        self.row = row
        self.section = section
        self.rowInSection = rowInSection
    }
}

/// Where a window is, and in how much.
public struct WindowPosition: Hashable, Sendable {
    /// Rows and sections of the whole result.
    public var total: Int
    public var sectionTotal: Int
    public var start: WindowStart
    /// The object that a window around one follows now; `nil` for a range, and when the result is empty.
    public var anchor: ObjectID?

    public init(total: Int, sectionTotal: Int, start: WindowStart, anchor: ObjectID? = nil) {
        self.total = total
        self.sectionTotal = sectionTotal
        self.start = start
        self.anchor = anchor
    }
}
