/// Limits the control frames that a connection handles in one turn. After these it pauses until the other connections
/// of its event loop had their turn.
///
///     reading ──the last of them──▶ over, to be paused ──▶ over ──begin──▶ reading
package struct FrameTurn: Sendable {
    private let max: Int
    private var taken = 0
    private var isPausing = false

    package init(max: Int) { self.max = max }

    /// The connection takes no more frames until its next turn.
    package var isOver: Bool { self.taken >= self.max }

    package mutating func take() { self.taken += 1 }

    /// Returns whether the pause must begin now: once a turn.
    package mutating func mustPause() -> Bool {
        guard self.isOver, !self.isPausing else { return false }
        self.isPausing = true
        return true
    }

    /// The socket has no more, and other connections have their turn before it is read again: a new turn begins, except
    /// in a pause.
    package mutating func endRead() {
        if !self.isPausing { self.taken = 0 }
    }

    /// The pause is over.
    package mutating func begin() {
        self.isPausing = false
        self.taken = 0
    }
}
