import NestModel
import NestTestSupport
import Testing
import NestProtocol

@Suite struct VectorTests {
    @Test(arguments: try Vectors.list("values"))
    func valuesAreReadAndWritten(_ vector: JSONValue) throws {
        let bytes = try Hex.bytes(vector["hex"].text)
        let isCanonical = vector.optional("decodesOnly") == nil
        var writer = ByteWriter()
        switch try vector["kind"].text {
        case "varint":
            let value = try readWhole(bytes) { (reader) throws(DecodingFailure) in try reader.varint("number") }
            #expect(String(value) == (try vector["value"].text))
            writer.write(varint: value)
        case "zigzag":
            let value = try readWhole(bytes) { (reader) throws(DecodingFailure) in try reader.zigzag("number") }
            #expect(String(value) == (try vector["value"].text))
            writer.write(zigzag: value)
        default:
            let value = try readWhole(bytes) { (reader) throws(DecodingFailure) in try reader.value("value") }
            #expect(value == (try vector["value"].attributeValue))
            writer.write(value: value)
        }
        #expect((writer.bytes == bytes) == isCanonical)
    }

    @Test(arguments: try Vectors.list("digests"))
    func digestsMatchTheVectors(_ vector: JSONValue) throws {
        switch try vector["kind"].text {
        case "section":
            let key = try vector["key"].attributeValue
            #expect(ResultsDigest.sectionHash(key) == (try vector["hash"].unsigned))
            #expect(fnv1a(try Hex.bytes(vector["keyBytes"].text)) == (try vector["hash"].unsigned))
        case "row":
            let object = ObjectID(try vector["object"].whole)
            let hash = ResultsDigest.rowHash(sectionHash: try vector["sectionHash"].unsigned, object: object)
            #expect(hash == (try vector["hash"].unsigned))
        case "digest":
            let sections = try vector["sections"].elements.map { json in
                let first = try json.optional("firstRow")?.int
                let ids =
                    try first.map { try Array($0..<$0 + json["rowCount"].int) }
                    ?? json["rows"].elements.map { try $0.int }
                return ResultsSection(
                    key: try json["key"].attributeValue,
                    rows: ids.map { Row(id: ObjectID(Int64($0)), values: []) }
                )
            }
            let snapshot = SectionedSnapshot(revision: Revision(0), projection: [], sections: sections)
            #expect(ResultsDigest.text(snapshot.digest) == (try vector["digest"].text))
        case "checksum":
            var checksum = SubtreeChecksum()
            for chunk in try vector["chunks"].elements { checksum.add(try Hex.bytes(chunk.text)) }
            #expect(Hex.text(checksum.value) == (try vector["checksum"].text))
        case "model":
            #expect(ManagedObjectModel.nestedList.hash == (try vector["hash"].unsigned))
        case let kind:
            Issue.record("unknown kind \(kind)")
        }
    }

    /// The bytes decode to the diff, and the diff turns the old state into the new one.
    @Test(arguments: try Vectors.list("diffs"))
    func diffsTurnOldIntoNew(_ vector: JSONValue) throws {
        let old = try vector["old"].snapshot
        let new = try vector["new"].snapshot
        let bytes = try Hex.bytes(vector["hex"].text)
        let diff = try readWhole(bytes) { (reader) throws(DecodingFailure) in
            try reader.diff(valueCount: old.projection.count, hasWindow: old.window != nil)
        }
        #expect(JSONValue(diff) == (try vector["diff"]))
        #expect(diff == (try vector["diff"].diff))
        var writer = ByteWriter()
        writer.write(diff: diff)
        #expect(writer.bytes == bytes)

        var state = old
        try state.apply(diff)
        #expect(state == new)
        #expect(state.digest == diff.digest)
        #expect(JSONValue(state) == (try vector["new"]))
        #expect(NaiveDiff.apply(diff, to: old) == new)
    }

    /// A diff that does not fit is refused for the expected reason, and the state is unchanged.
    @Test(arguments: try Vectors.negative("apply"))
    func diffsThatDoNotFitAreRefused(_ vector: Vectors.Negative) throws {
        let old = try vector.json["old"].snapshot
        let diff = try vector.json["diff"].diff
        let expected = try vector.json["expect"].text
        var state = old
        if expected == "digest" {
            try state.apply(diff)
            #expect(state.digest != diff.digest)
            return
        }
        let mismatch = #expect(throws: DiffMismatch.self) { try state.apply(diff) }
        switch mismatch {
        case .revision: #expect(expected == "revision")
        case .coordinates: #expect(expected == "coordinates")
        case .total: #expect(expected == "total")
        case .unknownProperty: #expect(expected == "property")
        case nil: break
        }
        #expect(state == old)
        #expect(NaiveDiff.apply(diff, to: old) == nil)
    }
}
