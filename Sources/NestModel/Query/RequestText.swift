/// The text of a predicate with variables: `name == $FETCH_SOURCE.name AND age > $LEAST`.
///
/// A variable of a SUBQUERY is none of them. Clients put values in the places of the variables, and then read the text
/// as any other.
public struct RequestText: Sendable {
    public struct Variable: Hashable, Sendable {
        public let name: String
        /// The names of the path after it; empty: the object or value itself.
        public let path: [String]
    }

    private enum Part: Sendable {
        case text(String)
        case variable(Variable)
    }

    private var parts: [Part] = []

    public init(_ text: String) {
        var scanner = VariableScanner(text)
        scanner.scan()
        for part in scanner.parts {
            guard let variable = part.variable, !scanner.own.contains(variable.name) else {
                self.parts.append(.text(part.text))
                continue
            }
            self.parts.append(.variable(variable))
        }
    }

    /// The variables, each once, in their order.
    public var variables: [Variable] {
        var seen: Set<Variable> = []
        return self.parts.compactMap { part in
            if case .variable(let variable) = part, seen.insert(variable).inserted { variable } else { nil }
        }
    }

    /// Returns the text with what `value` returns in the place of each variable.
    public func bound<Failure: Error>(_ value: (Variable) throws(Failure) -> String) throws(Failure) -> String {
        var text = ""
        for part in self.parts {
            switch part {
            case .text(let own): text += own
            case .variable(let variable): text += try value(variable)
            }
        }
        return text
    }
}

private struct VariableScanner {
    private let scalars: [Unicode.Scalar]
    private var index = 0
    private(set) var parts: [(text: String, variable: RequestText.Variable?)] = []
    /// The variables of SUBQUERYs.
    private(set) var own: Set<String> = []
    /// How much of `SUBQUERY(collection, $x` has been read.
    private var awaited = Awaited.nothing

    private enum Awaited {
        case nothing, bracket, comma, variable
    }

    init(_ text: String) {
        self.scalars = Array(text.unicodeScalars)
    }

    mutating func scan() {
        var text = String.UnicodeScalarView()
        while self.index < self.scalars.count {
            let start = self.index
            let scalar = self.scalars[start]
            if scalar == "\"" || scalar == "'" {
                self.skipQuoted(scalar)
            } else if scalar == "$", let name = self.word(at: start + 1) {
                if self.awaited == .variable {
                    self.own.insert(name)
                    self.awaited = .nothing
                }
                self.parts.append((String(text), nil))
                text.removeAll()
                let path = self.path()
                let written = String(String.UnicodeScalarView(self.scalars[start..<self.index]))
                self.parts.append((written, RequestText.Variable(name: name, path: path)))
                continue
            } else if let word = self.word(at: start) {
                if word.uppercased() == "SUBQUERY" { self.awaited = .bracket }
            } else {
                self.index += 1
                switch (self.awaited, scalar) {
                case (.bracket, "("): self.awaited = .comma
                case (.comma, ","): self.awaited = .variable
                default: break
                }
            }
            text.append(contentsOf: self.scalars[start..<self.index])
        }
        self.parts.append((String(text), nil))
    }

    private mutating func skipQuoted(_ mark: Unicode.Scalar) {
        self.index += 1
        while self.index < self.scalars.count, self.scalars[self.index] != mark {
            self.index += self.scalars[self.index] == "\\" ? 2 : 1
        }
        self.index = min(self.index + 1, self.scalars.count)
    }

    /// Reads the names after points.
    private mutating func path() -> [String] {
        var names: [String] = []
        while self.index < self.scalars.count, self.scalars[self.index] == ".", let name = self.word(at: self.index + 1)
        {
            names.append(name)
        }
        return names
    }

    /// Reads a word that begins at a place; `nil` if none does.
    private mutating func word(at start: Int) -> String? {
        var end = start
        while end < self.scalars.count, Self.isPart(self.scalars[end], isFirst: end == start) { end += 1 }
        guard end > start else { return nil }
        self.index = end
        return String(String.UnicodeScalarView(self.scalars[start..<end]))
    }

    private static func isPart(_ scalar: Unicode.Scalar, isFirst: Bool) -> Bool {
        scalar == "_" || scalar.properties.isAlphabetic || !isFirst && ("0"..."9").contains(scalar)
    }
}
