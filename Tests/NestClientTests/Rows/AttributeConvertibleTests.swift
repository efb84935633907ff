import Foundation
import NestClient
import NestTestSupport
import Testing

/// Values of Swift types as values of attributes, and back.
@Suite struct AttributeConvertibleTests {
    private enum Priority: Int, AttributeConvertible, Codable { case low = 1, usual, high }

    private func roundTrip<Value: AttributeConvertible & Equatable>(
        _ value: Value,
        _ expected: AttributeValue,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try value.mutationValue == .value(expected), sourceLocation: sourceLocation)
        #expect(Value(expected) == value, sourceLocation: sourceLocation)
    }

    @Test func everyTypeIsReadAsItWasWritten() throws {
        try self.roundTrip("é", .string("é"))
        try self.roundTrip(true, .boolean(true))
        try self.roundTrip(-3, .integer(-3))
        try self.roundTrip(Int64.min, .integer(.min))
        try self.roundTrip(Int32.max, .integer(Int64(Int32.max)))
        try self.roundTrip(Int16(7), .integer(7))
        try self.roundTrip(Int8(-7), .integer(-7))
        try self.roundTrip(UInt16.max, .integer(65_535))
        try self.roundTrip(UInt64(Int64.max), .integer(.max))
        try self.roundTrip(URL(string: "https://nest.example/a?b=c")!, .string("https://nest.example/a?b=c"))
        try self.roundTrip(0.1, .double(0.1))
        try self.roundTrip(Float(0.5), .double(0.5))
        try self.roundTrip([UInt8]([0, 255]), .data([0, 255]))
        try self.roundTrip(Data([0, 255]), .data([0, 255]))
        try self.roundTrip(Decimal(string: "-12.50")!, .string("-12.5"))
        try self.roundTrip(Priority.high, .integer(3))
        try self.roundTrip(String?.none, .null)
        try self.roundTrip(Optional(Priority.low), .integer(1))
        let uuid = UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF")!
        try self.roundTrip(uuid, .uuid(Identifier128(hex: "00112233445566778899aabbccddeeff")!))
        #expect(try ObjectID(7).mutationValue == .reference(.object(ObjectID(7))))
        #expect(ObjectID(.reference(ObjectID(7))) == ObjectID(7))
    }

    @Test func aValueOfAnotherTypeIsNone() {
        #expect(String(AttributeValue.null) == nil && Int(AttributeValue.string("1")) == nil)
        #expect(Int8(AttributeValue.integer(128)) == nil && Bool(AttributeValue.integer(1)) == nil)
        #expect(Priority(AttributeValue.integer(9)) == nil && Priority(AttributeValue.null) == nil)
        // The outer Optional says whether there is a value, the inner one is the value.
        #expect(Int?(AttributeValue.null) == .some(.none) && Int?(AttributeValue.string("1")) == .none)
        #expect(Double(AttributeValue.integer(3)) == 3 && Double(AttributeValue.integer((1 << 53) + 1)) == nil)
        #expect(Decimal(AttributeValue.string("1000")) == 1000 && Decimal(AttributeValue.string("-0.5")) == -0.5)
        #expect(UInt8(AttributeValue.integer(-1)) == nil && URL(AttributeValue.integer(1)) == nil)
        #expect(Decimal(AttributeValue.string("1234567890123456789012345678901234567890")) == nil)
        #expect(Decimal(AttributeValue.string("one")) == nil && Decimal(AttributeValue.integer(3)) == 3)
    }

    @Test func datesAreExactToTheMicrosecond() throws {
        for seed in Seeds.range(0..<200) {
            var random = SeededRandom(seed: seed)
            // From 1730 to 2270.
            let microseconds = Int64.random(in: -7_570_000_000_000_000...9_460_000_000_000_000, using: &random)
            let date = try #require(Date(AttributeValue.date(microseconds)))
            #expect(try date.mutationValue == .value(.date(microseconds)), "seed \(seed)")
        }
        #expect(Date(AttributeValue.date(0)) == Date(timeIntervalSince1970: 0))
        try self.roundTrip(Date(timeIntervalSince1970: 1.5), .date(1_500_000))
        try self.roundTrip(Date(timeIntervalSince1970: -1.5), .date(-1_500_000))
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan, 1e300, 9.3e12])
    func aDateThatCannotBeStoredIsRefused(seconds: Double) {
        let error = #expect(throws: NestError.self) {
            _ = try Date(timeIntervalSinceReferenceDate: seconds).mutationValue
        }
        #expect(error?.code == .validationFailed)
    }

    @Test func numbersThatCannotBeStoredAreRefused() {
        let whole = #expect(throws: NestError.self) { _ = try UInt64.max.mutationValue }
        #expect(whole?.code == .validationFailed)
        let decimal = #expect(throws: NestError.self) { _ = try Decimal.nan.mutationValue }
        #expect(decimal?.code == .validationFailed)
        let optional = #expect(throws: NestError.self) { _ = try Optional(UInt64.max).mutationValue }
        #expect(optional?.code == .validationFailed)
    }
}
