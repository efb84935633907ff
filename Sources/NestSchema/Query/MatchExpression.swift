import CRegex
import NestModel

/// A compiled regular expression of `MATCHES`. Its time is linear in the text, whatever the expression (RE2): it has no
/// look-around and no back-references.
///
/// `[c]` is simple case folding, scalar by scalar, because a pattern cannot be folded as text is: `\D` is not `\d`.
/// `[d]` removes nonspacing marks from text and pattern, and composes what is left, so that `.` is one scalar of it.
package final class MatchExpression: Sendable {
    // RE2 protects its cache of states with locks.
    nonisolated(unsafe) private let regex: OpaquePointer
    private let ignoresDiacritics: Bool
    let instructionCount: Int

    /// The estimated memory of the expression, in bytes, when it has met many texts.
    var byteCount: Int { Limits.patternMemoryBytesMax }

    struct Fault: Error {
        var text: String
    }

    init(_ pattern: String, _ folding: TextFolding) throws(Fault) {
        self.ignoresDiacritics = folding.contains(.diacriticInsensitive)
        var pattern = self.ignoresDiacritics ? Self.withoutDiacritics(pattern) : pattern
        var fault = nest_regex_fault()
        let regex = pattern.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                nest_regex_compile(
                    // An empty pattern may have no address.
                    characters.baseAddress ?? UnsafePointer(bitPattern: 1)!,
                    characters.count,
                    folding.contains(.caseInsensitive),
                    Int64(Limits.patternMemoryBytesMax),
                    &fault
                )
            }
        }
        guard let regex else { throw Fault(text: fault.text(of: pattern)) }
        self.regex = regex
        self.instructionCount = Int(nest_regex_instructions(regex))
    }

    deinit {
        nest_regex_free(self.regex)
    }

    /// Whether the whole text matches.
    package func matches(_ text: String) -> Bool {
        var text = self.ignoresDiacritics ? Self.withoutDiacritics(text) : text
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { nest_regex_matches(self.regex, $0.baseAddress, $0.count) }
        }
    }

    private static func withoutDiacritics(_ text: String) -> String {
        TextFolding.diacriticInsensitive.composed(text)
    }
}

/// The regular expressions of a predicate, each compiled once for a request.
package struct MatchExpressions: Sendable {
    /// A value, because it compares texts by their bytes.
    private struct Key: Hashable {
        var pattern: AttributeValue
        var folding: TextFolding
    }

    private var expressions: [Key: MatchExpression] = [:]
    /// What is wrong with the expressions, in words.
    package private(set) var faults: [String] = []

    package init() {}

    package init(_ predicate: FetchPredicate) {
        var instructionCount = 0
        for comparison in predicate.comparisons {
            // Limits the time of compiling; `FetchPredicate.faults` reports the length.
            guard let key = Self.key(comparison), let pattern = key.pattern.stringValue,
                pattern.utf8.count <= Limits.patternBytesMax
            else { continue }
            do throws(MatchExpression.Fault) {
                instructionCount += try self.compiled(key, pattern).instructionCount
            } catch {
                self.faults.append("MATCHES \(FetchPredicate.quoted(pattern)): \(error.text)")
            }
            guard instructionCount <= Limits.patternInstructionsMax else {
                self.faults.append(
                    "its MATCHES patterns are too large: compiled they have over \(Limits.patternInstructionsMax) "
                        + "instructions; each repetition like {100} counts so many times, and each \\p{…} hundreds"
                )
                return
            }
        }
    }

    private mutating func compiled(_ key: Key, _ pattern: String) throws(MatchExpression.Fault) -> MatchExpression {
        if let known = self.expressions[key] { return known }
        let expression = try MatchExpression(pattern, key.folding)
        self.expressions[key] = expression
        return expression
    }

    subscript(_ comparison: Comparison) -> MatchExpression? { Self.key(comparison).flatMap { self.expressions[$0] } }

    private static func key(_ comparison: Comparison) -> Key? {
        guard comparison.operator == .matches, let pattern = comparison.values.first else { return nil }
        return Key(pattern: pattern, folding: comparison.folding)
    }
}
