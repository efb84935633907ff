import NestDocuments
import NestModel

/// The names of sections. A section of rows without a value differs from a section of rows with an empty value.
struct SectionNames {
    /// Whether the result has one section for each value of the section key.
    let isSectioned: Bool
    /// The type of the section keys.
    private let type: AttributeType?

    init(_ resolved: RequestOptions.Resolved) {
        let section = resolved.request.section
        self.isSectioned = section != nil
        self.type = section.flatMap {
            $0.function == .value ? $0.path.attributeType(of: resolved.entity, in: resolved.model) : nil
        }
    }

    /// Returns the key as text. Null is empty.
    func text(_ key: AttributeValue) -> String { ValueText.text(key, of: self.type) }

    /// Returns the heading above the rows of a section.
    func heading(_ key: AttributeValue) -> StyledText {
        switch key {
        case .null: StyledText("(none)", .dim)
        case .string(""): StyledText("(empty)", .dim)
        default: StyledText(ShownText.value(key, of: self.type), .bold)
        }
    }

    /// Writes the key as a string, or null.
    func write(_ key: AttributeValue, into json: inout JSONWriter) {
        if key.isNull { json.null() } else { json.string(self.text(key)) }
    }
}
