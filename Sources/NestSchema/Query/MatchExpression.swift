import CRegex
import NestModel
import NestOrder

/// A compiled regular expression of `MATCHES`. Its time is linear in the text, whatever the expression (RE2): it has no
/// look-around and no back-references.
///
/// `[c]` is simple case folding, scalar by scalar, because a pattern cannot be folded as text is: `\D` is not `\d`.
/// `[d]` removes nonspacing marks from text and pattern, and composes what is left, so that `.` is one scalar of it.
package final class MatchExpression: TextMatcher {
    // Set once, and freed by `deinit`. Any thread may match with it: RE2 protects its cache of states with locks.
    nonisolated(unsafe) private let regex: OpaquePointer
    private let ignoresDiacritics: Bool
    package let instructionCount: Int

    /// The estimated memory of the expression, in bytes, when it has met many texts.
    package var byteCount: Int { Limits.patternMemoryBytesMax }

    struct Fault: Error {
        var text: String
        var isTooLarge: Bool
    }

    /// `memoryBytes`: the memory that it may use.
    init(
        _ pattern: String,
        _ folding: TextFolding,
        memoryBytes: Int = Limits.patternMemoryBytesMax
    ) throws(Fault) {
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
                    Int64(memoryBytes),
                    &fault
                )
            }
        }
        guard let regex else {
            throw Fault(text: fault.text(of: pattern), isTooLarge: fault.kind == NEST_REGEX_TOO_LARGE)
        }
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

/// The regular expressions of a predicate, each compiled once for a request. The limits of their sizes bound the time
/// of compiling, some milliseconds, and of matching.
package struct MatchExpressions: Sendable {
    /// What `\p{L}` counts at least. To compile it takes long, even if it adds nothing to a class.
    private static let instructionsPerClass = 128

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
        let keys = predicate.allComparisons.compactMap(Self.key)
        let patterns = Set(keys).compactMap(\.pattern.stringValue)
        let byteCount = patterns.reduce(0) { $0 + $1.utf8.count }
        guard byteCount <= Limits.patternBytesMax else {
            self.faults = [
                "its MATCHES patterns have \(byteCount) bytes; at most \(Limits.patternBytesMax) are allowed"
            ]
            return
        }
        var isTooLarge = patterns.reduce(0) { $0 + Self.leastInstructions($1) } > Limits.patternInstructionsMax
        var instructionCount = 0
        for key in keys where !isTooLarge {
            guard let pattern = key.pattern.stringValue else { continue }
            do throws(MatchExpression.Fault) {
                instructionCount += try self.compiled(key, pattern).instructionCount
                isTooLarge = instructionCount > Limits.patternInstructionsMax
            } catch {
                isTooLarge = error.isTooLarge
                if !isTooLarge { self.faults.append("MATCHES \(FetchPredicate.quoted(pattern)): \(error.text)") }
            }
        }
        guard isTooLarge else { return }
        self.faults.append(
            "its MATCHES patterns are too large: compiled they have over \(Limits.patternInstructionsMax) instructions; "
                + "each repetition like {100} counts so many times, and each \\p{…} hundreds"
        )
    }

    private static func leastInstructions(_ pattern: String) -> Int {
        var classes = 0
        var isEscaped = false
        for byte in pattern.utf8 {
            if isEscaped, byte | 0x20 == UInt8(ascii: "p") { classes += 1 }
            isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        }
        return classes * Self.instructionsPerClass
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

extension CompiledComparison {
    /// `expressions` has the regular expression of a `MATCHES`.
    package init(_ comparison: Comparison, isDecimal: Bool, _ expressions: MatchExpressions) {
        self.init(comparison, isDecimal: isDecimal, matcher: expressions[comparison])
    }
}
