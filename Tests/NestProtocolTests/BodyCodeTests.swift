import NestModel
import NestTestSupport
import NestProtocol
import Testing

/// `protocol.md` states the error code for each mistake in a body, as the negative vectors do.
@Suite struct BodyCodeTests {
    private static let codes = ["MALFORMED", "LIMIT_EXCEEDED", "UNSUPPORTED", "INVALID_TEXT", "VALUE_TOO_LARGE"]

    /// Every example of the table is a vector with the code of its row, and every code of a body has a row.
    @Test func theTableOfCodesMatchesTheVectors() throws {
        let document = MarkdownDocument(try Repository.text("protocol.md"))
        let table = try document.table("what is wrong in a body", "code", "examples")
        let vectors = try Vectors.negative("message") + Vectors.negative("value")
        var names: Set<String> = []
        for row in table.rows {
            for name in row[2].split(separator: ", ").map(String.init) {
                let vector = try #require(vectors.first { $0.name == name }, "no vector \(name)")
                #expect(try vector.json["expect"].text == row[1], "\(name)")
                names.insert(name)
            }
        }
        #expect(names.count > 30)
        #expect(Set(table.rows.map { $0[1] }) == Set(Self.codes))
        #expect(try Set(vectors.map { try $0.json["expect"].text }) == Set(Self.codes))
    }

    /// `protocol.md` states the same limits of lists as the code.
    @Test func theLimitsOfListsMatchTheCode() throws {
        let text = try Repository.text("protocol.md")
        for (number, what) in [
            (Limits.propertiesPerEntityMax, "assignments, and as many placements"),
            (Limits.propertiesPerEntityMax + 3 + Limits.columnsMax, "properties of a projection or a transfer"),
            (Limits.sortKeysMax, "sort keys"), (Limits.columnsMax, "columns;"),
            (Limits.totalsMax, "totals;"),
            (Limits.predicateNodesMax, "nodes of a predicate"),
            (Limits.entitiesPerModelMax, "entities of SUBSCRIBE_CHANGES"),
            (Limits.requestsInFlightPerConnectionMax, "revisions of OWN"),
        ] {
            #expect(text.contains("\(number.grouped) \(what)"), "\(what)")
        }
    }

    /// A path of four relationships is accepted with any leaf. A fifth relationship is refused, whether the path
    /// follows or counts it.
    @Test func pathsOfMoreThanFourRelationshipsAreRefused() throws {
        let step = PropertyNumber(5)
        func code(_ steps: Int, _ leaf: PropertyPath.Leaf) throws -> ErrorCode? {
            var writer = ByteWriter()
            writer.write(path: PropertyPath(steps: Array(repeating: step, count: steps), leaf: leaf))
            do {
                _ = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in try reader.propertyPath() }
                return nil
            } catch let failure as DecodingFailure {
                return failure.code
            }
        }
        #expect(try code(4, .object) == nil && code(4, .attribute(step)) == nil && code(3, .count(step)) == nil)
        for (steps, leaf) in [(5, .object), (5, .attribute(step)), (4, .count(step)), (400, .object)]
            as [(Int, PropertyPath.Leaf)]
        {
            #expect(try code(steps, leaf) == .malformed)
        }
    }

    /// As `protocol.md` specifies, folding treats each scalar separately and removes diacritics first.
    @Test func foldingTreatsEachScalarSeparately() {
        #expect(TextFolding.caseInsensitive.fold("ΑΣ") == "ασ")
        #expect(TextFolding([.caseInsensitive, .diacriticInsensitive]).fold("\u{1fb3}") == "\u{3b1}")
    }
}

extension Int {
    /// The number in decimal, with a comma before each group of three digits.
    fileprivate var grouped: String {
        self < 1_000 ? "\(self)" : "\((self / 1_000).grouped),\(String("\(self)".suffix(3)))"
    }
}
