/// So many frames of a connection in one turn; then it pauses until others on its event loop have had theirs.
///
///     reading ──the last of them──▶ over, to be paused ──▶ over ──begin──▶ reading
package struct FrameTurn: Sendable {
    private let max: Int
    private var taken = 0
    private var isPausing = false

    package init(max: Int) { self.max = max }

    /// No more frames are taken until the next turn.
    package var isOver: Bool { self.taken >= self.max }

    package mutating func take() { self.taken += 1 }

    /// Whether the pause must begin now: once a turn.
    package mutating func mustPause() -> Bool {
        guard self.isOver, !self.isPausing else { return false }
        self.isPausing = true
        return true
    }

    /// The socket had no more, and others are looked at before it is read again: a new turn, except in a pause.
    package mutating func endRead() {
        if !self.isPausing { self.taken = 0 }
    }

    /// The pause is over.
    package mutating func begin() {
        self.isPausing = false
        self.taken = 0
    }
}
