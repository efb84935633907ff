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
    /// The digits as written: a decimal keeps all of them.
    case number(String)
    case text(String)
    case sign(String)
    case end

    var description: String {
        switch self {
        case .word(let word): "'\(word)'"
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
    /// Signs, longest first.
    private static let signs = [
        "==", "!=", "<>", "<=", ">=", "=<", "=>", "&&", "||", "=", "<", ">", "!", "(", ")", "{", "}", ",", ".", "[",
        "]",
        "@", "-", "+",
    ].map { Array($0.unicodeScalars) }

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
            tokens.append((try self.token(), column))
        }
    }

    private mutating func token() throws(PredicateSyntaxError) -> PredicateToken {
        let scalar = self.scalars[self.index]
        if scalar == "\"" || scalar == "'" { return .text(try self.text(endingWith: scalar)) }
        if Self.isDigit(scalar) { return .number(self.number()) }
        if scalar == "_" || scalar.properties.isAlphabetic {
            let start = self.index
            while self.index < self.scalars.count, Self.isWordPart(self.scalars[self.index]) { self.index += 1 }
            return .word(self.string(start..<self.index))
        }
        for sign in Self.signs where self.scalars[self.index...].starts(with: sign) {
            self.index += sign.count
            return .sign(String(String.UnicodeScalarView(sign)))
        }
        throw PredicateSyntaxError(column: self.index + 1, message: "'\(scalar)' is not allowed here")
    }

    private func string(_ range: Range<Int>) -> String {
        String(String.UnicodeScalarView(self.scalars[range]))
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

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
        throw PredicateSyntaxError(column: start + 1, message: "the text that begins here has no closing mark")
    }
}
