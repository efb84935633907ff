import NestDocuments
import NestModel

/// What sections are called. A section of rows without a value is not that of rows with an empty one.
struct SectionNames {
    /// There is one for each value of the section key.
    let isSectioned: Bool
    /// Of the values that they are called by.
    private let type: AttributeType?

    init(_ resolved: RequestOptions.Resolved) {
        let section = resolved.request.section
        self.isSectioned = section != nil
        self.type = section.flatMap {
            $0.function == .value ? $0.path.attributeType(of: resolved.entity, in: resolved.model) : nil
        }
    }

    /// Null is empty.
    func text(_ key: AttributeValue) -> String { ValueText.text(key, of: self.type) }

    /// As it stands above its rows.
    func heading(_ key: AttributeValue, _ output: Output) -> String {
        switch key {
        case .null: output.dim("(none)")
        case .string(""): output.dim("(empty)")
        default: output.bold(output.shown(self.text(key)))
        }
    }

    /// A string, or null.
    func write(_ key: AttributeValue, into json: inout JSONWriter) {
        if key.isNull { json.null() } else { json.string(self.text(key)) }
    }
}
