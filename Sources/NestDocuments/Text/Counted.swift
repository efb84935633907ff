/// Numbers with their nouns, for people.
package enum Counted {
    /// Returns `1 row`, `2 rows` or, with `isGrouped`, `2,000 rows`. `plural`: the plural, if it does not end in an s.
    package static func text(_ count: Int, _ noun: String, plural: String? = nil, isGrouped: Bool = false) -> String {
        let number = isGrouped ? self.grouped(count) : "\(count)"
        return "\(number) \(count == 1 ? noun : plural ?? noun + "s")"
    }

    /// Returns `2,000` for 2000.
    package static func grouped(_ number: Int) -> String {
        var digits = Array(String(number.magnitude))
        for index in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: index) }
        return (number < 0 ? "-" : "") + String(digits)
    }
}
