import Foundation
import NestModel
import NestTestSupport
import NestProtocol
import Testing

/// The tables and bytes of `protocol.md` match the code.
@Suite struct ProtocolDocumentTests {
    private let document: MarkdownDocument

    init() throws {
        self.document = MarkdownDocument(try Repository.text("protocol.md"))
    }

    /// Each quoted vector has the bytes of the vector file, and each message type is quoted.
    @Test func everyMessageTypeIsQuotedWithAVector() throws {
        let vectors = Dictionary(uniqueKeysWithValues: try Vectors.frames().map { ($0.name, $0) })
        var types: Set<String> = []
        for block in self.document.blocks where block.label.hasPrefix("vector ") {
            let name = String(block.label.dropFirst("vector name=".count))
            let vector = try #require(vectors[name], "no vector \(block.label)")
            #expect(try Hex.bytes(block.lines.joined()) == vector.bytes, "\(name)")
            types.insert(vector.type)
        }
        #expect(types == Set(MessageType.allCases.map { "\($0)" }))
    }

    /// The conversation of the overview is a preface, then frames, for each side.
    @Test func theConversationConsistsOfVectors() throws {
        let block = try #require(self.document.blocks.first { $0.lines.first?.hasPrefix("C  4e455354") == true })
        var sent: [Character: [UInt8]] = [:]
        var side: Character = "C"
        for line in block.lines {
            if let first = line.first, first != " " { side = first }
            sent[side, default: []] += try Hex.bytes(String(line.dropFirst()))
        }
        let vectors = Dictionary(uniqueKeysWithValues: try Vectors.frames().map { ($0.name, $0.bytes) })
        func bytes(_ names: String...) throws -> [UInt8] { try names.flatMap { try #require(vectors[$0]) } }
        #expect(try sent["C"] == Preface.client.bytes + bytes("hello", "subscribe", "transaction", "pong"))
        let server = try bytes(
            "welcome",
            "subscribed",
            "snapshot",
            "snapshot-rows",
            "diff-insert",
            "progress",
            "receipt",
            "ping"
        )
        #expect(sent["S"] == Preface.server(chosen: 1).bytes + server)
    }

    @Test func theCatalogueMatchesTheCode() throws {
        let table = try self.document.table("type", "name", "sent by", "id", "kind", "section")
        let documented = table.rows.map { "\($0[0]) \($0[1])" }
        let expected = MessageType.allCases.map { type in
            (type.rawValue < 16 ? "0" : "") + String(type.rawValue, radix: 16) + " " + Self.name(type)
        }
        #expect(documented == expected)
        // The vectors name the side that sends the message.
        for vector in try Vectors.frames() {
            let type = try #require(MessageCatalogue.type(named: vector.type))
            let row = try #require(table.rows.first { $0[1] == Self.name(type) })
            #expect(row[2].contains(vector.direction == "client" ? "c" : "s"), "\(vector.name)")
        }
    }

    @Test func theErrorsMatchTheCode() throws {
        let table = try self.document.table("code", "name", "retry", "when")
        let expected = ErrorCode.all.map { code in
            let digits = String(code.rawValue, radix: 16)
            let hex = String(repeating: "0", count: 4 - digits.utf8.count) + digits
            return "\(hex) \(code) \(code.retry.rawValue)"
        }
        #expect(table.rows.map { "\($0[0]) \($0[1]) \($0[2])" } == expected)
        #expect(table.rows.allSatisfy { !$0[3].isEmpty })
    }

    /// Compares with `Limits.all`, because a list here would be a third copy.
    @Test func theLimitsMatchTheCode() throws {
        let table = try self.document.table("limit", "value", "what")
        #expect(table.rows.count > 40)
        #expect(
            Limits.all.map { [$0.name, String($0.value), $0.what] }
                == table.rows.map { [$0[0], $0[1].filter { $0 != "," }, $0[2]] }
        )
    }

    @Test func theFeaturesMatchTheCode() throws {
        let table = try self.document.table("feature bit", "what")
        let bits = try table.rows.map { UInt64(1) << (try #require(UInt64($0[0]))) }
        #expect(Features(rawValue: bits.reduce(0, |)) == .all)
    }

    @Test func theTypesAndFaultsMatchTheCode() throws {
        let types = try self.document.table("type", "name", "values", "bounds")
        #expect(types.rows.map { "\($0[0]) \($0[1])" } == AttributeType.allCases.map { "\($0.rawValue) \($0)" })
        let reasons = try self.document.table("reason", "name", "what is wrong")
        let known = ValidationFault.Reason.allCases.filter { $0 != .other }
        #expect(reasons.rows.map { "\($0[0]) \($0[1])" } == known.map { "\($0.rawValue) \($0)" })
    }

    /// The example client of the document expects the hash of the built-in model.
    @Test func theClientExpectsTheBuiltInModel() throws {
        let hash = Hex.text(ManagedObjectModel.nestedList.hash)
        #expect(try Repository.text("protocol.md").contains("field(5, bytes.fromhex(\"\(hash)\"))"))
    }

    @Test func theValuesMatchTheCode() throws {
        for row in try self.document.table("value", "bytes").rows {
            let json = try JSONDecoder().decode(JSONValue.self, from: Data(row[0].utf8))
            var writer = ByteWriter()
            writer.write(value: try json.attributeValue)
            #expect(writer.bytes == (try Hex.bytes(row[1])), "\(row[0])")
        }
        for row in try self.document.table("number", "bytes").rows {
            var writer = ByteWriter()
            writer.write(varint: try #require(UInt64(row[0])))
            #expect(writer.bytes == (try Hex.bytes(row[1])), "\(row[0])")
        }
    }

    @Test func theDigestsMatchTheCode() throws {
        for row in try self.document.table("section key", "object ids", "digest").rows {
            var digest = ResultsDigest.empty
            for (key, ids) in zip(row[0].components(separatedBy: " / "), row[1].components(separatedBy: " / ")) {
                let key = try JSONDecoder().decode(JSONValue.self, from: Data(key.utf8)).attributeValue
                for id in ids.components(separatedBy: ", ") where id != "–" {
                    let object = ObjectID(try #require(Int64(id)))
                    digest.append(sectionHash: ResultsDigest.sectionHash(key), object: object)
                }
            }
            #expect(digest.description == row[2], "\(row[0]): \(row[1])")
        }
        let text = try Repository.text("protocol.md")
        #expect(text.contains("B = 0x0" + String(ResultsDigest.base, radix: 16)))
        #expect(ResultsDigest.modulus == (1 << 61) - 1 && text.contains("M = 2^61 - 1"))
    }

    /// Every name in capitals with an underscore is the name of an error, a message or a variable.
    @Test func namesInCapitalsExist() throws {
        let text = try Repository.text("protocol.md")
        let names = ErrorCode.all.map { "\($0)" } + MessageType.allCases.map(Self.name)
        let known = Set(names + [RequestDescription.sourceVariable])
        for match in text.matches(of: /\b[A-Z]+(?:_[A-Z]+)+\b/) {
            #expect(known.contains(String(match.0)), "\(match.0)")
        }
    }

    // MARK: Helpers

    /// Returns the type's name in the document: `GET_HISTORY` for `getHistory`. GOAWAY is one word.
    private static func name(_ type: MessageType) -> String {
        if type == .goAway { return "GOAWAY" }
        return "\(type)".reduce(into: "") { name, character in
            if character.isUppercase { name += "_" }
            name += character.uppercased()
        }
    }

    /// Returns the value of an expression of literals. As in Swift, `<<` binds tighter than `*`, and `*` than `-`.
    private static func value(_ expression: String) throws -> Int {
        func fold(_ text: String, _ operators: [(String, (Int, Int) -> Int)]) throws -> Int {
            guard let (name, combine) = operators.first else {
                guard let value = Int(text.filter { $0 != "_" }) else { throw VectorError("not a number: \(text)") }
                return value
            }
            let parts = try text.components(separatedBy: " \(name) ").map { try fold($0, Array(operators.dropFirst())) }
            return parts.dropFirst().reduce(parts[0], combine)
        }
        return try fold(expression, [("-", { $0 - $1 }), ("*", { $0 * $1 }), ("<<", { $0 << $1 })])
    }
}
