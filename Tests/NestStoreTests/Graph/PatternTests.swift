import NestModel
import NestSchema
import NestStore
import NestTestSupport
import Testing

/// Attributes with a regular expression.
@Suite struct PatternTests {
    private let directory = TemporaryDirectory()

    private static func part(_ pattern: String?) -> ModelDraft {
        var part = EntityDraft(name: "Part")
        var code = AttributeDraft(name: "code", type: .string)
        code.isOptional = true
        code.pattern = pattern
        part.attributes = [code, .named("note", .string)]
        part.attributes[1].isOptional = true
        return ModelDraft(entities: [part])
    }

    private func open(_ pattern: String?) throws -> Store {
        try Store(
            .init(location: .file(self.directory.path + "/nest.sqlite"), model: Self.part(pattern).compile()),
            newHistoryID: Identifier128(high: 7, low: 8)
        )
    }

    private func message(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "not refused"
        } catch StoreError.refused(let error) {
            return error.message
        } catch {
            return "\(error)"
        }
    }

    /// The whole text must match; the refusal names the property, the value's beginning and the expression.
    @Test func textsMustMatchTheWholeExpression() throws {
        let store = try NamedStore(Self.part("[A-Z]{2}-[0-9]+").entities[0])
        let id = try store.insert("Part", ["code": .value(.string("AB-1")), "note": .value(.string("any"))])
        try store.perform(store.edit(.object(id), "Part", ["code": .value(.null)]))
        for text in ["ab-1", "AB-1 ", "xAB-1", "AB-", "AB-1\n"] {
            let insert = self.message { _ = try store.insert("Part", ["code": .value(.string(text))]) }
            let update = self.message {
                try store.perform(store.edit(.object(id), "Part", ["code": .value(.string(text))]))
            }
            let quoted = FetchPredicate.quoted(text)
            #expect(insert.contains("Part.code is \(quoted), which does not match \"[A-Z]{2}-[0-9]+\""), "\(insert)")
            #expect(update.contains("Part.code is \(quoted), which"), "\(update)")
        }
        let long = String(repeating: "x", count: 1_000)
        let text = self.message { _ = try store.insert("Part", ["code": .value(.string(long))]) }
        #expect(text.contains("\"\(String(repeating: "x", count: 40))\"…, which"), "\(text)")
        expectRefusal(.validationFailed) { _ = try store.insert("Part", ["code": .value(.string("x"))]) }
    }

    /// Random short texts against Swift's own matcher.
    @Test func expressionsAgreeWithANaiveMatcher() throws {
        for seed in 0..<40 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let pattern = RandomExpression(&random, letters: ["a", "b", "\u{e9}"]).text
            let store = try NamedStore(Self.part(pattern).entities[0])
            let expression = try Regex(pattern).matchingSemantics(.unicodeScalar)
            for _ in 0..<20 {
                let text = String((0..<random.below(6)).map { _ in random.pick(["a", "b", "\u{e9}"] as [Character]) })
                let isRefused =
                    self.message { _ = try store.insert("Part", ["code": .value(.string(text))]) } != "not refused"
                #expect(isRefused == (text.wholeMatch(of: expression) == nil), "seed \(seed): \(pattern) \(text)")
            }
        }
    }

    @Test(arguments: [
        ("(", "Part.code: its regular expression \"(\" is not valid: a ( is not closed"),
        ("(?=a)", "look-ahead and look-behind are not supported"), ("(a)\\1", "is a back-reference"),
        (String(repeating: ".{1000}", count: 9), "over 20000 instructions"),
        (String(repeating: "x", count: 1_025), "over 1024 bytes"),
    ])
    func aModelWithAnInvalidExpressionIsRefused(_ pattern: String, _ text: String) {
        let message = self.message { try self.open(pattern).close() }
        #expect(message.contains(text), "\(message)")
    }

    @Test func aDefaultMustMatch() {
        var draft = Self.part("[a-z]+")
        draft.entities[0].attributes[0].defaultValue = .string("A")
        let message = self.message {
            try Store(.init(location: .memory, model: draft.compile()), newHistoryID: Identifier128(high: 7, low: 8))
                .close()
        }
        #expect(message.contains("Part.code: its default is \"A\", which does not match"), "\(message)")
    }

    @Test func onlyTextsHaveExpressions() {
        var draft = Self.part(nil)
        draft.entities[0].attributes[0].type = .integer
        draft.entities[0].attributes[0].pattern = "1"
        #expect(self.message { _ = try draft.compile() }.contains("integer has no regular expression: it is for text"))
    }

    /// A new expression is checked against what the store has; none or the same needs no check.
    @Test func aMigrationChecksWhatIsThere() throws {
        var store = try self.open(nil)
        let part = try #require(store.layout.model.entity(named: "Part"))
        func insert(_ text: String) throws -> ObjectID {
            let value = PropertyAssignment(part.attributes[0].number, .value(.string(text)))
            return try MigrationTests.perform(store, [.insert(entity: part.number, values: [value], placements: [])])[0]
        }
        _ = try insert("AB-1")
        let wrong = try insert("ab-1")
        _ = try insert("zz")
        try store.close()
        let refused = self.message { try self.open("[A-Z]+-[0-9]+").close() }
        #expect(
            refused.contains("Part.code has a new regular expression, but 2 values do not match: one is "),
            "\(refused)"
        )
        store = try self.open("[A-Za-z]+(-[0-9]+)?")
        let value = PropertyAssignment(part.attributes[0].number, .value(.string("AB-7")))
        _ = try MigrationTests.perform(store, [.update(.object(wrong), values: [value])])
        #expect(self.message { _ = try insert("7") }.contains("does not match"))
        try store.close()
        store = try self.open(nil)
        _ = try insert("7")
        try store.close()
    }
}
