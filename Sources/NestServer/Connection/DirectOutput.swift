import Glibc
import NIOCore
import NestEngine

/// Writes the output of a plain TCP connection to its socket, without the channel. For small writes the channel needs
/// more time than everything else outside the kernel.
///
/// The channel keeps the descriptor. So the owner
/// - holds bytes here only while the channel holds none, which keeps their order,
/// - gives the channel what `flush` returns, and
/// - calls `close` when the channel becomes inactive: after that the descriptor may belong to another connection.
///
/// An `OutputGate` may hold the bytes of a flush. The owner asks the gate before it writes anything else.
package struct DirectOutput: Sendable {
    /// Writes up to this size are joined, because copying them takes less time than another call of the kernel.
    package static let joinedBytesMax = 16 << 10

    private var descriptor: CInt?
    private var bytes = ByteBuffer()
    /// The gate that got the bytes of the last flush, unless the owner has left it.
    package private(set) var gate: OutputGate?

    package init() {}

    /// Whether the connection has a descriptor to write to.
    package var isOpen: Bool { self.descriptor != nil }

    /// Whether bytes wait for `flush`.
    package var holdsBytes: Bool { self.bytes.readableBytes > 0 }

    package mutating func open(_ descriptor: CInt) { self.descriptor = descriptor }

    /// Drops the bytes that wait, also those in a gate.
    package mutating func close(_ connection: ConnectionID) {
        _ = self.leaveGate(connection)
        self = DirectOutput()
    }

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
        Self.send(&bytes, to: descriptor)
        return bytes.readableBytes > 0 ? bytes : nil
    }

    /// Gives the bytes that wait to `gate`; see `OutputGate.hold`. Returns false if it is open: nothing has changed.
    package mutating func flush(
        into gate: OutputGate,
        of connection: ConnectionID,
        opened: @escaping @Sendable () -> Void
    ) -> Bool {
        guard let descriptor = self.descriptor, self.holdsBytes,
            gate.hold(self.bytes, of: connection, descriptor, opened: opened)
        else { return false }
        self.bytes = ByteBuffer()
        self.gate = gate
        return true
    }

    /// Leaves the gate. Returns what the owner must write.
    package mutating func leaveGate(_ connection: ConnectionID) -> OutputGate.Rest? {
        guard let gate = self.gate else { return nil }
        self.gate = nil
        return gate.isDone ? nil : gate.take(connection)
    }

    /// Removes the bytes that the socket accepts.
    static func send(_ bytes: inout ByteBuffer, to descriptor: CInt) {
        let count = bytes.withUnsafeReadableBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
        bytes.moveReaderIndex(forwardBy: max(count, 0))
    }
}
