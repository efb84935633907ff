import NestModel

/// A compiled comparison: its values folded, its pattern compiled. Immutable; made once for a request.
package struct CompiledComparison: Sendable {
    package let comparison: Comparison
    private let values: [AttributeValue]
    package let pattern: LikePattern?
    package let matcher: (any TextMatcher)?
    private let search: ByteSearch?
    private let members: Set<AttributeValue>
    private let isDecimal: Bool

    /// `isDecimal`: the path's value is a decimal, whose text is compared as a number. `matcher`: the regular
    /// expression of a `MATCHES`; without it the comparison must not be tested.
    package init(_ comparison: Comparison, isDecimal: Bool, matcher: (any TextMatcher)? = nil) {
        self.comparison = comparison
        self.isDecimal = isDecimal
        let folding = comparison.folding
        self.values = comparison.values.map { value in
            switch value {
            case .string(let text): .string(folding.fold(text))
            // Stored doubles are never -0, and `members` compares the bits.
            case .double(let number): .double(number + 0)
            default: value
            }
        }
        if comparison.operator == .like, case .string(let text)? = self.values.first {
            self.pattern = LikePattern(text)
        } else {
            self.pattern = nil
        }
        self.matcher = matcher
        if comparison.operator == .contains, case .string(let text)? = self.values.first {
            self.search = ByteSearch(Array(text.utf8))
        } else {
            self.search = nil
        }
        self.members = comparison.operator == .isIn ? Set(self.values) : []
    }

    /// Whether the comparison is true for the value of a path without a to-many step.
    ///
    /// Null equals null and is unequal to everything else; every other comparison with null is false.
    package func isTrue(of value: AttributeValue) -> Bool {
        switch self.comparison.operator {
        case .equal: self.isEqual(value, self.values[0])
        case .notEqual: !self.isEqual(value, self.values[0])
        case .less: self.order(value, self.values[0]).map { $0 < 0 } ?? false
        case .lessOrEqual: self.order(value, self.values[0]).map { $0 <= 0 } ?? false
        case .greater: self.order(value, self.values[0]).map { $0 > 0 } ?? false
        case .greaterOrEqual: self.order(value, self.values[0]).map { $0 >= 0 } ?? false
        case .between:
            (self.order(value, self.values[0]).map { $0 >= 0 } ?? false)
                && (self.order(value, self.values[1]).map { $0 <= 0 } ?? false)
        case .isIn: self.isMember(value)
        case .contains, .beginsWith, .endsWith, .like: self.textIsTrue(of: value)
        case .matches: self.expressionIsTrue(of: value)
        // `RowFilter` checks membership in sub-trees itself; `fault(of:)` refuses the operator after a path.
        case .inSubtree: preconditionFailure("the result checks sub-trees, a comparison does not")
        }
    }

    /// Whether the comparison is true for a value in its byte form. A text that need not be folded is compared where it
    /// is; other values are decoded.
    package func isTrue(of value: EncodedValue) -> Bool {
        guard !self.isDecimal, self.comparison.folding.isEmpty, case .text(let text) = value.content,
            case .string(var wanted)? = self.values.first
        else { return self.isTrue(of: value.decoded) }
        return switch self.comparison.operator {
        case .equal: wanted.withUTF8 { Self.isSame(text, UnsafeRawBufferPointer($0)) }
        case .notEqual: !wanted.withUTF8 { Self.isSame(text, UnsafeRawBufferPointer($0)) }
        case .contains, .beginsWith, .endsWith:
            text.withMemoryRebound(to: UInt8.self) { text in wanted.withUTF8 { self.isTrue(of: text, $0) } }
        default: self.isTrue(of: value.decoded)
        }
    }

    private static func isSame(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
        a.count == b.count && a.elementsEqual(b)
    }

    /// Whether the comparison is true for the values of a path with a to-many step, one for each object.
    package func isTrue(of values: some Sequence<AttributeValue>) -> Bool {
        switch self.comparison.quantifier {
        // `PathResolver.finish` refuses such a path without a quantifier.
        case .one: preconditionFailure("a path with a to-many step has a quantifier")
        case .any: values.contains(where: self.isTrue(of:))
        case .all: values.allSatisfy(self.isTrue(of:))
        case .none: !values.contains(where: self.isTrue(of:))
        }
    }

    private func folded(_ value: AttributeValue) -> AttributeValue {
        guard !self.comparison.folding.isEmpty, case .string(let text) = value else { return value }
        return .string(self.comparison.folding.fold(text))
    }

    private func isEqual(_ value: AttributeValue, _ other: AttributeValue) -> Bool {
        if value.isNull || other.isNull { return value.isNull && other.isNull }
        return self.order(value, other) == 0
    }

    private func isMember(_ value: AttributeValue) -> Bool {
        if self.members.contains(self.folded(value)) { return true }
        // Compare an integer and a double as numbers.
        guard case .double = value else {
            guard case .integer = value else { return false }
            return self.values.contains { if case .double = $0 { self.order(value, $0) == 0 } else { false } }
        }
        return self.values.contains { if case .integer = $0 { self.order(value, $0) == 0 } else { false } }
    }

    private func order(_ value: AttributeValue, _ other: AttributeValue) -> Int? {
        if self.isDecimal, case .string(let a) = value, case .string(let b) = other {
            return a.hasSameBytes(as: b) ? 0 : DecimalText.isLess(a, b) ? -1 : 1
        }
        return self.folded(value).compared(with: other)
    }

    private func expressionIsTrue(of value: AttributeValue) -> Bool {
        // The engine refuses a request before it has a comparison without an expression.
        guard let matcher = self.matcher else { preconditionFailure("MATCHES has a regular expression") }
        guard case .string(let text) = value else { return false }
        return matcher.matches(text)
    }

    private func textIsTrue(of value: AttributeValue) -> Bool {
        guard case .string(let raw) = value, case .string(var wanted) = self.values[0] else { return false }
        if let pattern = self.pattern { return pattern.matches(self.comparison.folding.fold(raw)) }
        var text = self.comparison.folding.fold(raw)
        return text.withUTF8 { text in wanted.withUTF8 { self.isTrue(of: text, $0) } }
    }

    /// CONTAINS, BEGINSWITH and ENDSWITH. Both texts are folded.
    private func isTrue(of text: UnsafeBufferPointer<UInt8>, _ wanted: UnsafeBufferPointer<UInt8>) -> Bool {
        // As in Cocoa, no text contains the empty text.
        guard !wanted.isEmpty else { return false }
        return switch self.comparison.operator {
        case .beginsWith: text.starts(with: wanted)
        case .endsWith: text.count >= wanted.count && text.suffix(wanted.count).elementsEqual(wanted)
        default: self.search?.isFound(in: text) ?? false
        }
    }
}
