import NestModel

/// Section names by the contract: a function of the value as the first sort key compares it.
package enum NaiveSections {
    package static func name(
        _ function: SectionKey.Function,
        _ folding: TextFolding,
        _ value: AttributeValue
    ) -> AttributeValue {
        switch (function, value) {
        case (_, .null): return .null
        case (.value, .string(let text)): return .string(folding.fold(text))
        case (.value, _): return value
        case (.firstCharacter, .string(let text)):
            guard let scalar = folding.fold(text).unicodeScalars.first else { return .string("") }
            let first = String(Character(scalar))
            let upper = first.uppercased()
            let foldsBack = Array(folding.fold(upper).utf8) == Array(first.utf8)
            return .string(folding.contains(.caseInsensitive) && foldsBack ? upper : first)
        case (.year, .date(let moment)): return .string(self.calendar(moment)[0])
        case (.month, .date(let moment)): return .string(self.calendar(moment)[0...1].joined(separator: "-"))
        case (.day, .date(let moment)): return .string(self.calendar(moment).joined(separator: "-"))
        default: preconditionFailure("\(function) of \(value)")
        }
    }

    /// Returns year, month and day by counting years and months within a 400-year cycle.
    private static func calendar(_ microseconds: Int64) -> [String] {
        let perDay: Int64 = 86_400_000_000
        var days = microseconds / perDay
        if microseconds % perDay < 0 { days -= 1 }
        var year: Int64 = 1970
        let centuries = 146_097 as Int64
        year += days / centuries * 400
        days %= centuries
        if days < 0 {
            days += centuries
            year -= 400
        }
        func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
        while days >= (isLeap(year) ? 366 : 365) {
            days -= isLeap(year) ? 366 : 365
            year += 1
        }
        var month = 0
        let lengths: [Int64] = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        while days >= lengths[month] {
            days -= lengths[month]
            month += 1
        }
        func padded(_ number: Int64, _ count: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
        }
        return [
            (0...9_999).contains(year) ? padded(year, 4) : "\(year)", padded(Int64(month + 1), 2), padded(days + 1, 2),
        ]
    }
}
