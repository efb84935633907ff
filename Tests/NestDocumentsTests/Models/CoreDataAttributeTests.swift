@testable import NestDocuments
import NestModel
import NestTestSupport
import Testing

@Suite struct CoreDataAttributeTests {
    private func attribute(_ xml: String) throws -> AttributeDraft {
        let document = try readModel(Samples.thing("<attribute name=\"a\" \(xml)/>"))
        return try #require(document.draft.entities.first?.attributes.first)
    }

    private func warnings(_ xml: String) throws -> [String] {
        try readModel(Samples.thing("<attribute name=\"a\" \(xml)/>")).warnings
    }

    private func fault(_ xml: String) -> String {
        faults(Samples.thing("<attribute name=\"a\" \(xml)/>")).joined(separator: "|")
    }

    @Test(arguments: [
        ("Integer 16", AttributeType.integer16), ("Integer 32", .integer32), ("Integer 64", .integer),
        ("Double", .double),
        ("Float", .float), ("Decimal", .decimal), ("String", .string), ("Boolean", .boolean), ("Date", .date),
        ("Binary", .data), ("UUID", .uuid), ("URI", .uri), ("Transformable", .data),
    ])
    func everyTypeIsRead(_ name: String, _ type: AttributeType) throws {
        let attribute = try self.attribute("attributeType=\"\(name)\"")
        #expect(attribute.type == type)
        // As in Core Data, a missing `optional` is NO, and an insert must specify a scalar without a default.
        #expect(!attribute.isOptional && attribute.defaultValue.isNull)
        #expect(try self.attribute("optional=\"YES\" attributeType=\"\(name)\"").isOptional)
        let warnings = try self.warnings("attributeType=\"\(name)\"")
        #expect(warnings.isEmpty == (name != "Transformable"))
    }

    @Test(arguments: [
        ("Integer 16", "-7", AttributeValue.integer(-7)), ("Integer 32", "0.0", .integer(0)),
        ("Integer 64", "9007199254740993", .integer(9_007_199_254_740_993)),
        ("Double", "0.25", .double(0.25)), ("Float", "0.5", .double(0.5)), ("Decimal", "12.50", .string("12.5")),
        ("String", "nil", .string("nil")), ("String", "", .string("")), ("Boolean", "YES", .boolean(true)),
        ("Boolean", "NO", .boolean(false)), ("Boolean", "1", .boolean(true)), ("Boolean", "0", .boolean(false)),
        ("UUID", "00000000-0000-0000-0000-0000000000ff", .uuid(Identifier128(high: 0, low: 255))),
        ("URI", "https://example.org", .string("https://example.org")), ("UUID", "", .null), ("Integer 16", "", .null),
        ("URI", "", .null),
    ])
    func defaultsAreRead(_ type: String, _ text: String, _ value: AttributeValue) throws {
        #expect(try self.attribute("attributeType=\"\(type)\" defaultValueString=\"\(text)\"").defaultValue == value)
    }

    @Test func datesCountFrom2001() throws {
        let microseconds = try #require(DateText.microseconds("2012-07-01T14:26:02.79173Z"))
        let date = try self.attribute("attributeType=\"Date\" defaultDateTimeInterval=\"362845562.79173\"")
        #expect(date.defaultValue == .date(microseconds))
        let early = try self.attribute("attributeType=\"Date\" defaultDateTimeInterval=\"-978307200.5\"")
        #expect(early.defaultValue == .date(-500_000))
        let text = try self.attribute("attributeType=\"Date\" defaultValueString=\"2001-01-01 02:00:00 +0200\"")
        #expect(text.defaultValue == .date(978_307_200_000_000))
        let both = "attributeType=\"Date\" defaultDateTimeInterval=\"0\" defaultValueString=\"now\""
        #expect(try self.attribute(both).defaultValue == .date(978_307_200_000_000))
        #expect(try self.warnings(both).joined().contains("nest.default"))
        // Programs other than Xcode write this; Core Data ignores it.
        #expect(try self.attribute("attributeType=\"Date\" defaultValueString=\"NO\"").defaultValue == .null)
        #expect(try self.warnings("attributeType=\"Date\" defaultValueString=\"NO\"").count == 1)
        for text in ["soon", "1e300"] {
            let wrong = "attributeType=\"Date\" defaultDateTimeInterval=\"\(text)\""
            #expect(try self.attribute(wrong).defaultValue == .null)
            #expect(
                try self.warnings(wrong) == [
                    "Thing.a: its default '\(text)' is not a value of the type date and is ignored: an insert must set the attribute"
                ]
            )
        }
    }

    @Test func boundsAreRead() throws {
        let number = try self.attribute(
            "attributeType=\"Integer 64\" minValueString=\"1\" maxValueString=\"9223372036854775807\""
        )
        #expect(number.minimum == .integer(1) && number.maximum == .integer(.max))
        let text = try self.attribute("attributeType=\"String\" minValueString=\"1\" maxValueString=\"64\"")
        #expect(text.minimum == .integer(1) && text.maximum == .integer(64))
        let date = try self.attribute("attributeType=\"Date\" minDateTimeInterval=\"0\" maxDateTimeInterval=\"120\"")
        #expect(date.minimum == .date(978_307_200_000_000) && date.maximum == .date(978_307_320_000_000))
        let decimal = try self.attribute("attributeType=\"Decimal\" minValueString=\"0.50\"")
        #expect(decimal.minimum == .string("0.5"))
        #expect(try self.attribute("attributeType=\"Boolean\" minValueString=\"0\"").minimum == .null)
        #expect(try self.warnings("attributeType=\"Boolean\" minValueString=\"0\"").count == 1)
        #expect(
            self.fault("attributeType=\"Integer 16\" minValueString=\"5\" maxValueString=\"4\"").contains(
                "above its maximum"
            )
        )
    }

    @Test func unsupportedAttributesAreRefusedByName() {
        #expect(self.fault("attributeType=\"Composite\"").contains("composite"))
        #expect(self.fault("").contains("without a type"))
        #expect(self.fault("attributeType=\"ObjectID\"").contains("ObjectID"))
        #expect(self.fault("attributeType=\"String\" optional=\"perhaps\"").contains("YES or NO"))
        #expect(faults(Samples.thing("<attribute attributeType=\"String\"/>")) == ["Thing: an attribute has no name"])
    }

    @Test func transientAndDerivedAttributesAreLeftOutEverywhere() throws {
        let document = try readModel(
            Samples.thing(
                """
                <attribute name="kept" attributeType="String"/>
                <attribute name="shown" optional="YES" transient="YES"/>
                <attribute name="sum" optional="YES" attributeType="Double" derived="YES" derivationExpression="a.@sum.b"/>
                <fetchIndex name="i"><fetchIndexElement property="kept" type="Binary" order="ascending"/>
                <fetchIndexElement property="shown" type="Binary" order="ascending"/></fetchIndex>
                <uniquenessConstraints><uniquenessConstraint><constraint value="kept"/><constraint value="sum"/>
                </uniquenessConstraint></uniquenessConstraints>
                """
            )
        )
        let entity = document.draft.entities[0]
        #expect(entity.attributes.map(\.name) == ["kept"])
        #expect(entity.indexes == [["kept"]] && entity.uniquenessConstraints.isEmpty)
        #expect(document.warnings.count == 4, "\(document.warnings)")
        for name in ["Thing.shown", "Thing.sum", "fetch index i", "kept, sum"] {
            #expect(document.warnings.contains { $0.contains(name) }, "\(name)")
        }
    }

    /// Xcode keeps the default of an earlier type, and builds with it.
    @Test(arguments: [
        ("Integer 64", "NO", AttributeValue.integer(0), "0 is used"), ("Integer 16", "YES", .integer(1), "1 is used"),
        ("Boolean", "0.0", .boolean(false), "false is used"), ("Boolean", "100", .boolean(true), "true is used"),
        ("Double", "YES", .double(1), "1 is used"), ("Decimal", "NO", .string("0"), "\"0\" is used"),
        ("UUID", "empy", .null, "is not a value of the type uuid and is ignored"),
        ("Integer 32", "many", .null, "is not a value of the type integer32 and is ignored"),
        ("Integer 32", "1.5", .null, "is ignored"), ("Integer 64", "1e300", .null, "is ignored"),
        ("Boolean", "nan", .null, "is ignored"),
        ("Float", "1e300", .null, "is beyond the range of a float and is ignored"),
        ("Integer 16", "40000", .null, "is beyond the range of 16 bits and is ignored"),
        ("URI", "not a uri", .null, "and is ignored: an insert must set the attribute"),
    ])
    func leftOverDefaultsAreWarnings(_ type: String, _ text: String, _ value: AttributeValue, _ words: String) throws {
        let xml = "attributeType=\"\(type)\" defaultValueString=\"\(text)\""
        #expect(try self.attribute(xml).defaultValue == value)
        let warnings = try self.warnings(xml)
        #expect(warnings.count == 1 && warnings[0].hasPrefix("Thing.a: its default '\(text)'"), "\(warnings)")
        #expect(warnings.first?.contains(words) == true, "\(warnings)")
        #expect(self.fault(xml).isEmpty)
    }

    @Test func defaultsOutsideTheBoundsAreWarnings() throws {
        let xml = "attributeType=\"Integer 16\" maxValueString=\"4\" defaultValueString=\"5\""
        #expect(try self.attribute(xml).defaultValue == .null)
        let warning = "Thing.a: its default '5' must be at most 4 and is ignored"
        #expect(try self.warnings(xml) == ["\(warning): an insert must set the attribute"])
        #expect(try self.warnings("optional=\"YES\" " + xml) == [warning])
    }

    @Test(arguments: [
        ("Integer 16", "min", "few", "is not a value of the type integer16"), ("Double", "max", "NO", "is not a value"),
        ("String", "min", "-5", "is not a number of characters"), ("String", "max", "long", "is not a number of"),
        ("Boolean", "max", "1", "boolean has none"), ("UUID", "min", "1", "uuid has none"),
    ])
    func leftOverBoundsAreWarnings(_ type: String, _ side: String, _ text: String, _ words: String) throws {
        let xml = "attributeType=\"\(type)\" \(side)ValueString=\"\(text)\""
        let attribute = try self.attribute(xml)
        #expect(attribute.minimum == .null && attribute.maximum == .null)
        let warnings = try self.warnings(xml)
        #expect(warnings.count == 1 && warnings[0].contains("\(side)ValueString '\(text)' "), "\(warnings)")
        #expect(warnings.first?.contains(words) == true, "\(warnings)")
    }

    @Test func regularExpressionsAreRead() throws {
        let xml = "attributeType=\"String\" regularExpressionString=\"[a-z]+\""
        #expect(try self.attribute(xml).pattern == "[a-z]+")
        #expect(try self.warnings(xml).isEmpty)
        let number = "attributeType=\"Integer 16\" regularExpressionString=\"[a-z]+\""
        #expect(try self.attribute(number).pattern == nil)
        #expect(try self.warnings(number) == ["Thing.a: the regular expression '[a-z]+' is ignored: it is for text"])
    }

    /// What RE2 has in another form is written so; what it does not have is a warning, and the model loads.
    @Test(arguments: [
        (#"\d{3}-\w+"#, #"\p{Nd}{3}-[\p{L}\p{M}\p{Nd}\p{Pc}]+"#),
        (#"[\w.]+@\S+"#, #"[\p{L}\p{M}\p{Nd}\p{Pc}.]+@[^\s\x{b}\x{85}\p{Z}]+"#),
        (#"\u00e9\h"#, #"\x{e9}[\t\p{Zs}]"#), ("(?<year>a)(?#note)b", "(?P<year>a)b"), ("(?i)a+?b??", "(?i)a+?b??"),
        (#"\Q\d*\E\.\D"#, #"\Q\d*\E\.\P{Nd}"#), ("[[:alpha:]a-c-]", "[[:alpha:]a-c-]"), (#"a\Z"#, #"a\z"#), ("", ""),
    ])
    func regularExpressionsAreTranslated(_ icu: String, _ re2: String) throws {
        #expect(try ICUPattern.translated(icu) == re2)
    }

    @Test(arguments: [
        ("(?=a)b", "look-ahead"), ("a(?!b)", "look-ahead"), ("(?<=a)b", "look-behind"), ("(?<!a)b", "look-behind"),
        (#"(a)\1"#, "a back-reference"), (#"(?<n>a)\k<n>"#, "a back-reference"), ("(?>a)", "an atomic group"),
        ("a*+", "a possessive repetition"), ("a{2}+", "a possessive repetition"), ("[a[bc]]", "a class within a class"),
        ("[a-z&&[^b]]", "the set operation &&"), (#"[\W]"#, #"\W within a class"#), (#"\X"#, #"\X"#),
        ("(?x)a", "the flag (?x)"), (#"\u12"#, "an incomplete code"),
    ])
    func constructsWithoutAnEquivalentAreNamed(_ icu: String, _ what: String) throws {
        let error = #expect(throws: ICUPattern.Fault.self) { try ICUPattern.translated(icu) }
        #expect(error?.text == what)
        let escaped = icu.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        let xml = "attributeType=\"String\" regularExpressionString=\"\(escaped)\""
        #expect(try self.attribute(xml).pattern == nil)
        let expected =
            "Thing.a: nest does not check the regular expression '\(icu)', which has \(what): clients have to"
        #expect(try self.warnings(xml) == [expected])
    }

    /// A translation never fails in another way, whatever the text.
    @Test func anyTextIsTranslatedOrRefused() {
        for seed in 0..<500 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let signs = Array("\\[]()?+*{}<>=!:&-^|.#adwsSWuUQEkx1,é")
            let text = String((0..<random.below(12)).map { _ in signs.randomElement(using: &random)! })
            if let translated = try? ICUPattern.translated(text) {
                #expect((try? ICUPattern.translated(text)) == translated, "seed \(seed): \(text)")
            }
        }
    }

    @Test func renamingIdentifiersAreRead() throws {
        #expect(try self.attribute("attributeType=\"String\" elementID=\"old\"").renamedFrom == "old")
        #expect(try self.attribute("attributeType=\"String\" renamingIdentifier=\"old\"").renamedFrom == "old")
        #expect(try self.attribute("attributeType=\"String\" elementID=\"a\"").renamedFrom == nil)
    }

    @Test func clientOnlyAttributesGiveNoWarning() throws {
        let quiet = """
            attributeType="Binary" usesScalarValueType="NO" syncable="YES" spotlightIndexingEnabled="YES" \
            allowsExternalBinaryDataStorage="YES" storedInTruthFile="YES" versionHashModifier="2" \
            preservesValueInHistoryOnDeletion="YES" allowsCloudEncryption="YES" customClassName="X"
            """
        #expect(try self.warnings(quiet).isEmpty)
        #expect(
            try self.warnings("attributeType=\"String\" defaultValue=\"x\"") == [
                "Thing.a: the XML attribute defaultValue of <attribute> is not known and is ignored"
            ]
        )
    }
}
