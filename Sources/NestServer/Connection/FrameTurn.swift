/// Limits the control frames that a connection handles in one turn. After the last one it pauses until the other
/// connections of its event loop have had their turn.
///
///     reading ──last frame──▶ over ──mustPause──▶ pausing ──begin──▶ reading
package struct FrameTurn: Sendable {
    private let max: Int
    private var taken = 0
    private var isPausing = false

    package init(max: Int) { self.max = max }

    /// Whether the connection must handle no more frames before its next turn.
    package var isOver: Bool { self.taken >= self.max }

    package mutating func take() { self.taken += 1 }

    /// Returns whether the pause must begin now. Returns true once for each turn.
    package mutating func mustPause() -> Bool {
        guard self.isOver, !self.isPausing else { return false }
        self.isPausing = true
        return true
    }

    /// Begins a new turn, except in a pause: the socket has no more bytes, and other connections have their turn before
    /// it is read again.
    package mutating func endRead() {
        if !self.isPausing { self.taken = 0 }
    }

    /// Ends the pause and begins a new turn.
    package mutating func begin() {
        self.isPausing = false
        self.taken = 0
    }
}
