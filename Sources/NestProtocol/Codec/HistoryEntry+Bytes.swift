import NestModel

extension ByteWriter {
    /// Writes an entry without its user, which follows after all entries.
    package mutating func write(historyEntry entry: HistoryEntry) {
        self.write(revision: entry.revision)
        self.write(integer: entry.time)
        self.write(varint: entry.sessionNumber)
        self.write(byte: entry.kind.rawValue)
        self.write(revision: entry.reverted ?? Revision(0))
        let state: UInt8 = (entry.isMine ? 1 : 0) | (entry.isNextUndo ? 2 : 0) | (entry.isNextRedo ? 4 : 0)
        self.write(byte: state | (entry.isBlocked ? 8 : 0) | (entry.entry == nil ? 0 : 16))
        self.write(string: entry.name)
        if let first = entry.entry { self.write(revision: first) }
    }
}

extension ByteReader {
    package mutating func historyEntry() throws(DecodingFailure) -> HistoryEntry {
        let revision = try self.revision("revision")
        let time = try self.integer(Int64.self, "time")
        let session = try self.varint("session number")
        guard let kind = HistoryEntry.Kind(rawValue: try self.byte("kind")) else {
            throw DecodingFailure(.unsupported, "kind")
        }
        let reverted = try self.revision("reverted")
        let flags = try self.byte("flags")
        return HistoryEntry(
            revision: revision,
            time: time,
            sessionNumber: session,
            kind: kind,
            reverted: reverted == Revision(0) ? nil : reverted,
            name: try self.string("name", max: Limits.nameBytesMax),
            isMine: flags & 1 != 0,
            isNextUndo: flags & 2 != 0,
            isNextRedo: flags & 4 != 0,
            isBlocked: flags & 8 != 0,
            entry: flags & 16 != 0 ? try self.revision("entry") : nil
        )
    }
}
