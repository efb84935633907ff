import NestModel

/// A random regular expression: its text, and which texts it matches, found without a parser or an automaton.
public indirect enum RandomExpression: Sendable {
    case scalar(Unicode.Scalar)
    case anyScalar
    case oneOf([Unicode.Scalar], isNegated: Bool)
    case sequence([RandomExpression])
    case choice([RandomExpression])
    /// `most`: `nil` for any number.
    case repeated(RandomExpression, least: Int, most: Int?)

    public init(_ random: inout SeededRandom, letters: [Unicode.Scalar], depth: Int = 3) {
        switch random.below(depth == 0 ? 4 : 9) {
        case 0, 1: self = .scalar(random.pick(letters))
        case 2: self = .anyScalar
        case 3: self = .oneOf((0...random.below(2)).map { _ in random.pick(letters) }, isNegated: random.oneIn(3))
        case 4, 5:
            self = .sequence((0..<random.below(4)).map { _ in Self(&random, letters: letters, depth: depth - 1) })
        case 6: self = .choice((0...random.below(3)).map { _ in Self(&random, letters: letters, depth: depth - 1) })
        default:
            let least = random.below(3)
            let most = random.oneIn(2) ? nil : least + random.below(3)
            self = .repeated(Self(&random, letters: letters, depth: depth - 1), least: least, most: most)
        }
    }

    /// The expression in the syntax of RE2.
    public var text: String {
        switch self {
        case .scalar(let scalar): String(scalar)
        case .anyScalar: "."
        case .oneOf(let scalars, let isNegated): "[\(isNegated ? "^" : "")\(scalars.map(String.init).joined())]"
        case .sequence(let parts): parts.map { "(?:\($0.text))" }.joined()
        case .choice(let parts): "(?:\(parts.map { "(?:\($0.text))" }.joined(separator: "|")))"
        case .repeated(let part, 0, nil): "(?:\(part.text))*"
        case .repeated(let part, 1, nil): "(\(part.text))+"
        case .repeated(let part, 0, 1): "(?:\(part.text))?"
        case .repeated(let part, let least, let most): "(?:\(part.text)){\(least),\(most.map(String.init) ?? "")}"
        }
    }

    public func matches(_ text: [Unicode.Scalar]) -> Bool { self.ends(in: text, from: [0]).contains(text.count) }

    /// Returns where a match can end that begins at one of the starts.
    private func ends(in text: [Unicode.Scalar], from starts: Set<Int>) -> Set<Int> {
        func step(_ test: (Unicode.Scalar) -> Bool) -> Set<Int> {
            Set(starts.filter { $0 < text.count && test(text[$0]) }.map { $0 + 1 })
        }
        switch self {
        case .scalar(let scalar): return step { $0 == scalar }
        case .anyScalar: return step { $0 != "\n" }
        case .oneOf(let scalars, let isNegated): return step { scalars.contains($0) != isNegated }
        case .sequence(let parts): return parts.reduce(starts) { $1.ends(in: text, from: $0) }
        case .choice(let parts): return parts.reduce(into: []) { $0.formUnion($1.ends(in: text, from: starts)) }
        case .repeated(let part, let least, let most):
            var reached = starts
            for _ in 0..<least { reached = part.ends(in: text, from: reached) }
            var all = reached
            for _ in 0..<(most.map { $0 - least } ?? text.count + 1) {
                reached = part.ends(in: text, from: reached)
                all.formUnion(reached)
            }
            return all
        }
    }
}
