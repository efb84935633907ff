import NestModel
import NestProtocol

/// What a connection sends: what waits in its queue, what it has written, and how much of that is not flushed yet.
package struct ConnectionOutput: Sendable {
    /// The channel is asked for what it holds when more than this may be there. To ask after every small write would
    /// take longer than the rest of `settle`; the sweep asks for smaller amounts.
    package static let uncountedBytesMax = 16 << 10

    package var queue = OutputQueue()
    /// Large frames wait for the next turn.
    package var isPumpPaused = false
    private var isFlushDue = false
    /// A delivery has added something since the last `settle`.
    package private(set) var isInDelivery = false
    /// The channel's last word. Asking it would load it into the processor's cache as well.
    package var isChannelWritable = true
    private var unflushedByteCount = 0
    /// Bytes written since the connection opened.
    package private(set) var writtenByteCount = 0
    /// Of these, the bytes that the channel is known to have passed on to the kernel.
    private var passedOnByteCount = 0
    /// Of these, the bytes that are in the server's metrics.
    private var reportedByteCount = 0

    package init() {}

    /// Whether a buffer can go to the channel without waiting in the queue.
    package var mayWriteAtOnce: Bool { self.queue.isEmpty && self.isChannelWritable }

    /// Written bytes that the channel may still hold.
    package var uncountedByteCount: Int { self.writtenByteCount - self.passedOnByteCount }

    /// Counts a write. Returns whether to flush now: TLS keeps what is not flushed from the socket's queue, which then
    /// would never report that it is full.
    package mutating func wrote(_ byteCount: Int) -> Bool {
        self.writtenByteCount += byteCount
        self.unflushedByteCount += byteCount
        self.isFlushDue = true
        return self.unflushedByteCount >= Limits.socketBytesHigh
    }

    /// Returns whether there is something to flush, which the caller now does.
    package mutating func takeFlush() -> Bool {
        guard self.isFlushDue else { return false }
        self.isFlushDue = false
        self.unflushedByteCount = 0
        return true
    }

    /// The channel holds nothing: only later writes can be in it.
    package mutating func notePassedOn() { self.passedOnByteCount = self.writtenByteCount }

    /// The bytes written since the last call.
    package mutating func takeUnreported() -> Int {
        defer { self.reportedByteCount = self.writtenByteCount }
        return self.writtenByteCount - self.reportedByteCount
    }

    /// Returns whether this delivery is the first since the last `settle`.
    package mutating func beginDelivery() -> Bool {
        defer { self.isInDelivery = true }
        return !self.isInDelivery
    }

    package mutating func endDelivery() { self.isInDelivery = false }
}
