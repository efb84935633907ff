/// The names of an item's values, for formats that name them. The defaults are those of a nested list.
package struct OutlineFields: Equatable, Sendable {
    package var title = "title"
    /// `nil` when items have no note.
    package var note: String? = "note"
    package var done: String? = "done"
    package var hasExtra = true
    /// The names of other attributes, in the order in which they are written.
    package var attributes: [String] = []
    /// The names of those that are dates.
    package var dates: Set<String> = []

    package init() {}

    /// Names for an item's position in the tree and for `extra`: no attribute can have them in a file.
    private static let reserved: Set<String> = ["id", "parent", "depth", "level", "children", "extra"]

    /// Returns an attribute's name in a file.
    package static func name(of attribute: String) -> String {
        self.reserved.contains(attribute) ? "\(attribute)_" : attribute
    }

    /// Returns the names under which to look for a title, note or mark: its own first, then those of other programs,
    /// unless another field has that name.
    func names(of own: String?, others: [String], isSame: (String, String) -> Bool = { $0 == $1 }) -> [String] {
        guard let own else { return [] }
        let known = [self.title, self.note, self.done].compactMap { $0 } + self.attributes
        return [own] + others.filter { other in !known.contains { isSame($0, other) } }
    }
}

/// A value of an item besides its title, note and mark.
package struct OutlineAttribute: Equatable, Sendable {
    package var name: String
    package var value: JSONElement
    /// Whether the format has only texts as values, so that an empty text means no value.
    package var isText: Bool
    /// Its location in the file; `nil` means its item's location.
    package var location: TextLocation?

    package init(_ name: String, _ value: JSONElement, isText: Bool = false, location: TextLocation? = nil) {
        self.name = name
        self.value = value
        self.isText = isText
        self.location = location
    }

    /// The value as a text; `nil` for null.
    var text: String? {
        switch self.value {
        case .null: nil
        case .string(let text): text
        case .boolean(let flag): flag ? "yes" : "no"
        case .number, .array, .object: self.value.text
        }
    }
}
