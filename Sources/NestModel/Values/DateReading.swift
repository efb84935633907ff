import Foundation

/// How the text of a request is read where it depends on time and place: the zone of times that have none, and the
/// moment that `now`, `today`, `yesterday` and `tomorrow` mean.
public struct DateReading: Sendable {
    /// Microseconds since 1970-01-01 UTC.
    public var now: Int64
    /// Returns the zone's difference to UTC, in seconds east, at a moment in seconds since 1970-01-01 UTC.
    public var secondsFromUTC: @Sendable (Int64) -> Int64

    public init(now: Int64, secondsFromUTC: @escaping @Sendable (Int64) -> Int64 = { _ in 0 }) {
        self.now = now
        self.secondsFromUTC = secondsFromUTC
    }

    /// Reads times without a zone in a zone of the IANA time zone database, `Europe/Berlin`; an empty name is UTC.
    /// `nil`: there is no such zone.
    public init?(zone name: String, now: Int64) {
        self.init(now: now)
        guard !name.isEmpty else { return }
        guard Self.isZoneName(name), let zone = TimeZone(identifier: name) else { return nil }
        self.secondsFromUTC = { Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0)))) }
    }

    /// Whether a name may be one of the database. Foundation also accepts differences to UTC, like `GMT+2`, whose sign
    /// has the opposite meaning in the database's `Etc/GMT+2`.
    private static func isZoneName(_ name: String) -> Bool {
        let isDifference = !name.utf8.contains(UInt8(ascii: "/")) && name.utf8.contains { "+-".utf8.contains($0) }
        return name.utf8.count <= Limits.zoneNameBytesMax && !isDifference
            && name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
                    || "/_+-".utf8.contains(byte)
            }
    }

    /// Reads times without a zone as UTC, and takes the current time for `now`.
    public static var utc: DateReading { DateReading(now: Int64(Date().timeIntervalSince1970 * 1_000_000)) }

    /// For texts without such words.
    static let fixed = DateReading(now: 0)

    /// A word for a moment.
    enum Word: String, CaseIterable {
        case now, today, yesterday, tomorrow

        /// The case of the letters does not matter.
        init?(_ text: String) {
            self.init(rawValue: text.lowercased())
        }
    }

    /// Reads a date, or a word like `today`.
    package func microseconds(_ text: String) throws(DateFault) -> Int64 {
        if let word = Word(text) { return self.microseconds(word) }
        return try DateText.microseconds(text, self)
    }

    /// What `now` may be: the years that a date's text may have, 0001 to 9999.
    package static let nowRange: ClosedRange<Int64> = -62_135_596_800_000_000...253_402_300_799_999_999

    /// Returns the moment: `now` itself, or the beginning of the day in the zone. Outside `nowRange` the day is that of
    /// the range's nearer end.
    func microseconds(_ word: Word) -> Int64 {
        let now = min(max(self.now, Self.nowRange.lowerBound), Self.nowRange.upperBound)
        let seconds = DateText.dividingDown(now, 1_000_000).quotient
        let (today, _) = DateText.dividingDown(seconds + self.secondsFromUTC(seconds), 86_400)
        return switch word {
        case .now: self.now
        case .today: self.moment(today * 86_400) * 1_000_000
        case .yesterday: self.moment((today - 1) * 86_400) * 1_000_000
        case .tomorrow: self.moment((today + 1) * 86_400) * 1_000_000
        }
    }

    /// Returns the first moment at which the zone's clocks show `local` or a later time of that change of clocks. Both
    /// numbers are seconds since 1970-01-01: `local` on the zone's clocks, the result in UTC.
    ///
    /// Clocks that are set back show a time twice: this is the first. Clocks that are set forward omit times, midnight
    /// in some zones: this is the moment of the change.
    func moment(_ local: Int64) -> Int64 {
        let (before, after) = (self.secondsFromUTC(local - 86_400), self.secondsFromUTC(local + 86_400))
        for offset in [max(before, after), min(before, after)] where self.secondsFromUTC(local - offset) == offset {
            return local - offset
        }
        var (low, high) = (local - max(before, after), local - min(before, after))
        while low < high {
            let middle = low + (high - low) / 2
            if middle + self.secondsFromUTC(middle) >= local { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
