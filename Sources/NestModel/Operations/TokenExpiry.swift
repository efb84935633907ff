/// Reads when a token expires: a time from now such as `90m`, `12h`, `30d` or `52w`, or a date.
package enum TokenExpiry {
    /// What `microseconds` accepts.
    package static let form = "write it as 90m, 12h, 30d, 52w or a date such as 2027-01-31"

    /// Returns the time in microseconds since 1970-01-01 UTC. It is later than `reading.now`.
    package static func microseconds(_ text: String, _ reading: DateReading) throws(DateFault) -> Int64 {
        let time: Int64
        if let duration = self.duration(text) {
            let (sum, isBeyond) = reading.now.addingReportingOverflow(duration)
            time = isBeyond ? .max : sum
        } else {
            do {
                time = try reading.microseconds(text)
            } catch {
                throw DateFault(offset: error.offset, message: self.form)
            }
        }
        guard time > reading.now else { throw DateFault(offset: 0, message: "the expiry must be later than now") }
        guard time <= Limits.tokenExpiryMax else {
            throw DateFault(offset: 0, message: "a token expires by the end of the year 9999, or never")
        }
        return time
    }

    /// Returns a number with a unit in microseconds; `nil` for any other text. A time that is too long becomes the
    /// longest.
    private static func duration(_ text: String) -> Int64? {
        let digits = text.utf8.dropLast()
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let seconds: Int64
        switch text.last {
        case "m": seconds = 60
        case "h": seconds = 3_600
        case "d": seconds = 86_400
        case "w": seconds = 7 * 86_400
        default: return nil
        }
        guard let count = Int64(text.dropLast()) else { return .max }
        let (product, isBeyond) = count.multipliedReportingOverflow(by: seconds * 1_000_000)
        return isBeyond ? .max : product
    }
}
