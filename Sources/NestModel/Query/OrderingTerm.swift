/// One key of an order. Every order is completed by the objects' ids, ascending, so that it is total.
public struct OrderingTerm: Hashable, Sendable {
    public enum Key: Hashable, Sendable {
        /// An attribute of the rows, of what their to-one relationships lead to (`user.name`), or a count
        /// (`children.@count`). Null is below every value; text is ordered by its UTF-8 bytes, decimals as numbers.
        case path(PropertyPath)
        /// The order of the source's relationship, or of that in which a top-level `parent == X` of the predicate puts the
        /// rows. Ascending, and alone: it leaves nothing to decide.
        case order
    }

    public var key: Key
    public var isAscending: Bool
    /// Of text: what is not told apart.
    public var folding: TextFolding

    public init(key: Key, isAscending: Bool = true, folding: TextFolding = []) {
        self.key = key
        self.isAscending = isAscending
        self.folding = folding
    }

    /// By an attribute of the rows.
    public init(_ property: PropertyNumber, isAscending: Bool = true, folding: TextFolding = []) {
        self.init(key: .path(PropertyPath(leaf: .attribute(property))), isAscending: isAscending, folding: folding)
    }

    /// Whether rows that it takes for the same are the same to another: that one has nothing left to decide.
    func tellsApart(_ other: OrderingTerm) -> Bool {
        self.key == other.key && (self.folding.isEmpty || self.folding == other.folding)
    }

    public static let order = OrderingTerm(key: .order)

    /// The attribute of the rows that it sorts by; `nil` when it is something else.
    public var property: PropertyNumber? {
        guard case .path(let path) = self.key, path.steps.isEmpty, case .attribute(let property) = path.leaf else {
            return nil
        }
        return property
    }
}

/// What rows are put into sections by: a function of what the first sort descriptor sorts by, as it compares it. Sections
/// so follow the order by construction.
public struct SectionKey: Hashable, Sendable {
    public enum Function: UInt8, Sendable, CaseIterable {
        /// The value itself; folded when the order folds it.
        case value = 1
        /// Of text: its first scalar, upper-cased when the order does not tell case apart.
        case firstCharacter = 2
        /// Of a date, in UTC: `2026`, `2026-11`, `2026-11-21`.
        case year = 3
        case month = 4
        case day = 5

        /// As a request says it; `value` is not said.
        public var name: String {
            switch self {
            case .value: "value"
            case .firstCharacter: "firstCharacter"
            case .year: "year"
            case .month: "month"
            case .day: "day"
            }
        }
    }

    public var function: Function
    public var path: PropertyPath

    public init(_ function: Function, of path: PropertyPath) {
        self.function = function
        self.path = path
    }

    /// Of an attribute of the rows.
    public init(_ function: Function = .value, of property: PropertyNumber) {
        self.init(function, of: PropertyPath(leaf: .attribute(property)))
    }
}
