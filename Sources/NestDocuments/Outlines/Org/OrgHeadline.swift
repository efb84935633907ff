/// A headline of Org: `** TODO [#A] Title :tag:`.
struct OrgHeadline: Equatable {
    private static let star = UInt8(ascii: "*")
    private static let colon = UInt8(ascii: ":")

    /// The number of stars.
    var level: Int
    var keyword: String?
    var priority: String?
    /// As in the file: see `LineEscape`.
    var title: [UInt8]
    var tags: [String] = []

    init(level: Int, title: [UInt8]) {
        self.level = level
        self.title = title
    }

    /// Reads a line for which `isHeadline` holds.
    init(_ line: [UInt8], _ keywords: OrgKeywords) {
        let stars = line.prefix { $0 == Self.star }
        var rest = LineBytes.trimmed(line[stars.endIndex...])
        self.level = stars.count
        let first = LineBytes.word(rest)
        let word = LineBytes.text(first.word)
        if keywords.isDone(word) != nil {
            self.keyword = word
            rest = first.rest
        }
        let second = LineBytes.word(rest)
        if second.word.starts(with: Array("[#".utf8)), second.word.last == UInt8(ascii: "]") {
            let name = LineBytes.text(second.word.dropFirst(2).dropLast())
            if Self.isPriority(name) {
                self.priority = name
                rest = second.rest
            }
        }
        if rest.last == Self.colon {
            let start = rest.lastIndex(where: LineBytes.isBlank).map { $0 + 1 } ?? rest.startIndex
            let tags = rest[start...].dropFirst().dropLast()
                .split(separator: Self.colon, omittingEmptySubsequences: false).map { LineBytes.text($0) }
            if rest[start...].count > 1, rest[start] == Self.colon, tags.allSatisfy(Self.isTag) {
                self.tags = tags
                rest = LineBytes.trimmed(rest[..<start])
            }
        }
        self.title = Array(rest)
    }

    /// Stars, then a space: in Org nothing else makes a headline, nor prevents one, not even a block of code.
    static func isHeadline(_ line: some Collection<UInt8>) -> Bool {
        let rest = line.drop { $0 == Self.star }
        return rest.count < line.count && rest.first == LineBytes.space
    }

    /// A capital letter, or a number of one or two digits.
    static func isPriority(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        if bytes.count == 1, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[0]) { return true }
        return (1...2).contains(bytes.count)
            && bytes.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    static func isTag(_ text: String) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy { scalar in
                "_@#%".unicodeScalars.contains(scalar) || scalar.properties.isAlphabetic
                    || scalar.properties.numericType != nil
            }
    }

    var line: [UInt8] {
        var parts: [[UInt8]] = []
        if let keyword { parts.append(Array(keyword.utf8)) }
        if let priority { parts.append(Array("[#\(priority)]".utf8)) }
        if !self.title.isEmpty { parts.append(self.title) }
        if !self.tags.isEmpty { parts.append(Array(":\(self.tags.joined(separator: ":")):".utf8)) }
        let line = [UInt8](repeating: Self.star, count: self.level) + [LineBytes.space]
        return line + parts.joined(separator: [LineBytes.space])
    }

    /// Whether the headline with this title reads back as it is.
    func isPlain(_ title: [UInt8], _ keywords: OrgKeywords) -> Bool {
        var headline = self
        headline.title = title
        headline.level = 1
        return OrgHeadline(headline.line, keywords) == headline
    }
}
