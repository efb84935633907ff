import NestModel
import Testing

@Suite struct AttributeTests {
    private func attribute(
        _ type: AttributeType,
        isOptional: Bool = false,
        minimum: AttributeValue = .null,
        maximum: AttributeValue = .null
    ) -> AttributeDescription {
        AttributeDescription(
            number: 1,
            name: "a",
            type: type,
            isOptional: isOptional,
            minimum: minimum,
            maximum: maximum
        )
    }

    private func reason(_ value: AttributeValue, _ attribute: AttributeDescription) -> ValidationFault.Reason? {
        attribute.fault(value)?.reason
    }

    @Test func nullIsAcceptedOnlyIfOptional() {
        #expect(self.reason(.null, self.attribute(.string)) == .required)
        #expect(self.reason(.null, self.attribute(.string, isOptional: true)) == nil)
        // "" is a value.
        #expect(self.reason(.string(""), self.attribute(.string)) == nil)
    }

    /// Each type accepts values of one kind only.
    @Test func valuesOfOtherTypesAreRefused() {
        let values: [AttributeValue] = [
            .boolean(true), .integer(1), .double(1), .string("1"), .date(1), .data([1]),
            .uuid(Identifier128(high: 0, low: 1)), .reference(ObjectID(1)),
        ]
        for type in AttributeType.allCases where !type.isLarge {
            let fitting = values.filter { self.reason($0, self.attribute(type)) == nil }
            #expect(fitting.count == 1, "\(type)")
            let refused = values.filter { self.reason($0, self.attribute(type)) == .type }
            #expect(refused.count == values.count - 1, "\(type)")
        }
    }

    @Test func numbersOutsideTheRangeOfTheirTypeAreRefused() {
        for (type, least, greatest) in [
            (AttributeType.integer16, -32_768 as Int64, 32_767 as Int64), (.integer32, -2_147_483_648, 2_147_483_647),
        ] {
            let attribute = self.attribute(type)
            #expect(self.reason(.integer(least), attribute) == nil && self.reason(.integer(greatest), attribute) == nil)
            #expect(self.reason(.integer(least - 1), attribute) == .range)
            #expect(self.reason(.integer(greatest + 1), attribute) == .range)
        }
        #expect(self.reason(.integer(.min), self.attribute(.integer)) == nil)
        #expect(self.reason(.double(1e39), self.attribute(.float)) == .range)
        #expect(self.reason(.double(.infinity), self.attribute(.float)) == nil)
        #expect(self.reason(.double(.nan), self.attribute(.double)) == .text)
        #expect(self.reason(.double(.nan), self.attribute(.float)) == .text)
    }

    @Test func textOfTheWrongFormIsRefused() {
        #expect(self.reason(.string("1,5"), self.attribute(.decimal)) == .text)
        #expect(self.reason(.string("-1.5e3"), self.attribute(.decimal)) == nil)
        #expect(self.reason(.string("https://a.example/%20?q=[1]#x"), self.attribute(.uri)) == nil)
        for bad in ["", "a b", "\u{e9}", "a\"b", "<a>", "a\\b", "a\n"] {
            #expect(self.reason(.string(bad), self.attribute(.uri)) == .text, "\(bad)")
        }
        #expect(self.reason(.string("a\0b"), self.attribute(.string)) == .text)
        let long = [UInt8](repeating: 0x78, count: Limits.valueBytesMax + 1)
        #expect(self.reason(.string(String(decoding: long, as: UTF8.self)), self.attribute(.string)) == .tooLarge)
        #expect(self.reason(.data(long), self.attribute(.data)) == .tooLarge)
        #expect(self.reason(.data(long.dropLast()), self.attribute(.data)) == nil)
    }

    @Test func boundsAreInclusive() {
        let pairs: [(AttributeType, (Int) -> AttributeValue)] = [
            (.integer, { .integer(Int64($0)) }), (.integer16, { .integer(Int64($0)) }),
            (.double, { .double(Double($0)) }),
            (.float, { .double(Double($0)) }), (.date, { .date(Int64($0)) }), (.decimal, { .string("\($0).0") }),
        ]
        for (type, value) in pairs {
            let bound = { (number: Int) in type == .decimal ? AttributeValue.string("\(number)") : value(number) }
            let attribute = self.attribute(type, minimum: bound(-9), maximum: bound(10))
            let reasons = [-10, -9, 0, 9, 10, 11].map { self.reason(value($0), attribute) }
            #expect(reasons == [.range, nil, nil, nil, nil, .range], "\(type)")
        }
        // Bounds of text are lengths in UTF-16 units, as in Core Data.
        let text = self.attribute(.string, minimum: .integer(1), maximum: .integer(2))
        #expect(
            ["", "a", "ab", "abc", "\u{1f600}", "\u{1f600}a"].map { self.reason(.string($0), text) } == [
                .range, nil, nil, .range, nil, .range,
            ]
        )
    }

    @Test func valuesAreStoredInCanonicalForm() {
        #expect(self.attribute(.decimal).kept(.string("1.50")) == .string("1.5"))
        #expect(self.attribute(.float).kept(.double(0.1)) == .double(Double(Float(0.1))))
        #expect(self.attribute(.double).kept(.double(-0.0)) == .double(0))
        #expect(self.attribute(.float).kept(.double(-0.0)) == .double(0))
        #expect(self.attribute(.string).kept(.string("1.50")) == .string("1.50"))
        for type in AttributeType.allCases { #expect(self.attribute(type).kept(.null) == .null) }
    }

    /// A type holds the values of a narrower type, but not of a wider one.
    @Test func typesHoldNarrowerTypes() {
        #expect(AttributeType.integer.holds(.integer16) && AttributeType.integer32.holds(.integer16))
        #expect(!AttributeType.integer16.holds(.integer) && !AttributeType.float.holds(.double))
        #expect(AttributeType.string.holds(.uri) && !AttributeType.uri.holds(.string))
        for type in AttributeType.allCases { #expect(type.holds(type)) }
    }
}
