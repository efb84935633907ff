import NestModel

/// A section of fetched results.
public struct FetchedResultsSectionInfo: Hashable, Sendable {
    /// The value that its rows have in common; "" in the only section of results without a section key.
    public var key: AttributeValue
    /// Its title in a section index; `nil`: no title.
    public var indexTitle: String?
    /// Its rows in order. If they are kept across the next change of the results, that change copies them.
    public var objects: [Row]

    public init(key: AttributeValue, indexTitle: String?, objects: [Row]) {
        self.key = key
        self.indexTitle = indexTitle
        self.objects = objects
    }

    init(_ section: ResultsSection) {
        self.init(key: section.key, indexTitle: Self.indexTitle(for: section.key), objects: section.rows)
    }

    /// The key as text: see `name(for:)`.
    public var name: String { Self.name(for: self.key) }

    public var numberOfObjects: Int { self.objects.count }

    /// Returns a section key as text: "" for null, the text itself, a date in RFC 3339 and UTC, data in base64, a
    /// reference as the object's id.
    public static func name(for key: AttributeValue) -> String {
        switch key {
        case .null: ""
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let value): value
        case .date(let value): DateText.text(microseconds: value)
        case .data(let value): Base64.text(value)
        case .uuid(let value): value.uuidString
        case .reference(let value): "\(value)"
        }
    }

    /// Returns the first character of the key's text, in upper case ("ß" becomes "SS"). Returns `nil` for null and for
    /// "": such a section is not in the index.
    public static func indexTitle(for key: AttributeValue) -> String? {
        self.name(for: key).first?.uppercased()
    }
}

/// The sections of fetched results at one moment. Each section info is created on access, in O(1).
public struct FetchedResultsSections: RandomAccessCollection {
    let sections: [ResultsSection]
    let indexTitle: (AttributeValue) -> String?

    public var startIndex: Int { 0 }
    public var endIndex: Int { self.sections.count }

    public subscript(index: Int) -> FetchedResultsSectionInfo {
        let section = self.sections[index]
        return FetchedResultsSectionInfo(
            key: section.key,
            indexTitle: self.indexTitle(section.key),
            objects: section.rows
        )
    }
}
