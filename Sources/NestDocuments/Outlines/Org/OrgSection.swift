/// The lines below a headline: its dates, its properties, and text.
struct OrgSection {
    /// What a text may still begin with, and would then be read as something else.
    enum Place {
        case dates
        case properties
        case text
    }

    private static let colon = UInt8(ascii: ":")
    /// The words of the line with dates, and the names of their members.
    private static let dateNames = ["CLOSED": "closed", "DEADLINE": "deadline", "SCHEDULED": "scheduled"]
    static let names = Set(dateNames.values)

    /// By the names of their members, in the order of the file.
    private(set) var dates: [(name: String, stamp: String)] = []
    private(set) var properties: [(name: String, value: [UInt8])] = []
    private(set) var text: ArraySlice<[UInt8]>
    private(set) var place = Place.dates
    /// The lines of the properties.
    private var drawer: ArraySlice<[UInt8]> = []

    init(_ lines: ArraySlice<[UInt8]>, from place: Place = .dates) {
        self.text = lines
        self.place = place
        if place == .dates, let first = lines.first, let dates = Self.dates(first) {
            self.dates = dates
            self.text = lines.dropFirst()
            self.place = .properties
        }
        guard self.place != .text, let (properties, rest) = Self.properties(self.text) else { return }
        self.properties = properties
        self.drawer = self.text[..<rest.startIndex]
        self.text = rest
        self.place = .text
    }

    /// Makes the properties text: they cannot be members of `extra`.
    mutating func keepProperties() {
        self.text = self.drawer + self.text
        self.properties = []
        self.drawer = []
        self.place = self.dates.isEmpty ? .dates : .properties
    }

    // MARK: Dates

    /// Returns the dates of a line that has nothing else: `DEADLINE: <2026-01-02 Fri> CLOSED: [2026-01-01 Thu]`.
    private static func dates(_ line: [UInt8]) -> [(name: String, stamp: String)]? {
        var rest = LineBytes.trimmed(line[...])
        var dates: [(name: String, stamp: String)] = []
        while !rest.isEmpty {
            let (word, next) = LineBytes.word(rest)
            guard word.last == Self.colon, let name = Self.dateNames[LineBytes.text(word.dropLast())],
                !dates.contains(where: { $0.name == name }), let end = Self.endOfStamp(next)
            else { return nil }
            dates.append((name, LineBytes.text(next[..<end])))
            rest = next[end...]
            guard rest.isEmpty || LineBytes.isBlank(rest[end]) else { return nil }
            rest = rest.drop(while: LineBytes.isBlank)
        }
        return dates.isEmpty ? nil : dates
    }

    /// Whether the text is a timestamp, or a range of two: `<2026-01-02 Fri 10:00 +1w>`.
    static func isStamp(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return Self.endOfStamp(bytes[...]) == bytes.count
            && !bytes.contains { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    }

    private static func endOfStamp(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard let end = Self.endOfOne(bytes) else { return nil }
        guard bytes[end...].starts(with: Array("--".utf8)) else { return end }
        return Self.endOfOne(bytes[(end + 2)...]) ?? end
    }

    private static func endOfOne(_ bytes: ArraySlice<UInt8>) -> Int? {
        let open = bytes.first
        guard open == UInt8(ascii: "<") || open == UInt8(ascii: "[") else { return nil }
        let close = UInt8(ascii: open == UInt8(ascii: "<") ? ">" : "]")
        let digits = bytes.dropFirst().prefix(4)
        guard digits.count == 4, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return bytes.firstIndex(of: close).map { $0 + 1 }
    }

    static func line(_ dates: [(name: String, stamp: String)]) -> String {
        dates.map { "\($0.name.uppercased()): \($0.stamp)" }.joined(separator: " ")
    }

    // MARK: Properties

    /// Returns the properties of a drawer at the beginning, and the lines after it. All its lines must be properties
    /// with different names.
    private static func properties(
        _ lines: ArraySlice<[UInt8]>
    ) -> (properties: [(name: String, value: [UInt8])], rest: ArraySlice<[UInt8]>)? {
        guard let first = lines.first, Self.isMark(first, ":PROPERTIES:") else { return nil }
        var properties: [(name: String, value: [UInt8])] = []
        var names: Set<String> = []
        for (index, line) in zip(lines.indices, lines).dropFirst() {
            if Self.isMark(line, ":END:") { return (properties, lines[(index + 1)...]) }
            guard names.count < ItemMembers.countMax, let (name, value) = Self.property(line),
                names.insert(name).inserted
            else { return nil }
            properties.append((name, value))
        }
        return nil
    }

    private static func isMark(_ line: [UInt8], _ mark: String) -> Bool {
        LineBytes.text(LineBytes.trimmed(line[...])).uppercased() == mark
    }

    private static func property(_ line: [UInt8]) -> (name: String, value: [UInt8])? {
        let (word, value) = LineBytes.word(LineBytes.trimmed(line[...]))
        guard word.count > 2, word.first == Self.colon, word.last == Self.colon else { return nil }
        return (LineBytes.text(word.dropFirst().dropLast()), Array(value))
    }

    /// Whether a property can have this name.
    static func isName(_ name: String) -> Bool {
        guard !name.isEmpty, !["END", "PROPERTIES"].contains(name.uppercased()), !name.utf8.contains(0x0a),
            !name.utf8.contains(0x0d)
        else { return false }
        return Self.property(Array(":\(name):".utf8)).map { $0.name.utf8.elementsEqual(name.utf8) && $0.value.isEmpty }
            ?? false
    }

    /// Whether a property with this value reads back as it is.
    static func isPlain(_ value: [UInt8]) -> Bool { LineBytes.trimmed(value[...]).count == value.count }

    static func line(name: String, value: [UInt8]) -> [UInt8] {
        Array(":\(name):".utf8) + (value.isEmpty ? [] : [LineBytes.space] + value)
    }
}
