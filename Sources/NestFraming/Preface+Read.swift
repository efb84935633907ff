import NIOCore
import NestProtocol

extension Preface {
    /// Takes a preface off the front. `nil` while bytes are missing; throws at the first byte that does not fit.
    package static func read(from buffer: inout ByteBuffer) throws(WireError) -> Preface? {
        let view = buffer.readableBytesView
        guard view.prefix(4).elementsEqual(Self.magic.prefix(view.count)) else { throw .notNest }
        guard let bytes = buffer.readBytes(length: Self.byteCount) else { return nil }
        return Preface(bytes: bytes)
    }
}
