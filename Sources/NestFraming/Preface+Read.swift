import NIOCore
import NestProtocol

extension Preface {
    /// Reads a preface and removes it from the buffer. Returns `nil` while it is incomplete; throws at the first wrong
    /// byte.
    package static func read(from buffer: inout ByteBuffer) throws(WireError) -> Preface? {
        let view = buffer.readableBytesView
        guard view.prefix(4).elementsEqual(Self.magic.prefix(view.count)) else { throw .notNest }
        guard let bytes = buffer.readBytes(length: Self.byteCount) else { return nil }
        return Preface(bytes: bytes)
    }
}
