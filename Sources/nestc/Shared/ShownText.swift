import NestDocuments
import NestModel

/// The forms of values that differ between a terminal and a pipe or file: people read the first, programs the second.
enum ShownText {
    static let isTerminal = isatty(STDOUT_FILENO) == 1

    /// A number that counts something: `2,000` on a terminal, `2000` elsewhere.
    static func number(_ count: Int) -> String { self.isTerminal ? Counted.grouped(count) : "\(count)" }

    /// A time: on a terminal in the user's time zone, to the second, with the offset from UTC
    /// (`2026-11-21 10:30:00+01:00`); elsewhere RFC 3339 in UTC with microseconds. Both can be typed as a value.
    static func time(microseconds: Int64) -> String {
        self.isTerminal ? self.localTime(microseconds) : DateText.text(microseconds: microseconds)
    }

    /// A value of an attribute, with dates as `time` shows them.
    static func value(_ value: AttributeValue, of type: AttributeType? = nil) -> String {
        if case .date(let microseconds) = value { return self.time(microseconds: microseconds) }
        return ValueText.text(value, of: type)
    }

    private static func localTime(_ microseconds: Int64) -> String {
        let minutes = self.minutesEast(microseconds)
        let (local, isBeyond) = microseconds.addingReportingOverflow(Int64(minutes) * 60_000_000)
        guard !isBeyond else { return DateText.text(microseconds: microseconds) }
        // Without the fraction and the Z.
        let text = DateText.text(microseconds: local).dropLast(8).map { $0 == "T" ? " " : $0 }
        func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let sign = minutes < 0 ? "-" : "+"
        return "\(String(text))\(sign)\(twoDigits(abs(minutes) / 60)):\(twoDigits(abs(minutes) % 60))"
    }

    private static let zone: Void = tzset()

    /// The offset of the user's time zone (`TZ`, or the system's) at a time, in minutes.
    private static func minutesEast(_ microseconds: Int64) -> Int {
        _ = self.zone
        var seconds = time_t(microseconds / 1_000_000)
        var parts = tm()
        return localtime_r(&seconds, &parts) == nil ? 0 : Int(parts.tm_gmtoff) / 60
    }
}

/// Returns a number with its noun: `1 row`, `2 rows`, and on a terminal `2,000 rows`.
func counted(_ count: Int, _ noun: String, plural: String? = nil) -> String {
    Counted.text(count, noun, plural: plural, isGrouped: ShownText.isTerminal)
}
