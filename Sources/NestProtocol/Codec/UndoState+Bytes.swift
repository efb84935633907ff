import NestModel

extension ByteWriter {
    package mutating func write(undoState state: UndoState) {
        for entry in [state.undo, state.redo] {
            self.write(revision: entry?.revision ?? Revision(0))
            guard let entry else { continue }
            self.write(count: entry.transactionCount)
            self.write(string: entry.name)
        }
        self.write(count: state.undoCount)
        self.write(count: state.redoCount)
        self.write(count: state.blockedCount)
        self.write(count: state.droppedCount)
        self.write(varint: state.group ?? 0)
    }
}

extension ByteReader {
    package mutating func undoState() throws(DecodingFailure) -> UndoState {
        var state = UndoState()
        state.undo = try self.undoEntry()
        state.redo = try self.undoEntry()
        state.undoCount = try self.index("undo count")
        state.redoCount = try self.index("redo count")
        state.blockedCount = try self.index("blocked count")
        state.droppedCount = try self.index("dropped count")
        let group = try self.varint("group")
        state.group = group == 0 ? nil : group
        return state
    }

    private mutating func undoEntry() throws(DecodingFailure) -> UndoState.Entry? {
        let revision = try self.revision("entry revision")
        guard revision != Revision(0) else { return nil }
        let count = try self.index("entry transactions")
        return UndoState.Entry(
            revision: revision,
            name: try self.string("entry name", max: Limits.nameBytesMax),
            transactionCount: count
        )
    }
}
