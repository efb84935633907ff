/// What the values of an item are called in the formats that name them: by default those of a nested list.
package struct OutlineFields: Equatable, Sendable {
    package var title = "title"
    /// `nil` when items have none.
    package var note: String? = "note"
    package var done: String? = "done"
    package var hasExtra = true
    /// What an item has beyond these, in the order in which it is written.
    package var attributes: [String] = []

    package init() {}

    /// Names that say where an item is: no attribute can have them in a file.
    private static let places: Set<String> = ["id", "parent", "depth", "level", "children", "extra"]

    /// What an attribute is called in a file.
    package static func name(of attribute: String) -> String {
        self.places.contains(attribute) ? "\(attribute)_" : attribute
    }

    /// The names of one of the three, the first before the others: its own, and those of other programs that name nothing else
    /// here.
    func names(of own: String?, others: [String], isSame: (String, String) -> Bool = { $0 == $1 }) -> [String] {
        guard let own else { return [] }
        let known = [self.title, self.note, self.done].compactMap { $0 } + self.attributes
        return [own] + others.filter { other in !known.contains { isSame($0, other) } }
    }
}

/// A value that an item has beyond its title, note and mark.
package struct OutlineAttribute: Equatable, Sendable {
    package var name: String
    package var value: JSONElement
    /// In a format whose values are all texts: an empty one is none.
    package var isText: Bool
    /// Where it stands in a file; `nil`: where its item does.
    package var position: TextPosition?

    package init(_ name: String, _ value: JSONElement, isText: Bool = false, position: TextPosition? = nil) {
        self.name = name
        self.value = value
        self.isText = isText
        self.position = position
    }

    /// As a text; `nil` when there is none.
    var text: String? {
        switch self.value {
        case .null: nil
        case .string(let text): text
        case .boolean(let flag): flag ? "yes" : "no"
        case .number, .array, .object: self.value.text
        }
    }
}
