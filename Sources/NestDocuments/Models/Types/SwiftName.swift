/// Names of a model as names of Swift.
package enum SwiftName {
    /// Words that are no names without backticks.
    private static let keywords: Set<String> = [
        "Any", "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit",
        "do",
        "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import",
        "in",
        "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
        "repeat",
        "rethrows", "return", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try",
        "typealias", "var", "where", "while",
    ]
    /// The modules and types that the values of attributes have.
    private static let valueTypes: Set<String> = [
        "Bool", "Data", "Date", "Decimal", "Double", "Float", "Foundation", "Int", "Int16", "Int32", "String", "Swift",
        "UUID",
    ]
    /// Members that the types have anyway, and words that backticks do not make names.
    private static let taken: Set<String> = [
        "Paths", "Protocol", "Self", "ToManyPath", "ToOnePath", "Type", "TypedPath", "_", "all", "columns",
        "entityName",
        "hash", "hashValue", "id", "init", "mutationValue", "objectReference", "paths", "self", "where",
    ]
    /// Types that generated code uses, and that have no other name there.
    private static let takenTypes: Set<String> = [
        "Any", "Assignment", "FetchedRow", "Foundation", "ModelEntity", "ObjectID", "ObjectReferring", "Paths",
        "Protocol", "Self",
        "Sendable", "Swift", "ToManyPath", "ToOnePath", "Type", "TypedPath", "_", "any", "init", "self",
        "some",
    ]

    /// Returns the names of properties. One that the type has already gets a `_` at its end, or several.
    package static func members(_ names: [String]) -> [String: String] { self.names(names, taken: self.taken) }

    /// Returns the names of entities' structures.
    package static func types(_ names: [String]) -> [String: String] { self.names(names, taken: self.takenTypes) }

    private static func names(_ names: [String], taken: Set<String>) -> [String: String] {
        DistinctNames.of(names, taken: taken).mapValues { self.keywords.contains($0) ? "`\($0)`" : $0 }
    }

    /// Whether a text can be the name of an enumeration around the types, which must not hide what they use.
    package static func isNamespace(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return !self.keywords.contains(text) && !self.takenTypes.contains(text) && !self.valueTypes.contains(text)
            && text.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "_")
            }
    }
}
