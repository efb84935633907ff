/// A day, month or year of the calendar, in UTC.
package enum DatePeriod: Sendable {
    case year, month, day

    private func components(_ microseconds: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (days, _) = DateText.dividingDown(microseconds, DateText.microsecondsOfDay)
        let (year, month, day) = DateText.civil(days)
        switch self {
        case .year: return (year, 1, 1)
        case .month: return (year, month, 1)
        case .day: return (year, month, day)
        }
    }

    /// The first and last microsecond of the period that contains a moment, clamped to the range of dates.
    package func range(of microseconds: Int64) -> ClosedRange<Int64> {
        let (year, month, day) = self.components(microseconds)
        let first = DateText.dayNumber(year, month, day)
        let next =
            switch self {
            case .year: DateText.dayNumber(year + 1, 1, 1)
            case .month: month == 12 ? DateText.dayNumber(year + 1, 1, 1) : DateText.dayNumber(year, month + 1, 1)
            case .day: first + 1
            }
        return Self.microseconds(first)...Self.microseconds(next, less: 1)
    }

    private static func microseconds(_ days: Int64, less: Int64 = 0) -> Int64 {
        let (whole, overflow) = days.multipliedReportingOverflow(by: DateText.microsecondsOfDay)
        let (result, under) = whole.subtractingReportingOverflow(less)
        return overflow || under ? (days < 0 ? .min : .max) : result
    }

    /// The period as text: `2026`, `2026-11`, `2026-11-21`.
    package func text(_ microseconds: Int64) -> String {
        let (year, month, day) = self.components(microseconds)
        let text = (0...9_999).contains(year) ? DateText.padded(year, 4) : "\(year)"
        return switch self {
        case .year: text
        case .month: "\(text)-\(DateText.padded(month, 2))"
        case .day: "\(text)-\(DateText.padded(month, 2))-\(DateText.padded(day, 2))"
        }
    }
}
