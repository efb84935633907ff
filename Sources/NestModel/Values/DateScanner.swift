/// A mistake in the text of a date.
package struct DateFault: Error {
    /// The number of bytes before the mistake.
    package var offset: Int
    package var message: String
}

/// Reads the parts of a date's text, and says what is wrong with it.
struct DateScanner {
    private static let form = "write a date as 2026-02-01, 2026-02-01 14:30 or 2026-02-01T14:30:00+01:00"

    private let bytes: [UInt8]
    private var index = 0

    init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    /// Reads `2026-11-21` as the number of days since 1970-01-01.
    mutating func day() throws(DateFault) -> Int64 {
        guard let year = self.number(4), self.skip("-"), let month = self.number(2), self.skip("-") else {
            throw self.fault(Self.form)
        }
        let dayStart = self.index
        guard let day = self.number(2) else { throw self.fault(Self.form) }
        guard (1...12).contains(month) else {
            throw self.fault("there is no month \(month)", at: dayStart - 3)
        }
        let last = DateText.days(in: month, of: year)
        guard (1...last).contains(day) else {
            let name = "\(DateText.padded(year, 4))-\(DateText.padded(month, 2))"
            throw self.fault("there is no day \(day) in \(name): it has \(last) days", at: dayStart)
        }
        return DateText.dayNumber(year, month, day)
    }

    struct Time {
        /// Seconds and microseconds since midnight.
        var seconds: Int64 = 0
        var microseconds: Int64 = 0
        /// Seconds east of UTC; `nil` if the text has no zone.
        var zone: Int64?
    }

    /// Reads the rest of the text: nothing, or a time and perhaps a zone.
    mutating func time() throws(DateFault) -> Time {
        var time = Time()
        guard !self.isAtEnd else { return time }
        guard self.skip("T") || self.skip("t") || self.skip(" ") else {
            throw self.fault("after the day write nothing, or a time like T14:30")
        }
        let hour = try self.part("hour", 23)
        guard self.skip(":") else { throw self.fault("a time has hours and minutes, like 14:30") }
        time.seconds = hour * 3_600 + (try self.part("minute", 59)) * 60
        if self.skip(":") {
            time.seconds += try self.part("second", 59)
            if self.skip(".") {
                guard let fraction = self.fraction() else {
                    throw self.fault("after the point write one to six digits of the second")
                }
                time.microseconds = fraction
            }
        }
        time.zone = try self.zone()
        guard self.isAtEnd else { throw self.fault("nothing may follow the zone") }
        return time
    }

    private func fault(_ message: String, at offset: Int? = nil) -> DateFault {
        DateFault(offset: offset ?? self.index, message: message)
    }

    private var isAtEnd: Bool { self.index == self.bytes.count }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard self.index < self.bytes.count, self.bytes[self.index] == UInt8(ascii: character) else { return false }
        self.index += 1
        return true
    }

    private mutating func digit() -> Int64? {
        guard self.index < self.bytes.count, (0x30...0x39).contains(self.bytes[self.index]) else { return nil }
        defer { self.index += 1 }
        return Int64(self.bytes[self.index] - 0x30)
    }

    private mutating func number(_ digits: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<digits {
            guard let digit = self.digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// Reads two digits.
    private mutating func part(_ name: String, _ most: Int64) throws(DateFault) -> Int64 {
        let start = self.index
        guard let value = self.number(2) else { throw self.fault("the \(name) has two digits, like 09", at: start) }
        guard value <= most else { throw self.fault("there is no \(name) \(value): the last is \(most)", at: start) }
        return value
    }

    /// Reads one to six digits as microseconds.
    private mutating func fraction() -> Int64? {
        guard var value = self.digit() else { return nil }
        for _ in 0..<5 { value = value * 10 + (self.digit() ?? 0) }
        return value
    }

    /// Reads a zone, or nothing at the end of the text. Returns seconds east of UTC.
    private mutating func zone() throws(DateFault) -> Int64? {
        if self.isAtEnd { return nil }
        if self.skip("Z") || self.skip("z") { return 0 }
        let start = self.index
        let isWest = self.skip("-")
        guard isWest || self.skip("+"), let hours = self.number(2), hours < 24 else {
            throw self.fault("after the time write nothing, Z for UTC, or the difference to UTC like +02:00", at: start)
        }
        var minutes: Int64 = 0
        if !self.isAtEnd {
            _ = self.skip(":")
            guard let number = self.number(2), number < 60 else {
                throw self.fault("write the difference to UTC like +02:00", at: start)
            }
            minutes = number
        }
        return (isWest ? -1 : 1) * (hours * 3_600 + minutes * 60)
    }
}
