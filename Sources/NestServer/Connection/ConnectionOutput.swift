import NestModel
import NestProtocol

/// A connection's output: the queue, and counts of the bytes written, flushed and passed on to the kernel.
package struct ConnectionOutput: Sendable {
    /// The connection asks the channel how many bytes it holds when more than this may be there. Asking after every
    /// small write would take longer than the rest of `settle`; the sweep counts smaller amounts.
    package static let uncountedBytesMax = 16 << 10

    package var queue = OutputQueue()
    /// Whether large frames wait for the next turn.
    package var isPumpPaused = false
    private var isFlushDue = false
    /// Whether a delivery has added something since the last `settle`.
    package private(set) var isInDelivery = false
    /// Whether the channel is writable, as it last reported. Asking it would load it into the processor's cache as
    /// well.
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

    /// Counts a write. Returns whether to flush now: TLS keeps bytes that are not flushed out of the socket's queue,
    /// which then would never report that it is full.
    package mutating func wrote(_ byteCount: Int) -> Bool {
        self.writtenByteCount += byteCount
        self.unflushedByteCount += byteCount
        self.isFlushDue = true
        return self.unflushedByteCount >= Limits.socketBytesHigh
    }

    /// Returns whether there is something to flush. If so, the caller must flush.
    package mutating func takeFlush() -> Bool {
        guard self.isFlushDue else { return false }
        self.isFlushDue = false
        self.unflushedByteCount = 0
        return true
    }

    /// Records that the channel has passed on all bytes written so far.
    package mutating func notePassedOn() { self.passedOnByteCount = self.writtenByteCount }

    /// Records that the channel gets the last `byteCount` of the bytes written so far.
    package mutating func noteUnsent(_ byteCount: Int) { self.passedOnByteCount = self.writtenByteCount - byteCount }

    /// Records that `byteCount` of the bytes written so far will be written again.
    package mutating func takeBack(_ byteCount: Int) {
        self.writtenByteCount -= byteCount
        self.passedOnByteCount = min(self.passedOnByteCount, self.writtenByteCount)
    }

    /// Returns the number of bytes written since the last call. Bytes that are written again count once.
    package mutating func takeUnreported() -> Int {
        let count = max(0, self.writtenByteCount - self.reportedByteCount)
        self.reportedByteCount += count
        return count
    }

    /// Returns whether this delivery is the first since the last `settle`.
    package mutating func beginDelivery() -> Bool {
        defer { self.isInDelivery = true }
        return !self.isInDelivery
    }

    package mutating func endDelivery() { self.isInDelivery = false }
}
