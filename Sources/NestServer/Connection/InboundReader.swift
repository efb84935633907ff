import NIOCore
import NestFraming
import NestModel
import NestProtocol

/// Cuts the bytes that a connection has received into frames.
///
/// It also counts what arrives, and remembers a read that the connection held back.
package struct InboundReader: Sendable {
    private var buffer = ByteBuffer()
    private var decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesBeforeWelcomeMax)
    private var isHandling = false
    /// Whether the channel wanted to read while the connection could not handle more frames.
    package private(set) var isReadHeld = false
    /// Bytes received since the connection opened.
    package private(set) var totalByteCount = 0
    /// Complete frames taken since the connection opened.
    package private(set) var frameCount = 0

    /// Bytes that wait for the rest of their WebSocket frame.
    package var webSocketByteCount = 0

    package init() {}

    /// Bytes received and not handled yet.
    package var byteCount: Int { self.buffer.readableBytes + self.webSocketByteCount }

    /// The length of the frame that is arriving, or of its header while that is incomplete. A WebSocket frame that is
    /// arriving may have the maximum length.
    package var awaitedByteCount: Int {
        max(self.decoder.awaitedBytes(self.buffer), self.webSocketByteCount > 0 ? Limits.webSocketFrameBytesMax : 0)
    }

    package mutating func count(_ byteCount: Int) { self.totalByteCount += byteCount }

    package mutating func append(_ bytes: inout ByteBuffer) {
        if self.buffer.readableBytes == 0 {
            self.buffer = bytes
        } else {
            self.buffer.writeBuffer(&bytes)
        }
    }

    /// Drops the bytes that are not handled yet.
    package mutating func removeAll() {
        self.buffer = ByteBuffer()
        self.webSocketByteCount = 0
    }

    /// Accepts frames as large as the protocol allows from now on. Never lowers the limit again.
    package mutating func acceptLargeFrames(bytesMax: Int = Limits.frameBytesMax) {
        self.decoder.bodyBytesMax = max(self.decoder.bodyBytesMax, bytesMax)
    }

    // MARK: Handling

    /// Returns whether there are bytes to handle that no call up the stack is already handling. If so, `endHandling`
    /// must follow.
    package mutating func beginHandling() -> Bool {
        guard !self.isHandling, self.buffer.readableBytes > 0 else { return false }
        self.isHandling = true
        return true
    }

    package mutating func endHandling() {
        self.isHandling = false
        if self.buffer.readableBytes == 0 { self.buffer = ByteBuffer() } else { self.buffer.discardReadBytes() }
    }

    /// Returns the client's preface, or `nil` while it is incomplete.
    package mutating func nextPreface() throws(WireError) -> Preface? { try Preface.read(from: &self.buffer) }

    /// Returns the next frame, or `nil` while it is incomplete.
    package mutating func nextFrame() throws(WireError) -> Frame? {
        guard let frame = try self.decoder.next(from: &self.buffer) else { return nil }
        self.frameCount += 1
        return frame
    }

    // MARK: Reading

    package mutating func holdRead() { self.isReadHeld = true }

    /// Returns whether a read was held back. If so, the caller must read.
    package mutating func releaseRead() -> Bool {
        defer { self.isReadHeld = false }
        return self.isReadHeld
    }
}
