/// A syntax error in a predicate's text: what is wrong, and where.
public struct PredicateSyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The column of the error, counted from 1 in Unicode scalars.
    public var column: Int
    public var message: String

    public init(column: Int, message: String) {
        self.column = column
        self.message = message
    }

    public var description: String { "column \(self.column): \(self.message)" }
}

/// The tokens of a predicate's text.
enum PredicateToken: Equatable {
    case word(String)
    /// `#no`: the name of a property, never a keyword.
    case name(String)
    /// `$x`: a variable, without the sign.
    case variable(String)
    /// The text of a date without quotation marks.
    case date(String)
    /// The digits as written: a decimal keeps all of them.
    case number(String)
    case text(String)
    case sign(String)
    case end

    var description: String {
        switch self {
        case .word(let word): "'\(word)'"
        case .name(let name): "'#\(name)'"
        case .variable(let name): "'$\(name)'"
        case .date(let date): "'\(date)'"
        case .number(let number): "'\(number)'"
        case .text(let text): "\"\(text)\""
        case .sign(let sign): "'\(sign)'"
        case .end: "the end"
        }
    }
}

struct PredicateLexer {
    private let scalars: [Unicode.Scalar]
    private var index = 0
    /// The signs that begin with a scalar, longest first.
    private static let signs: [Unicode.Scalar: [String]] = [
        "=": ["==", "=<", "=>", "="], "!": ["!=", "!"], "<": ["<>", "<=", "<"], ">": [">=", ">"], "&": ["&&"],
        "|": ["||"], "(": ["("], ")": [")"], "{": ["{"], "}": ["}"], ",": [","], ".": ["."], "[": ["["], "]": ["]"],
        "@": ["@"], "-": ["-"], "+": ["+"],
    ]

    /// As many as the largest predicate may have: one IN of negative numbers, and the other comparisons.
    private static let tokensMax = 3 * Limits.predicateValuesMax + 32 * Limits.predicateNodesMax

    init(_ text: String) {
        self.scalars = Array(text.unicodeScalars)
    }

    /// Returns every token with the column at which it begins.
    mutating func tokens() throws(PredicateSyntaxError) -> [(token: PredicateToken, column: Int)] {
        var tokens: [(PredicateToken, Int)] = []
        while true {
            while self.index < self.scalars.count, self.scalars[self.index].properties.isWhitespace { self.index += 1 }
            let column = self.index + 1
            guard self.index < self.scalars.count else {
                tokens.append((.end, column))
                return tokens
            }
            guard tokens.count < Self.tokensMax else {
                throw PredicateSyntaxError(
                    column: column,
                    message: "the predicate has over \(Self.tokensMax) words and signs: leave some out"
                )
            }
            tokens.append((try self.token(after: tokens.last?.0), column))
        }
    }

    private mutating func token(after previous: PredicateToken?) throws(PredicateSyntaxError) -> PredicateToken {
        let scalar = self.scalars[self.index]
        if scalar == "\"" || scalar == "'" { return .text(try self.text(endingWith: scalar)) }
        if self.isDate { return .date(self.date()) }
        if Self.isDigit(scalar) { return .number(self.number()) }
        if Self.isWordStart(scalar) { return .word(self.word()) }
        if scalar == "#" || scalar == "$", self.index + 1 < self.scalars.count,
            Self.isWordStart(self.scalars[self.index + 1])
        {
            self.index += 1
            return scalar == "#" ? .name(self.word()) : .variable(self.word())
        }
        for sign in Self.signs[scalar] ?? [] where self.scalars[self.index...].starts(with: sign.unicodeScalars) {
            self.index += sign.unicodeScalars.count
            return .sign(sign)
        }
        let hint = PredicateWords.instead(of: scalar, after: previous)
        throw PredicateSyntaxError(column: self.index + 1, message: "'\(scalar)' is not allowed here: \(hint)")
    }

    private mutating func word() -> String {
        let start = self.index
        while self.index < self.scalars.count, Self.isWordPart(self.scalars[self.index]) { self.index += 1 }
        return self.string(start..<self.index)
    }

    // MARK: Dates

    /// Whether a date begins here: four digits, a hyphen and a digit. Nothing else begins so without arithmetic.
    private var isDate: Bool {
        let next = self.scalars[self.index...].prefix(6)
        return next.count == 6 && next.prefix(4).allSatisfy(Self.isDigit) && next[self.index + 4] == "-"
            && Self.isDigit(next[self.index + 5])
    }

    /// Reads everything that belongs to a date, right or wrong; `DateScanner` finds the mistakes.
    private mutating func date() -> String {
        let start = self.index
        func scalar(_ offset: Int) -> Unicode.Scalar? {
            self.index + offset < self.scalars.count ? self.scalars[self.index + offset] : nil
        }
        func isDigit(_ offset: Int) -> Bool { scalar(offset).map(Self.isDigit) ?? false }
        while isDigit(0) || scalar(0) == "-" { self.index += 1 }
        let isTime: Bool =
            switch scalar(0) {
            case "T", "t": isDigit(1)
            case " ": isDigit(1) && (scalar(2) == ":" || isDigit(2) && scalar(3) == ":")
            default: false
            }
        guard isTime else { return self.string(start..<self.index) }
        self.index += 1
        while isDigit(0) || scalar(0) == ":" || (scalar(0) == "." && isDigit(1)) { self.index += 1 }
        if scalar(0) == "Z" || scalar(0) == "z" {
            self.index += 1
        } else if scalar(0) == "+" || scalar(0) == "-" {
            self.index += 1
            while isDigit(0) || scalar(0) == ":" { self.index += 1 }
        }
        return self.string(start..<self.index)
    }

    private func string(_ range: Range<Int>) -> String {
        String(String.UnicodeScalarView(self.scalars[range]))
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    private static func isWordStart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || scalar.properties.isAlphabetic
    }

    private static func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || Self.isDigit(scalar) || scalar.properties.isAlphabetic
    }

    private mutating func number() -> String {
        let start = self.index
        func digits(_ index: inout Int, _ scalars: [Unicode.Scalar]) {
            while index < scalars.count, Self.isDigit(scalars[index]) { index += 1 }
        }
        digits(&self.index, self.scalars)
        if self.index + 1 < self.scalars.count, self.scalars[self.index] == ".",
            Self.isDigit(self.scalars[self.index + 1])
        {
            self.index += 1
            digits(&self.index, self.scalars)
        }
        if self.index < self.scalars.count, self.scalars[self.index] == "e" || self.scalars[self.index] == "E" {
            var after = self.index + 1
            if after < self.scalars.count, self.scalars[after] == "-" || self.scalars[after] == "+" { after += 1 }
            if after < self.scalars.count, Self.isDigit(self.scalars[after]) {
                self.index = after
                digits(&self.index, self.scalars)
            }
        }
        return self.string(start..<self.index)
    }

    /// Reads a quoted text. `\` makes a following quotation mark or backslash literal, and `\n`, `\t`, `\r` are control
    /// characters. Before any other character `\` is literal, so that patterns need not double it.
    private mutating func text(endingWith mark: Unicode.Scalar) throws(PredicateSyntaxError) -> String {
        let start = self.index
        self.index += 1
        var text = String.UnicodeScalarView()
        while self.index < self.scalars.count {
            let scalar = self.scalars[self.index]
            self.index += 1
            if scalar == mark { return String(text) }
            guard scalar == "\\", self.index < self.scalars.count else {
                text.append(scalar)
                continue
            }
            let escaped = self.scalars[self.index]
            switch escaped {
            case "\"", "'": text.append(escaped)
            case "\\": text.append("\\")
            case "n": text.append("\n")
            case "t": text.append("\t")
            case "r": text.append("\r")
            default:
                text.append("\\")
                continue
            }
            self.index += 1
        }
        throw PredicateSyntaxError(column: start + 1, message: "the text that begins here has no closing \(mark)")
    }
}
