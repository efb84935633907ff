/// Converts dates to RFC 3339 text in UTC with microseconds, and back. The calendar is the proleptic Gregorian one.
package enum DateText {
    static let microsecondsOfDay: Int64 = 86_400_000_000

    package static func text(microseconds: Int64) -> String {
        let (days, rest) = Self.dividingDown(microseconds, Self.microsecondsOfDay)
        let (year, month, day) = Self.civil(days)
        let (seconds, micros) = (rest / 1_000_000, rest % 1_000_000)
        let yearText = (0...9_999).contains(year) ? Self.padded(year, 4) : "\(year)"
        let date = "\(yearText)-\(Self.padded(month, 2))-\(Self.padded(day, 2))"
        let time =
            "\(Self.padded(seconds / 3_600, 2)):\(Self.padded(seconds / 60 % 60, 2)):\(Self.padded(seconds % 60, 2))"
        return "\(date)T\(time).\(Self.padded(micros, 6))Z"
    }

    /// Reads `2026-11-21`, optionally with a time `T09:30[:15[.123456]]` and a zone `Z` or `+01:00`. Without a zone the
    /// time is UTC.
    package static func microseconds(_ text: String) -> Int64? { try? Self.microseconds(text, .fixed) }

    /// Reads the same forms. Times without a zone are in the zone of `reading`.
    package static func microseconds(_ text: String, _ reading: DateReading) throws(DateFault) -> Int64 {
        var scanner = DateScanner(text)
        let day = try scanner.day()
        let time = try scanner.time()
        let local = day * 86_400 + time.seconds
        let seconds = time.zone.map { local - $0 } ?? reading.moment(local)
        return seconds * 1_000_000 + time.microseconds
    }

    static func dividingDown(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    static func padded(_ value: Int64, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(width - text.utf8.count, 0)) + text
    }

    static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = Self.dividingDown(year, 400)
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The inverse of `dayNumber`.
    static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, day) = Self.dividingDown(days + 719_468, 146_097)
        let yearOfEra = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let civilMonth = month < 10 ? month + 3 : month - 9
        return (yearOfEra + era * 400 + (civilMonth <= 2 ? 1 : 0), civilMonth, dayOfYear - (153 * month + 2) / 5 + 1)
    }
}
