import DequeModule
import NIOCore

/// What waits for a connection because its socket takes no more, and what the engine has been told about it.
///
///     flowing ──bytes stay──▶ blocked ──queue empty, socket takes more──▶ flowing
package struct OutputQueue: Sendable {
    package enum Change: Equatable, Sendable {
        case none, blocked, drained
    }

    private var buffers: Deque<ByteBuffer> = []
    package private(set) var byteCount = 0
    package private(set) var isBlocked = false
    /// The engine waits to be told, though it may not have been told of a block.
    private var isDrainAsked = false
    /// Bytes added by deliveries that found the queue over its maximum.
    private var overflowByteCount = 0
    private var isOverflowing = false

    package init() {}

    package var isEmpty: Bool { self.buffers.isEmpty }

    package mutating func append(_ buffer: ByteBuffer) {
        self.buffers.append(buffer)
        self.byteCount += buffer.readableBytes
        if self.isOverflowing { self.overflowByteCount += buffer.readableBytes }
    }

    /// A delivery of the engine begins. Returns whether it may be added.
    ///
    /// One delivery may be larger than `max`, a snapshot of a large result is; what counts against the connection is
    /// what comes on top while it is over.
    package mutating func mayBeginDelivery(max: @autoclosure () -> Int) -> Bool {
        let max = self.byteCount > 0 ? max() : 0
        self.isOverflowing = self.byteCount > max
        if !self.isOverflowing { self.overflowByteCount = 0 }
        return self.overflowByteCount <= max
    }

    package mutating func popFirst() -> ByteBuffer? {
        guard let buffer = self.buffers.popFirst() else { return nil }
        self.byteCount -= buffer.readableBytes
        return buffer
    }

    /// The engine goes on with what it sends page by page when all before has been handed over: it wants `drained` then,
    /// at once when nothing waits.
    package mutating func askForDrain() {
        self.isDrainAsked = true
    }

    /// Drops what no longer matters because the connection ends.
    package mutating func removeAll() {
        self.buffers = []
        self.byteCount = 0
    }

    /// After as much as possible was written: what the engine must now be told.
    package mutating func settle(isWritable: @autoclosure () -> Bool) -> Change {
        if !self.isBlocked, !self.isEmpty {
            self.isBlocked = true
            return .blocked
        }
        if self.isBlocked || self.isDrainAsked, self.isEmpty, isWritable() {
            self.isBlocked = false
            self.isDrainAsked = false
            return .drained
        }
        return .none
    }
}
