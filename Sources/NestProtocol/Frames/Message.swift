import NestModel

/// A message: one struct, decoded and encoded in one file.
///
/// `init(from:)` reads its fields and ignores the bytes after them, so that later versions can append fields.
package protocol Message: Sendable {
    static var type: MessageType { get }
    init(from reader: inout ByteReader) throws(DecodingFailure)
    func encode(into writer: inout ByteWriter)
}

extension Message {
    @inlinable
    package var body: [UInt8] {
        var writer = ByteWriter()
        self.encode(into: &writer)
        return writer.bytes
    }
}

/// A request whose answer is one message.
package protocol Query: Message {
    associatedtype Answer: Message
}

/// A message without fields.
package protocol EmptyMessage: Message {
    init()
}

extension EmptyMessage {
    package init(from reader: inout ByteReader) throws(DecodingFailure) { self.init() }
    package func encode(into writer: inout ByteWriter) {}
}

/// A message whose body only its receiver can decode: rows, whose values depend on a projection.
package protocol OpaqueMessage: Message {
    var bytes: [UInt8] { get }
    init(bytes: [UInt8])
}

extension OpaqueMessage {
    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.init(bytes: [UInt8](try reader.raw(count: reader.remaining, "body")))
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(raw: self.bytes)
    }
}
