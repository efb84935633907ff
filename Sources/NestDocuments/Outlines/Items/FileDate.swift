import NestModel

/// Dates as Org and TaskPaper write them, for attributes that are dates: `<2026-01-02 Fri 10:00>`, `[2026-01-02 Fri]`,
/// `2026-01-02 10:00`. They name no time zone; nest reads and writes them as UTC.
struct FileDate {
    /// As nest reads a date: `2026-01-02`, or `2026-01-02T10:00:00Z`.
    let text: String
    /// Whether the file's text had more: a repeater, a range or a delay.
    let isCut: Bool

    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let day: Int64 = 86_400_000_000
    private static let minute: Int64 = 60_000_000

    /// Returns `nil` for any other text, such as `tomorrow`.
    init?(_ text: String) {
        var bytes = Array(text.utf8)[...]
        if bytes.first == UInt8(ascii: "<") || bytes.first == UInt8(ascii: "[") { bytes.removeFirst() }
        var words = bytes.split { LineBytes.isBlank($0) || ">]".utf8.contains($0) }[...]
        guard let day = words.popFirst(), Self.fits(day, "0000-00-00") else { return nil }
        if let word = words.first, word.allSatisfy({ $0 >= 0x80 || Unicode.Scalar($0).properties.isAlphabetic }) {
            words.removeFirst()
        }
        var time = ""
        if let word = words.first, Self.fits(word.prefix(5), "00:00") {
            time = "T\(LineBytes.text(word.prefix(5))):00Z"
            words[words.startIndex] = word.dropFirst(5)
            if words.first?.isEmpty == true { words.removeFirst() }
        }
        self.text = LineBytes.text(day) + time
        self.isCut = !words.isEmpty
    }

    private static func fits(_ word: ArraySlice<UInt8>, _ pattern: StaticString) -> Bool {
        pattern.withUTF8Buffer { pattern in
            word.count == pattern.count
                && zip(word, pattern).allSatisfy { byte, sample in
                    sample == UInt8(ascii: "0")
                        ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : byte == sample
                }
        }
    }

    /// Returns a timestamp of Org for a date of nest; `nil` if it has seconds, which a timestamp cannot hold.
    static func stamp(_ text: String, isActive: Bool) -> String? {
        guard let (date, time, days) = Self.parts(text) else { return nil }
        let weekday = Self.weekdays[Int((days % 7 + 7) % 7)]
        let inner = "\(date) \(weekday)" + (time.isEmpty ? "" : " \(time)")
        return isActive ? "<\(inner)>" : "[\(inner)]"
    }

    /// Returns a date of nest as short as possible: `2026-01-02`, `2026-01-02 10:00`, or unchanged.
    static func short(_ text: String) -> String {
        guard let (date, time, _) = Self.parts(text) else { return text }
        return time.isEmpty ? date : "\(date) \(time)"
    }

    private static func parts(_ text: String) -> (date: String, time: String, days: Int64)? {
        guard let microseconds = DateText.microseconds(text), microseconds % Self.minute == 0 else { return nil }
        let full = DateText.text(microseconds: microseconds)
        let bytes = Array(full.utf8)
        // A year has more than four digits after 9999.
        guard bytes.count > 16, Self.fits(bytes[..<10], "0000-00-00") else { return nil }
        let days = (microseconds - (microseconds % Self.day + Self.day) % Self.day) / Self.day
        let isMidnight = microseconds % Self.day == 0
        return (LineBytes.text(bytes[..<10]), isMidnight ? "" : LineBytes.text(bytes[11..<16]), days)
    }
}
