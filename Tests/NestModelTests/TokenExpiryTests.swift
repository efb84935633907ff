import NestModel
import Testing

/// The time at which a token expires, as text.
@Suite struct TokenExpiryTests {
    private static let now: Int64 = 1_800_000_000_000_000
    private static let second: Int64 = 1_000_000

    private func expiry(_ text: String) throws(DateFault) -> Int64 {
        try TokenExpiry.microseconds(text, DateReading(now: Self.now))
    }

    @Test(arguments: [("1m", 60), ("90m", 5_400), ("12h", 43_200), ("30d", 2_592_000), ("52w", 31_449_600)])
    func aTimeFromNowIsANumberWithAUnit(_ text: String, _ seconds: Int64) throws {
        #expect(try self.expiry(text) == Self.now + seconds * Self.second)
    }

    @Test func aDateIsADate() throws {
        #expect(try DateText.text(microseconds: self.expiry("2027-01-31")) == "2027-01-31T00:00:00.000000Z")
        let zoned = try self.expiry("2027-01-31T12:00:00+01:00")
        #expect(DateText.text(microseconds: zoned) == "2027-01-31T11:00:00.000000Z")
        #expect(try self.expiry("tomorrow") > Self.now)
        #expect(try self.expiry("9999-12-31T23:59:59.999999Z") == Limits.tokenExpiryMax)
    }

    /// No time in the past, and none that cannot be shown, becomes another one or "never".
    @Test(arguments: [
        "0d", "0m", "2001-01-01", "1969-12-31", "1970-01-01", "now", "today", "99999999w", "9223372036854775807w",
        "99999999999999999999d",
    ])
    func aTimeThatIsNotAheadOrTooFarIsRefused(_ text: String) {
        #expect(throws: DateFault.self) { try self.expiry(text) }
    }

    @Test(arguments: ["", "d", "30", "30x", "30 d", "-1d", "+1d", "1.5d", "30D", "never", "2027-13-01", "2027"])
    func anyOtherTextIsRefusedWithTheForms(_ text: String) {
        let fault = #expect(throws: DateFault.self) { try self.expiry(text) }
        #expect(fault?.message == TokenExpiry.form)
    }
}
