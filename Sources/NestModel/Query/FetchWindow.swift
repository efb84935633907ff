/// The rows of a result that a view shows.
public enum FetchWindow: Hashable, Sendable {
    /// Rows [offset, offset + limit), whatever objects they are.
    case range(offset: Int, limit: Int)
    /// An object (the anchor) and up to so many rows before and after it; the window follows the object. If the object
    /// leaves the result, the row that takes its position becomes the anchor.
    case around(ObjectID, before: Int, after: Int)

    public var isAround: Bool {
        if case .around = self { true } else { false }
    }

    public init(offset: Int = 0, limit: Int) {
        self = .range(offset: offset, limit: limit)
    }
}

/// The position in the whole result where a window begins.
public struct WindowStart: Hashable, Sendable {
    /// The number of rows before the window.
    public var row: Int
    /// The index of the window's first section.
    public var section: Int
    /// The number of rows of that section before the window.
    public var rowInSection: Int

    public init(row: Int = 0, section: Int = 0, rowInSection: Int = 0) {
        self.row = row
        self.section = section
        self.rowInSection = rowInSection
    }
}

/// The position of a window in its result.
public struct WindowPosition: Hashable, Sendable {
    /// The numbers of rows and sections of the whole result.
    public var total: Int
    public var sectionTotal: Int
    public var start: WindowStart
    /// The object that the window follows now; `nil` for a range, and if the result is empty.
    public var anchor: ObjectID?

    public init(total: Int, sectionTotal: Int, start: WindowStart, anchor: ObjectID? = nil) {
        self.total = total
        self.sectionTotal = sectionTotal
        self.start = start
        self.anchor = anchor
    }
}
