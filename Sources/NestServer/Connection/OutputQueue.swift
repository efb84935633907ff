import DequeModule
import NIOCore

/// The output that waits until a connection's socket accepts more, and whether the engine knows that it waits.
///
///     flowing ──output remains──▶ blocked ──queue empty, socket writable──▶ flowing
package struct OutputQueue: Sendable {
    package enum Change: Equatable, Sendable {
        case none, blocked, drained
    }

    /// Something to write.
    package enum Content: Sendable {
        case bytes(ByteBuffer)
        /// A large frame, which takes time to frame and compress. The queue holds only its body, which other
        /// connections share.
        case frame(CompressibleFrame)

        fileprivate var byteCount: Int {
            switch self {
            case .bytes(let buffer): buffer.readableBytes
            case .frame(let frame): frame.byteCount
            }
        }
    }

    /// The bytes of large frames that one turn may write: compressing them takes about 10 ms. The other connections of
    /// the event loop have their turn before the next one.
    package static let turnBytesMax = 2 << 20

    private var contents: Deque<Content> = []
    /// The bytes of large frames written in this turn.
    private var turnByteCount = 0
    package private(set) var byteCount = 0
    package private(set) var isBlocked = false
    /// Whether the engine waits for `drained`, even if the connection is not blocked.
    private var isDrainAsked = false
    /// The bytes that deliveries added while the queue was over its maximum.
    private var overflowByteCount = 0
    private var isOverflowing = false

    package init() {}

    package var isEmpty: Bool { self.contents.isEmpty }

    package mutating func append(_ content: Content) {
        self.contents.append(content)
        self.byteCount += content.byteCount
        if self.isOverflowing { self.overflowByteCount += content.byteCount }
    }

    /// Begins a delivery of the engine. Returns whether it may be added.
    ///
    /// One delivery may be larger than `max`, for example the snapshot of a large result. Only the bytes that are added
    /// while the queue is over `max` count against the connection.
    package mutating func mayBeginDelivery(max: @autoclosure () -> Int) -> Bool {
        let max = self.byteCount > 0 ? max() : 0
        self.isOverflowing = self.byteCount > max
        if !self.isOverflowing { self.overflowByteCount = 0 }
        return self.overflowByteCount <= max
    }

    package mutating func beginTurn() {
        self.turnByteCount = 0
    }

    /// Whether this turn has written all that it may while more output waits.
    package var isTurnOver: Bool { !self.isEmpty && self.turnByteCount >= Self.turnBytesMax }

    /// Removes and returns the next content to write; `nil` when nothing is left, or the turn is over.
    package mutating func popFirst() -> Content? {
        guard !self.isTurnOver, let content = self.contents.popFirst() else { return nil }
        self.byteCount -= content.byteCount
        if case .frame(let frame) = content { self.turnByteCount += frame.byteCount }
        return content
    }

    /// Removes and returns everything that waits, without regard to the turn, because the connection ends.
    package mutating func takeAll() -> Deque<Content> {
        defer { self.removeAll() }
        return self.contents
    }

    /// Requests `drained`: the engine sends something page by page, and continues when the connection has written
    /// everything before. `settle` returns it at once when nothing waits.
    package mutating func askForDrain() {
        self.isDrainAsked = true
    }

    /// Drops everything that waits, because the connection ends.
    package mutating func removeAll() {
        self.contents = []
        self.byteCount = 0
    }

    /// Returns the change to report to the engine. Called after as much as possible was written.
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
