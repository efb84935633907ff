import NestModel

/// A compiled pattern of `LIKE`. It matches in linear time, whatever the pattern: a nondeterministic automaton whose
/// states are bits, all followed at once (Baeza-Yates and Gonnet, 1992; stars as states that stay: Navarro and
/// Raffinot).
package struct LikePattern: Sendable {
    private static let wordBits = 64

    /// The number of tokens. State i: the first i tokens are matched; one bit for each state, 0 to `count`.
    private let count: Int
    package let wordCount: Int
    /// By scalar: the states that it advances; `others` for scalars that the pattern does not contain.
    private let steps: [Unicode.Scalar: [UInt64]]
    private let others: [UInt64]
    /// States with a star after them: they stay set.
    private let stars: [UInt64]

    /// The caller has folded `text` like the values.
    init(_ text: String) {
        var tokens: [Unicode.Scalar?] = []
        var starStates: Set<Int> = []
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if isEscaped {
                tokens.append(scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "*" {
                starStates.insert(tokens.count)
            } else {
                tokens.append(scalar == "?" ? nil : scalar)
            }
        }
        if isEscaped { tokens.append("\\") }
        self.count = tokens.count
        self.wordCount = tokens.count / Self.wordBits + 1
        var empty = [UInt64](repeating: 0, count: self.wordCount)
        self.stars = starStates.reduce(into: empty) { $0[$1 / Self.wordBits] |= 1 << UInt64($1 % Self.wordBits) }
        for (state, token) in tokens.enumerated() where token == nil {
            empty[state / Self.wordBits] |= 1 << UInt64(state % Self.wordBits)
        }
        self.others = empty
        var steps: [Unicode.Scalar: [UInt64]] = [:]
        for (state, token) in tokens.enumerated() {
            guard let token else { continue }
            steps[token, default: empty][state / Self.wordBits] |= 1 << UInt64(state % Self.wordBits)
        }
        self.steps = steps
    }

    /// The estimated memory of the pattern, in bytes.
    package var byteCount: Int { (self.steps.count + 2) * (self.wordCount * 8 + 48) }

    func matches(_ text: String) -> Bool {
        var states = [UInt64](repeating: 0, count: self.wordCount)
        states[0] = 1
        for scalar in text.unicodeScalars {
            let step = self.steps[scalar] ?? self.others
            var carry: UInt64 = 0
            var alive: UInt64 = 0
            for word in 0..<self.wordCount {
                let moved = states[word] & step[word]
                states[word] = moved << 1 | carry | states[word] & self.stars[word]
                carry = moved >> 63
                alive |= states[word]
            }
            if alive == 0 { return false }
        }
        return states[self.count / Self.wordBits] & 1 << UInt64(self.count % Self.wordBits) != 0
    }
}
