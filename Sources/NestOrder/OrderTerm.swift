import NestModel

/// How the values of one sort key are ordered: the form in which their bytes sort in that order, and the direction.
package struct OrderTerm: Hashable, Sendable {
    package enum Form: UInt8, Sendable {
        case text
        case decimal
        /// As many bytes as the number needs; may be null.
        case integer
        /// Always eight bytes; never null.
        case wideInteger
        case double
        case boolean
        case data
        case uuid
    }

    package var form: Form
    package var isAscending: Bool
    /// The folding of text.
    package var folding: TextFolding
    /// Whether its numbers are dates.
    package var isDate: Bool

    package init(
        _ form: Form,
        isAscending: Bool = true,
        folding: TextFolding = [],
        isDate: Bool = false
    ) {
        self.form = form
        self.isAscending = isAscending
        self.folding = folding
        self.isDate = isDate
    }
}

extension OrderTerm.Form {
    /// `isAlone`: the only key of its order. A single number always takes eight bytes. Among several keys it is as
    /// short as possible, so that most orders by two numbers take no more.
    package init(_ type: AttributeType, isOptional: Bool, isAlone: Bool) {
        switch type {
        case .string, .uri: self = .text
        case .decimal: self = .decimal
        case .integer, .integer16, .integer32, .date:
            self = isAlone && !isOptional ? .wideInteger : .integer
        case .double, .float: self = .double
        case .boolean: self = .boolean
        // The engine refuses an order by large values.
        case .data, .largeData, .largeText: self = .data
        case .uuid: self = .uuid
        }
    }
}
