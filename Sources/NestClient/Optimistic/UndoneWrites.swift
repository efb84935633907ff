import NestModel
import NestOverlay

/// What `redo` does again: what was undone since the last new write, in that order.
struct UndoneWrites {
    private enum Undone {
        /// A write that was withdrawn before it was sent: the client makes it anew.
        case withdrawn(WriteTransaction)
        /// The server undoes something, and does it again.
        case atServer(PendingUndo.ID)
    }

    private var all: [Undone] = []

    /// Something new was written, or object ids may mean other objects.
    mutating func clear() { self.all = [] }

    mutating func withdrew(_ transaction: WriteTransaction) { self.all.append(.withdrawn(transaction)) }

    mutating func serverUndoes(_ id: PendingUndo.ID) { self.all.append(.atServer(id)) }

    /// The server has not undone it.
    mutating func failed(_ id: PendingUndo.ID) {
        self.all.removeAll { if case .atServer(let other) = $0 { other == id } else { false } }
    }

    mutating func serverRedoes() { if case .atServer? = self.all.last { self.all.removeLast() } }

    /// Removes and returns the last one, if it was withdrawn.
    mutating func takeWithdrawn() -> WriteTransaction? {
        guard case .withdrawn(let transaction)? = self.all.last else { return nil }
        self.all.removeLast()
        return transaction
    }
}
