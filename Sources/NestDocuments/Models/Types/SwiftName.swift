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
    /// Members that the types have anyway, and words that backticks do not make names.
    private static let taken: Set<String> = [
        "Paths", "Protocol", "Self", "Type", "all", "columns", "entityName", "hash", "hashValue", "id", "init",
        "mutationValue", "objectReference", "paths", "self", "where",
    ]
    /// Types that generated code uses, and that have no other name there.
    private static let takenTypes: Set<String> = [
        "Any", "Assignment", "FetchedRow", "ModelEntity", "ObjectID", "ObjectReferring", "Paths", "Protocol", "Self",
        "Sendable", "ToManyPath", "ToOnePath", "Type", "TypedPath",
    ]

    /// Returns the name of a property. One that the type has already gets a `_` at its end.
    package static func member(_ name: String) -> String {
        if self.taken.contains(name) { return name + "_" }
        return self.keywords.contains(name) ? "`\(name)`" : name
    }

    /// Returns the name of an entity's structure.
    package static func type(_ name: String) -> String {
        if self.takenTypes.contains(name) { return name + "_" }
        return self.keywords.contains(name) ? "`\(name)`" : name
    }

    /// Whether a text can be the name of a type.
    package static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return !self.keywords.contains(text) && !self.takenTypes.contains(text)
            && text.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "_")
            }
    }
}
