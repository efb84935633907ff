import NestModel

/// Sends a large value: its bytes follow in SUBTREE_CHUNKs under the same id, then SUBTREE_END with the number of
/// bytes. The reply is VALUE. No object has the value until a TRANSACTION of the session sets it.
package struct PutValue: Message, Equatable {
    package static let type = MessageType.putValue
    package var valueType: AttributeType
    package var length: Int
    /// The SHA-256 of the bytes.
    package var digest: [UInt8]

    package init(_ valueType: AttributeType, length: Int, digest: [UInt8]) {
        self.valueType = valueType
        self.length = length
        self.digest = digest
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.valueType = try reader.largeType()
        self.length = try reader.index("length")
        guard self.length <= Limits.largeValueBytesMax else { throw DecodingFailure(.limit, "length") }
        self.digest = Array(try reader.raw(count: LargeValue.digestBytes, "digest"))
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(byte: self.valueType.rawValue)
        writer.write(count: self.length)
        writer.write(raw: self.digest)
    }
}

/// Requests the bytes of a large value from an offset on. The server answers with VALUE, chunks under credit and
/// SUBTREE_END with the number of bytes, or with an ERROR at any time.
package struct GetValue: Message, Equatable {
    package static let type = MessageType.getValue
    package var atLeast: Revision
    package var object: ObjectID
    package var property: PropertyNumber
    package var offset: Int

    package init(_ object: ObjectID, _ property: PropertyNumber, from offset: Int = 0, atLeast: Revision = Revision(0))
    {
        self.atLeast = atLeast
        self.object = object
        self.property = property
        self.offset = offset
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.atLeast = try reader.revision("at least")
        self.object = try reader.objectID("object")
        self.property = try reader.propertyNumber("property")
        self.offset = try reader.index("offset")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.atLeast)
        writer.write(objectID: self.object)
        writer.write(count: Int(self.property.rawValue))
        writer.write(count: self.offset)
    }
}

/// A large value: the reply to PUT_VALUE, with revision 0, and the first answer to GET_VALUE.
package struct ValueMessage: Message, Equatable {
    package static let type = MessageType.value
    package var revision: Revision
    package var valueType: AttributeType
    /// What a row has, and what a TRANSACTION sets.
    package var value: LargeValue

    package init(_ value: LargeValue, _ valueType: AttributeType, at revision: Revision = Revision(0)) {
        self.revision = revision
        self.valueType = valueType
        self.value = value
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.revision = try reader.revision("revision")
        self.valueType = try reader.largeType()
        let bytes = Array(try reader.raw(count: LargeValue.byteCount, "value"))
        guard let value = LargeValue(bytes) else { throw DecodingFailure(.invalidValue, "value") }
        self.value = value
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.revision)
        writer.write(byte: self.valueType.rawValue)
        writer.write(raw: self.value.bytes)
    }
}

extension ByteReader {
    fileprivate mutating func largeType() throws(DecodingFailure) -> AttributeType {
        guard let type = AttributeType(rawValue: try self.byte("type")), type.isLarge else {
            throw DecodingFailure(.invalidValue, "type")
        }
        return type
    }
}
