/// The words of the predicate language, and what to write instead of words and signs of other languages.
enum PredicateWords {
    /// Keywords that are values.
    static let values: Set<String> = ["NIL", "NULL", "YES", "NO", "TRUE", "FALSE"]

    /// Keywords that may begin a comparison. A property with such a name is written `#name` there.
    static let reserved = Self.values.union([
        "NOT", "ANY", "SOME", "ALL", "NONE", "SELF", "TRUEPREDICATE", "FALSEPREDICATE",
    ])

    /// Functions that make a value of a text.
    static let functions: Set<String> = ["DATE", "UUID", "DATA"]

    static let operators: [String: Comparison.Operator] = [
        "BETWEEN": .between, "IN": .isIn, "CONTAINS": .contains, "BEGINSWITH": .beginsWith, "ENDSWITH": .endsWith,
        "LIKE": .like, "MATCHES": .matches,
    ]

    /// Operators of other languages, with the one to write.
    static let foreignOperators = [
        "ILIKE": "LIKE[c]", "GLOB": "LIKE", "REGEXP": "MATCHES", "RLIKE": "MATCHES", "STARTSWITH": "BEGINSWITH",
        "STARTS": "BEGINSWITH", "BEGINS": "BEGINSWITH", "ENDS": "ENDSWITH", "HASPREFIX": "BEGINSWITH",
        "HASSUFFIX": "ENDSWITH", "EQUALS": "==", "EQUAL": "==", "EQ": "==", "NE": "!=",
        "LT": "<", "GT": ">", "LE": "<=", "GE": ">=", "INCLUDES": "CONTAINS", "HAS": "CONTAINS",
    ]

    /// Returns what to write instead of a function, if something else does the same; `nil` if nothing does.
    static func instead(ofFunction name: String) -> String? {
        switch name.uppercased() {
        case "LOWER", "UPPER", "LOWERCASE", "UPPERCASE", "LCASE", "UCASE":
            "to ignore case, write [c] after the operator, like name ==[c] \"ann\""
        case "COUNT", "SIZE": "to count related objects, write @count after the relationship, like phones.@count"
        case "SUM", "MIN", "MAX", "AVG", "AVERAGE":
            "write @sum, @min, @max or @avg after the relationship, like phones.@sum.minutes"
        case "SUBQUERY", "EXISTS":
            "write SUBQUERY(phones, $p, $p.number BEGINSWITH \"+41\").@count > 0"
        case "SUBTREE": "write SELF IN SUBTREE(id)"
        case "ISNULL", "IFNULL", "COALESCE": "compare with nil, like name == nil"
        case "LENGTH", "LEN": "MATCHES compares lengths, like name MATCHES \".{3,}\""
        case "CURRENT_DATE", "CURDATE": "write today"
        case "CURRENT_TIMESTAMP", "GETDATE": "write now"
        default: nil
        }
    }

    /// Returns what to write instead of a character that no token begins with, after `previous`.
    static func instead(of scalar: Unicode.Scalar, after previous: PredicateToken?) -> String {
        switch scalar {
        case "\u{201c}", "\u{201d}", "\u{201e}", "\u{201f}", "\u{2018}", "\u{2019}", "\u{201a}", "\u{201b}", "\u{ab}",
            "\u{bb}", "\u{2039}", "\u{203a}", "\u{60}", "\u{b4}":
            return "put texts in straight quotation marks, \"…\" or '…'"
        case ":":
            if case .word(let name) = previous { return "write \(name) == \"text\" or \(name) CONTAINS[c] \"text\"" }
            return "write a date and time as 2026-02-01 14:30, and a text in quotation marks"
        case ";": return "write AND or OR between two comparisons"
        case "&": return "write AND or &&"
        case "|": return "write OR or ||"
        case "~": return "write CONTAINS for a part of a text, LIKE for a pattern, MATCHES for a regular expression"
        case "≠": return "write !="
        case "≤": return "write <="
        case "≥": return "write >="
        case "$": return "after $ write the name of a variable, like SUBQUERY(phones, $p, $p.number != nil).@count > 0"
        case "?": return "there are no arguments: write the value itself, like \"text\", 5 or nil"
        case "%": return "there are no arguments like %@: write the value itself, like \"text\", 5 or nil"
        case "/": return "there is no arithmetic, and a date is written 2026-02-01"
        case "*", "^", "\\": return "there is no arithmetic; * and \\ are for patterns in quotation marks"
        case "#": return "after # write the name of a property"
        default: return "put texts in quotation marks"
        }
    }
}
