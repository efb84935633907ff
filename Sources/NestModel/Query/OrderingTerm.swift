/// One sort key. Object ids, ascending, complete every order, so it is total.
public struct OrderingTerm: Hashable, Sendable {
    public enum Key: Hashable, Sendable {
        /// An attribute of the rows or of objects behind their to-one relationships (`user.name`), or a count
        /// (`children.@count`) or function (`phones.@sum.minutes`). Null sorts below every value; text by its UTF-8
        /// bytes, decimals as numbers.
        case path(PropertyPath)
        /// The order of the source's relationship, or of the relationship of a top-level `parent == X` in the
        /// predicate. Ascending, and the only key: it is total.
        case order
    }

    public var key: Key
    public var isAscending: Bool
    /// The differences of text that the order ignores.
    public var folding: TextFolding

    public init(key: Key, isAscending: Bool = true, folding: TextFolding = []) {
        self.key = key
        self.isAscending = isAscending
        self.folding = folding
    }

    /// Sorts by an attribute of the rows.
    public init(_ property: PropertyNumber, isAscending: Bool = true, folding: TextFolding = []) {
        self.init(key: .path(PropertyPath(leaf: .attribute(property))), isAscending: isAscending, folding: folding)
    }

    /// Whether this key makes a later key `other` redundant: rows equal by this key are equal by `other` too.
    func makesRedundant(_ other: OrderingTerm) -> Bool {
        self.key == other.key && (self.folding.isEmpty || self.folding == other.folding)
    }

    public static let order = OrderingTerm(key: .order)

    /// The attribute of the rows to sort by; `nil` for any other key.
    public var property: PropertyNumber? {
        guard case .path(let path) = self.key, path.steps.isEmpty, case .attribute(let property) = path.leaf else {
            return nil
        }
        return property
    }
}

/// The section key of a row: a function of the first sort key's value, compared as that key compares it. Sections are
/// therefore always in the order of the rows.
public struct SectionKey: Hashable, Sendable {
    public enum Function: UInt8, Sendable, CaseIterable {
        /// The value itself, folded if the sort key folds it.
        case value = 1
        /// The first scalar of a text, upper-cased if the sort key ignores case.
        case firstCharacter = 2
        /// The year, month or day of a date, in UTC: `2026`, `2026-11`, `2026-11-21`.
        case year = 3
        case month = 4
        case day = 5

        /// The function's name in the text of a request, which omits `value`.
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

    /// Makes the key of an attribute of the rows.
    public init(_ function: Function = .value, of property: PropertyNumber) {
        self.init(function, of: PropertyPath(leaf: .attribute(property)))
    }
}
