import NIOCore
import NestFraming
import NestModel
import NestProtocol

/// The bytes that a connection has received and not handled yet, cut into frames.
///
/// It counts what arrives, and remembers a read that the connection held back.
package struct InboundReader: Sendable {
    private var buffer = ByteBuffer()
    private var decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesBeforeWelcomeMax)
    private var isHandling = false
    /// The channel wanted to read while the connection had enough to do.
    package private(set) var isReadHeld = false
    /// Bytes received since the connection opened.
    package private(set) var totalByteCount = 0
    /// Complete frames taken since the connection opened.
    package private(set) var frameCount = 0

    package init() {}

    /// Bytes received and not handled yet.
    package var byteCount: Int { self.buffer.readableBytes }

    /// The length of the frame that has begun to arrive: of its header alone while that is incomplete.
    package var awaitedByteCount: Int { self.decoder.awaitedBytes(self.buffer) }

    package mutating func count(_ byteCount: Int) { self.totalByteCount += byteCount }

    package mutating func append(_ bytes: inout ByteBuffer) {
        if self.buffer.readableBytes == 0 {
            self.buffer = bytes
        } else {
            self.buffer.writeBuffer(&bytes)
        }
    }

    /// Drops what was received and not handled.
    package mutating func removeAll() { self.buffer = ByteBuffer() }

    /// From now on frames may be as large as the protocol allows.
    package mutating func acceptLargeFrames() { self.decoder.bodyBytesMax = Limits.frameBytesMax }

    // MARK: Handling

    /// Returns `true` when there are bytes to handle and no call up the stack handles them already. If so, `endHandling` must follow.
    package mutating func beginHandling() -> Bool {
        guard !self.isHandling, self.buffer.readableBytes > 0 else { return false }
        self.isHandling = true
        return true
    }

    package mutating func endHandling() {
        self.isHandling = false
        if self.buffer.readableBytes == 0 { self.buffer = ByteBuffer() } else { self.buffer.discardReadBytes() }
    }

    /// The client's preface, or `nil` while it is incomplete.
    package mutating func nextPreface() throws(WireError) -> Preface? { try Preface.read(from: &self.buffer) }

    /// The next frame, or `nil` while it is incomplete.
    package mutating func nextFrame() throws(WireError) -> Frame? {
        guard let frame = try self.decoder.next(from: &self.buffer) else { return nil }
        self.frameCount += 1
        return frame
    }

    // MARK: Reading

    package mutating func holdRead() { self.isReadHeld = true }

    /// Returns whether a read was held back, which the caller now does.
    package mutating func releaseRead() -> Bool {
        defer { self.isReadHeld = false }
        return self.isReadHeld
    }
}
