import NIOCore
import NestEngine

/// Progress marks that wait, because very many connections get one at once and each needs a call of the kernel. A
/// connection has at most one: a later mark replaces it.
package struct LateMarks {
    private var marks: [ConnectionID: ByteBuffer] = [:]
    /// Connections to look at next; some of their marks may be gone.
    private var next: ArraySlice<ConnectionID> = []

    package init() {}

    package var isEmpty: Bool { self.marks.isEmpty }

    package mutating func add(_ mark: ByteBuffer, to id: ConnectionID) { self.marks[id] = mark }

    /// Returns the mark that must be sent before anything else is sent to the connection.
    package mutating func take(_ id: ConnectionID) -> ByteBuffer? {
        self.marks.isEmpty ? nil : self.marks.removeValue(forKey: id)
    }

    /// Returns at most `count` marks to send now. No connection is skipped while others get a second mark.
    package mutating func take(atMost count: Int) -> [(id: ConnectionID, mark: ByteBuffer)] {
        var taken: [(id: ConnectionID, mark: ByteBuffer)] = []
        while taken.count < count, !self.marks.isEmpty {
            if self.next.isEmpty { self.next = Array(self.marks.keys)[...] }
            guard let id = self.next.popFirst() else { break }
            if let mark = self.marks.removeValue(forKey: id) { taken.append((id, mark)) }
        }
        return taken
    }
}
