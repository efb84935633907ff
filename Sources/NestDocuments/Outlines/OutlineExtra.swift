/// The members of an item's `extra`, a JSON object, in the order of their names.
struct OutlineExtra: Equatable, Sendable {
    private(set) var members: [JSONElement.Member] = []

    init() {}

    /// Returns `nil` when the text is not a JSON object.
    init?(_ text: String) {
        guard let members = try? JSONElement.parseObject(Array(text.utf8)) else { return nil }
        self.members = members
    }

    var isEmpty: Bool { self.members.isEmpty }

    subscript(name: String) -> JSONElement? {
        get { self.members.first { $0.name == name }?.value }
        set {
            self.members.removeAll { $0.name == name }
            if let newValue { self.members.append(JSONElement.Member(name, newValue)) }
        }
    }

    /// `nil` when there are no members.
    var text: String? {
        guard !self.members.isEmpty else { return nil }
        return JSONElement.object(self.members.sorted { $0.name < $1.name }).text
    }
}

extension JSONElement {
    /// An item's `extra` in JSON: an object if that reads back as the same text, otherwise the text.
    package init(extra text: String) {
        if let object = OutlineExtra(text), object.text == text {
            self = .object(object.members)
        } else {
            self = .string(text)
        }
    }
}
