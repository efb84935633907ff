import Glibc
import NIOCore

/// Writes the output of a plain TCP connection to its socket, without the channel. For small writes the channel needs
/// more time than everything else outside the kernel.
///
/// The channel keeps the descriptor. So the owner
/// - holds bytes here only while the channel holds none, which keeps their order,
/// - gives the channel what `flush` returns, and
/// - calls `close` when the channel becomes inactive: after that the descriptor may belong to another connection.
package struct DirectOutput: Sendable {
    /// Writes up to this size are joined, because copying them takes less time than another call of the kernel.
    package static let joinedBytesMax = 16 << 10

    private var descriptor: CInt?
    private var bytes = ByteBuffer()

    package init() {}

    /// Whether the connection has a descriptor to write to.
    package var isOpen: Bool { self.descriptor != nil }

    /// Whether bytes wait for `flush`.
    package var holdsBytes: Bool { self.bytes.readableBytes > 0 }

    package mutating func open(_ descriptor: CInt) { self.descriptor = descriptor }

    /// Drops the bytes that wait.
    package mutating func close() { self = DirectOutput() }

    /// Whether `byteCount` more bytes can be held before a flush.
    package func hasRoom(for byteCount: Int) -> Bool {
        !self.holdsBytes || self.bytes.readableBytes + byteCount <= Self.joinedBytesMax
    }

    /// Holds bytes until the next `flush`.
    package mutating func hold(_ buffer: ByteBuffer) {
        if self.holdsBytes { self.bytes.writeImmutableBuffer(buffer) } else { self.bytes = buffer }
    }

    /// Writes the bytes that wait. Returns those that the socket has not accepted, if there are any: it is full or
    /// broken. The channel then waits for the socket, or meets the error itself and closes.
    package mutating func flush() -> ByteBuffer? {
        guard let descriptor = self.descriptor, self.holdsBytes else { return nil }
        var bytes = self.bytes
        self.bytes = ByteBuffer()
        let count = bytes.withUnsafeReadableBytes {
            send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
        guard count < bytes.readableBytes else { return nil }
        bytes.moveReaderIndex(forwardBy: max(count, 0))
        return bytes
    }
}
