import NestModel
import NestProtocol
import NestTestSupport
import Testing

/// `Tests/Vectors/refusals.json`: an ERROR of every code.
@Suite struct RefusalVectorTests {
    @Test func refusalsAreAsInTheVectors() throws {
        var file = VectorFile("refusals", about: Self.about)
        file.add("cases", JSONValue(list: try Self.messages.map(Self.vector) + [Self.unknown()]))
        if let difference = try file.difference() { Issue.record("\(difference)") }
    }

    private static let about = """
        Bodies of ERROR (section 14 of protocol.md), one of every code and some with details. hex: the body. retry: what \
        the client may do. retryAfter: milliseconds. object, faults, leader and column are the details, left out if they \
        are not there. The last one has a code, a retry (9) and a detail that this version does not know: a client reads \
        an unknown retry as 3.
        """

    private static let messages: [ErrorMessage] = {
        var messages = ErrorCode.all.map { ErrorMessage(NestError($0, "refused: \($0)")) }
        messages.append(
            ErrorMessage(NestError(.busy, "try later"), retryAfterMilliseconds: 250)
        )
        messages.append(ErrorMessage(NestError(.notFound, "no object 90210", object: ObjectID(90_210))))
        messages.append(ErrorMessage(NestError(.notLeader, "a leads", leader: "a.example:7000")))
        let faults = ValidationFault.Reason.allCases.enumerated().map { index, reason in
            ValidationFault(
                entity: EntityNumber(2),
                property: index % 3 == 0 ? nil : PropertyNumber(4),
                object: index % 2 == 0 ? nil : ObjectID(11),
                reason: reason,
                message: "Person.age: \(reason)"
            )
        }
        messages.append(ErrorMessage(NestError(.validationFailed, "several faults", faults: faults)))
        messages.append(
            ErrorMessage(NestError(.invalidPredicate, "Person has no property 'nmae': did you mean name?", column: 17))
        )
        messages.append(
            ErrorMessage(NestError(.notUnique, "t\u{e9}xt", object: ObjectID(5), faults: [faults[0]]))
        )
        return messages
    }()

    private static func vector(_ message: ErrorMessage) throws -> JSONValue {
        let bytes = message.body
        #expect(try Self.read(bytes) == message)
        return Self.json(message, bytes)
    }

    private static func read(_ bytes: [UInt8]) throws -> ErrorMessage {
        try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in try ErrorMessage(from: &reader) }
    }

    /// A code, a retry class and a detail that no version knows yet.
    private static func unknown() throws -> JSONValue {
        var writer = ByteWriter()
        writer.write(integer: 0x04f0 as UInt16)
        writer.write(byte: 9)
        writer.write(count: 100)
        writer.write(string: "from a later version")
        var fields = TaggedFields()
        fields.add(1) { $0.write(objectID: ObjectID(7)) }
        fields.add(50) { $0.write(string: "what is this") }
        fields.encode(into: &writer)
        let read = try Self.read(writer.bytes)
        #expect(read.retry == .unknownOutcome && read.error.object == ObjectID(7))
        return Self.json(read, writer.bytes)
    }

    private static func json(_ message: ErrorMessage, _ bytes: [UInt8]) -> JSONValue {
        var members: [String: JSONValue] = [
            "name": .string("\(message.error.code)"), "code": .integer(Int64(message.error.code.rawValue)),
            "retry": .integer(Int64(message.retry.rawValue)),
            "retryAfter": JSONValue(count: message.retryAfterMilliseconds), "text": .string(message.error.message),
            "hex": .string(Hex.text(bytes)),
        ]
        if let object = message.error.object { members["object"] = .integer(object.rawValue) }
        if let leader = message.error.leader { members["leader"] = .string(leader) }
        if let column = message.error.column { members["column"] = JSONValue(count: column) }
        if !message.error.faults.isEmpty {
            members["faults"] = JSONValue(
                list: message.error.faults.map { fault in
                    [
                        "entity": .integer(Int64(fault.entity.rawValue)),
                        "property": fault.property.map { JSONValue($0) } ?? 0,
                        "object": .integer(fault.object?.rawValue ?? 0),
                        "reason": .integer(Int64(fault.reason.rawValue)), "text": .string(fault.message),
                    ]
                }
            )
        }
        return .object(members)
    }
}
