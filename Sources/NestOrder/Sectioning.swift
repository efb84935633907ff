import NestModel

/// Determines the sections of rows from their sort keys. A section is a range of keys, identified by the least possible
/// key in it, its start.
package struct Sectioning: Hashable, Sendable {
    private let function: SectionKey.Function
    private let term: OrderTerm
    /// Whether the term is the whole key.
    private let isAlone: Bool

    /// `term`: the first of the order. Precondition: the function fits its values.
    package init(function: SectionKey.Function, term: OrderTerm, isAlone: Bool) {
        self.function = function
        self.term = term
        self.isAlone = isAlone
    }

    /// Returns the section functions for an order that begins with values of this type.
    package static func functions(of type: AttributeType) -> [SectionKey.Function] {
        switch type {
        case .string, .uri: [.value, .firstCharacter]
        case .date: [.value, .year, .month, .day]
        case .integer, .integer16, .integer32, .double, .float, .boolean, .uuid: [.value]
        // Their keys cannot be decoded, or are unsuitable as names.
        case .decimal, .data, .largeData, .largeText: []
        }
    }

    /// Returns the start of a key's section. O(1), except for sections by whole texts, whose bytes are read.
    package func start(of key: SortKey) -> SortKey {
        var reader = SortKeyReader(key, self.term)
        switch self.function {
        case .value:
            if self.isAlone { return key }
            reader.skip()
            return key.prefix(reader.count)
        case .firstCharacter:
            reader.skipFirstScalar()
            return key.prefix(reader.count)
        case .year, .month, .day:
            guard case .date(let moment) = reader.read(isDate: true) else { return key.prefix(reader.count) }
            let range = self.period.range(of: moment)
            var writer = SortKeyWriter()
            writer.write(.date(self.term.isAscending ? range.lowerBound : range.upperBound), self.term)
            return writer.take()
        }
    }

    private var period: DatePeriod {
        switch self.function {
        case .year: .year
        case .month: .month
        default: .day
        }
    }

    /// Returns the key of a section, distinct for distinct starts. Null for rows without a value.
    package func name(of start: SortKey) -> AttributeValue {
        var reader = SortKeyReader(start, self.term)
        switch self.function {
        case .value: return reader.read(isDate: self.term.isDate)
        case .firstCharacter: return reader.firstScalar().map { .string(self.shown($0)) } ?? .null
        case .year, .month, .day:
            guard case .date(let moment) = reader.read(isDate: true) else { return .null }
            return .string(self.period.text(moment))
        }
    }

    /// Returns the upper-cased text if the order ignores case and the text folds back to the same; otherwise the text
    /// itself.
    private func shown(_ folded: String) -> String {
        guard self.term.folding.contains(.caseInsensitive) else { return folded }
        let upper = folded.uppercased()
        return self.term.folding.fold(upper).hasSameBytes(as: folded) ? upper : folded
    }
}
