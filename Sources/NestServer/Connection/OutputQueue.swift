import DequeModule
import NIOCore

/// What waits for a connection because its socket takes no more, and whether the engine knows.
///
///     flowing ──bytes stay──▶ blocked ──queue empty, socket takes more──▶ flowing
package struct OutputQueue: Sendable {
    package enum Change: Equatable, Sendable {
        case none, blocked, drained
    }

    /// Something to write.
    package enum Content: Sendable {
        case bytes(ByteBuffer)
        /// A large frame, which takes time to frame and compress: what waits is the body that it shares with others.
        case frame(CompressibleFrame)

        fileprivate var byteCount: Int {
            switch self {
            case .bytes(let buffer): buffer.readableBytes
            case .frame(let frame): frame.byteCount
            }
        }
    }

    /// Bytes of large frames that one turn takes: about 10 ms of compressing. The other connections of the event loop
    /// have their turn before the next one.
    package static let turnBytesMax = 2 << 20

    private var contents: Deque<Content> = []
    /// Bytes of large frames taken in this turn.
    private var turnByteCount = 0
    package private(set) var byteCount = 0
    package private(set) var isBlocked = false
    /// The engine waits for `drained`, though it may not know of a block.
    private var isDrainAsked = false
    /// Bytes added by deliveries that found the queue over its maximum.
    private var overflowByteCount = 0
    private var isOverflowing = false

    package init() {}

    package var isEmpty: Bool { self.contents.isEmpty }

    package mutating func append(_ content: Content) {
        self.contents.append(content)
        self.byteCount += content.byteCount
        if self.isOverflowing { self.overflowByteCount += content.byteCount }
    }

    /// A delivery of the engine begins. Returns whether it may be added.
    ///
    /// One delivery may be larger than `max`, as the snapshot of a large result is. Only what is added while the queue
    /// is over `max` counts against the connection.
    package mutating func mayBeginDelivery(max: @autoclosure () -> Int) -> Bool {
        let max = self.byteCount > 0 ? max() : 0
        self.isOverflowing = self.byteCount > max
        if !self.isOverflowing { self.overflowByteCount = 0 }
        return self.overflowByteCount <= max
    }

    package mutating func beginTurn() {
        self.turnByteCount = 0
    }

    /// This turn has taken all it may, and more waits for the next one.
    package var isTurnOver: Bool { !self.isEmpty && self.turnByteCount >= Self.turnBytesMax }

    /// The next to write; `nil` when nothing is left, or the turn is over.
    package mutating func popFirst() -> Content? {
        guard !self.isTurnOver, let content = self.contents.popFirst() else { return nil }
        self.byteCount -= content.byteCount
        if case .frame(let frame) = content { self.turnByteCount += frame.byteCount }
        return content
    }

    /// Takes everything that waits, whatever the turn has left: the connection ends.
    package mutating func takeAll() -> Deque<Content> {
        defer { self.removeAll() }
        return self.contents
    }

    /// The engine sends something page by page, and goes on when the connection has written everything before: it wants
    /// `drained` then, at once when nothing waits.
    package mutating func askForDrain() {
        self.isDrainAsked = true
    }

    /// Drops everything that waits: the connection ends.
    package mutating func removeAll() {
        self.contents = []
        self.byteCount = 0
    }

    /// After as much as possible was written: what the engine must know now.
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
