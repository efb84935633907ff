import NestModel
import NestProtocol
import NestTestSupport

/// The fields of the messages of large values.
extension PutValue: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "type": .string("\(self.valueType)"), "length": JSONValue(count: self.length),
            "digest": .string(Hex.text(self.digest)),
        ]
    }
}

extension GetValue: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "atLeast": JSONValue(self.atLeast), "object": JSONValue(count: Int(self.object.rawValue)),
            "property": JSONValue(count: Int(self.property.rawValue)), "offset": JSONValue(count: self.offset),
        ]
    }
}

extension ValueMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "revision": JSONValue(self.revision), "type": .string("\(self.valueType)"),
            "value": .string(Hex.text(self.value.bytes)),
        ]
    }
}
