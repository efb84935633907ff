/// The regular expressions of ICU, in which Core Data's models are written, in the syntax of RE2.
///
/// `\d`, `\w` and `\s` are those of Unicode in ICU, but of ASCII in RE2: the translation spells them out, so that no
/// text is refused that Core Data accepts.
struct ICUPattern {
    /// What RE2 does not have, as a noun.
    struct Fault: Error {
        var text: String
    }

    private let scalars: [Unicode.Scalar]
    private var index = 0
    private var result = String.UnicodeScalarView()
    private var isInClass = false

    static func translated(_ pattern: String) throws(Fault) -> String {
        var translation = ICUPattern(pattern)
        return try translation.translate()
    }

    private init(_ pattern: String) {
        self.scalars = Array(pattern.unicodeScalars)
    }

    private func scalar(_ offset: Int) -> Unicode.Scalar? {
        self.index + offset < self.scalars.count ? self.scalars[self.index + offset] : nil
    }

    private func begins(_ text: String) -> Bool { self.scalars[self.index...].starts(with: text.unicodeScalars) }

    private mutating func write(_ text: String, taking count: Int) {
        self.result.append(contentsOf: text.unicodeScalars)
        self.index += count
    }

    /// Copies so many scalars.
    private mutating func copy(_ count: Int) {
        let end = min(self.index + count, self.scalars.count)
        self.result.append(contentsOf: self.scalars[self.index..<end])
        self.index = end
    }

    private mutating func translate() throws(Fault) -> String {
        // Whether the last sign was a repetition: a + after it is possessive.
        var isRepeated = false
        while let scalar = self.scalar(0) {
            let wasRepeated = isRepeated
            isRepeated = false
            switch scalar {
            case "\\": try self.escape()
            case "[": try self.openClass()
            case "]" where self.isInClass:
                self.isInClass = false
                self.copy(1)
            case "&" where self.isInClass && self.scalar(1) == "&", "-" where self.isInClass && self.scalar(1) == "-":
                throw Fault(text: "the set operation \(scalar)\(scalar)")
            case "(" where !self.isInClass: try self.group()
            case "+" where !self.isInClass && wasRepeated: throw Fault(text: "a possessive repetition")
            case "*" where !self.isInClass, "+" where !self.isInClass, "?" where !self.isInClass,
                "}" where !self.isInClass:
                // The ? of a reluctant repetition ends it.
                isRepeated = scalar != "?" || !wasRepeated
                self.copy(1)
            default: self.copy(1)
            }
        }
        return String(self.result)
    }

    private mutating func openClass() throws(Fault) {
        if self.isInClass {
            guard self.begins("[:"), let end = self.scalars[self.index...].firstIndex(of: "]") else {
                throw Fault(text: "a class within a class")
            }
            return self.copy(end - self.index + 1)
        }
        self.isInClass = true
        self.copy(1)
        if self.scalar(0) == "^" { self.copy(1) }
    }

    private mutating func group() throws(Fault) {
        guard self.scalar(1) == "?" else { return self.copy(1) }
        if self.begins("(?=") || self.begins("(?!") { throw Fault(text: "look-ahead") }
        if self.begins("(?<=") || self.begins("(?<!") { throw Fault(text: "look-behind") }
        if self.begins("(?>") { throw Fault(text: "an atomic group") }
        if self.begins("(?<") { return self.write("(?P<", taking: 3) }
        if self.begins("(?#") {
            self.index = self.scalars[self.index...].firstIndex(of: ")").map { $0 + 1 } ?? self.scalars.count
            return
        }
        self.copy(2)
        while let flag = self.scalar(0), flag != ":", flag != ")" {
            guard "ims-".unicodeScalars.contains(flag) else { throw Fault(text: "the flag (?\(flag))") }
            self.copy(1)
        }
    }

    // MARK: Escapes

    private static let word = #"\p{L}\p{M}\p{Nd}\p{Pc}"#
    private static let space = #"\s\x{b}\x{85}\p{Z}"#
    private static let blank = #"\t\p{Zs}"#
    private static let line = #"\n\x{b}\f\r\x{85}\x{2028}\x{2029}"#

    private mutating func escape() throws(Fault) {
        guard let scalar = self.scalar(1) else { return self.copy(1) }
        switch scalar {
        case "d": self.write(#"\p{Nd}"#, taking: 2)
        case "D": self.write(#"\P{Nd}"#, taking: 2)
        case "w": self.write(self.members(Self.word), taking: 2)
        case "s": self.write(self.members(Self.space), taking: 2)
        case "h": self.write(self.members(Self.blank), taking: 2)
        case "v": self.write(self.members(Self.line), taking: 2)
        case "W": try self.write(others: Self.word)
        case "S": try self.write(others: Self.space)
        case "H": try self.write(others: Self.blank)
        case "V": try self.write(others: Self.line)
        case "R": self.write(#"(?:\r\n|["# + Self.line + "])", taking: 2)
        case "Z": self.write(#"\z"#, taking: 2)
        case "e": self.write(#"\x{1b}"#, taking: 2)
        case "u": try self.code(digits: 4)
        case "U": try self.code(digits: 8)
        case "1"..."9", "k": throw Fault(text: "a back-reference")
        case "G", "X", "N": throw Fault(text: "\\\(scalar)")
        case "Q": self.copyLiteral()
        default: self.copy(2)
        }
    }

    private func members(_ members: String) -> String { self.isInClass ? members : "[\(members)]" }

    private mutating func write(others members: String) throws(Fault) {
        guard !self.isInClass else { throw Fault(text: "\\\(self.scalars[self.index + 1]) within a class") }
        self.write("[^\(members)]", taking: 2)
    }

    /// Copies `\Q…\E`, in which everything is literal.
    private mutating func copyLiteral() {
        var count = 2
        while self.index + count < self.scalars.count,
            !self.scalars[(self.index + count)...].starts(with: #"\E"#.unicodeScalars)
        {
            count += 1
        }
        self.copy(count + 2)
    }

    /// Reads `\uhhhh` or `\Uhhhhhhhh`.
    private mutating func code(digits: Int) throws(Fault) {
        let text = String(String.UnicodeScalarView(self.scalars[(self.index + 2)...].prefix(digits)))
        guard text.unicodeScalars.count == digits, let code = UInt32(text, radix: 16), Unicode.Scalar(code) != nil
        else { throw Fault(text: "an incomplete code") }
        self.write("\\x{\(String(code, radix: 16))}", taking: 2 + digits)
    }
}
