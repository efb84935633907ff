import NestModel
import NestProtocol

/// The body of OBJECT. The store writes it from the stored columns, without an `ObjectDetail` in between.
package struct ObjectBody: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package init(_ object: ObjectDetail) {
        self.bytes = ObjectMessage(object).body
    }

    package func decoded() throws(DecodingFailure) -> ObjectDetail {
        try ByteReader.read(self.bytes) { (reader) throws(DecodingFailure) in try reader.objectDetail() }
    }
}
