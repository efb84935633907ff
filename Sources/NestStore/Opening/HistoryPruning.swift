import NestModel
import NestProtocol
import NestSchema

/// Takes what a migration removes out of the journal: the objects of removed entities, and values of removed
/// properties. Undo then restores the rest. Reads one row or block of the journal at a time.
struct HistoryPruning {
    private let connection: Connection
    private let journal: Journal
    private let old: ModelLayout
    private let new: ModelLayout

    init(_ connection: Connection, _ old: ModelLayout, _ new: ModelLayout) {
        self.connection = connection
        self.journal = Journal(connection: connection, layout: old)
        self.old = old
        self.new = new
    }

    func run() throws(StoreError) {
        var last = Revision(0)
        while let row = try self.journal.row(after: last), let end = row.last?.header.revision {
            var headers: [JournalHeader] = []
            var changes: [UInt8] = []
            for (header, inline) in row {
                let pruned = inline.isEmpty ? [] : try self.pruned(inline)
                changes += pruned
                headers.append(header.pruned(inlineBytes: pruned.count, self.pruned(header.conflicts)))
                for number in 0..<header.blockCount { try self.pruneBlock(header.revision, number) }
            }
            try self.journal.replaceRow(endingAt: end, headers, changes: changes)
            last = end
        }
        for (revision, answer) in try Store.blocked(self.connection) {
            guard let answer else { continue }
            var writer = ByteWriter()
            writer.write(header: answer.pruned(inlineBytes: answer.inlineBytes, self.pruned(answer.conflicts)))
            let statement = try self.connection.statement("UPDATE nest_blocked SET answer = ?2 WHERE revision = ?1")
            statement.bind(1, Int64(clamping: revision.rawValue))
            statement.bind(2, blob: writer.bytes)
            try statement.run()
        }
    }

    private func pruned(_ inline: [UInt8]) throws(StoreError) -> [UInt8] {
        let (changes, repositions) = try self.journal.inlineChanges(inline)
        let kept = changes.compactMap { self.pruned($0) }
        let moved = repositions.filter { self.isPlaced($0.property, $0.entity) }
        var writer = ByteWriter(capacity: inline.count)
        writer.write(count: kept.count)
        for change in kept { self.write(change, to: &writer) }
        writer.write(count: moved.count)
        for reposition in moved { writer.write(reposition: reposition) }
        return writer.bytes
    }

    private func pruneBlock(_ revision: Revision, _ number: Int) throws(StoreError) {
        let changes = try self.journal.block(revision, number).changes
        var writer = ByteWriter()
        for change in changes {
            if let change = self.pruned(change) { self.write(change, to: &writer) }
        }
        try self.journal.replaceBlock(revision, number, writer.bytes)
    }

    private func write(_ change: ObjectChange, to writer: inout ByteWriter) {
        guard let layout = self.old[change.entity] else { preconditionFailure("the journal was read with this layout") }
        writer.write(change: change, layout: layout)
    }

    /// Returns the part of a change that the new model has, with slots of the old layout.
    private func pruned(_ change: ObjectChange) -> ObjectChange? {
        guard let before = self.old[change.entity], let after = self.new[change.entity] else { return nil }
        var kept = change
        kept.values = change.values.filter { after.slot(of: before.properties[$0.slot]) != nil }
        kept.placings = []
        for placing in change.placings {
            let slot = before.placedSlots[placing.place]
            guard let now = after.slot(of: before.properties[slot]) else { continue }
            if after.placeOfSlot[now] >= 0 {
                kept.placings.append(placing)
            } else if placing.before?.owner != placing.after?.owner {
                // The relationship loses its order: only the owner remains.
                let owners = [placing.before, placing.after].map {
                    $0.map { AttributeValue.reference($0.owner) } ?? .null
                }
                kept.values.append(.init(slot: slot, before: owners[0], after: owners[1]))
            }
        }
        let isNothing = kept.kind == .update && kept.values.isEmpty && kept.placings.isEmpty
        return isNothing ? nil : kept
    }

    private func isPlaced(_ property: PropertyNumber, _ entity: EntityNumber) -> Bool {
        guard let layout = self.new[entity], let slot = layout.slot(of: property) else { return false }
        return layout.placeOfSlot[slot] >= 0
    }

    /// Returns the conflicts without those of removed parts, which are only counted.
    private func pruned(_ conflicts: UndoConflicts) -> UndoConflicts {
        var kept = UndoConflicts()
        for conflict in conflicts.listed {
            let entity = self.new.model.entity(conflict.entity)
            let isThere = entity.map { entity in conflict.property.map { entity.propertyName($0) != nil } ?? true }
            if isThere ?? false { kept.append(conflict) }
        }
        kept.addUnlisted(conflicts.count - kept.count)
        return kept
    }
}

extension JournalHeader {
    fileprivate func pruned(inlineBytes: Int, _ conflicts: UndoConflicts) -> JournalHeader {
        self.copy(key: self.key, conflicts: conflicts, coalescingKey: self.coalescingKey, inlineBytes: inlineBytes)
    }
}

extension Journal {
    /// Replaces the headers and changes of a row; its revisions stay.
    fileprivate func replaceRow(
        endingAt revision: Revision,
        _ headers: [JournalHeader],
        changes: [UInt8]
    ) throws(StoreError) {
        var writer = ByteWriter(capacity: headers.count * 64)
        writer.write(headers: headers)
        let statement = try self.connection.statement(
            "UPDATE nest_journal SET headers = ?2, changes = ?3 WHERE last_revision = ?1"
        )
        statement.bind(1, Int64(clamping: revision.rawValue))
        statement.bind(2, blob: writer.bytes)
        statement.bind(3, blob: self.pack(changes))
        try statement.run()
    }

    fileprivate func replaceBlock(_ revision: Revision, _ number: Int, _ bytes: [UInt8]) throws(StoreError) {
        let statement = try self.connection.statement(
            "UPDATE nest_journal_block SET bytes = ?3 WHERE revision = ?1 AND number = ?2"
        )
        statement.bind(1, Int64(clamping: revision.rawValue))
        statement.bind(2, Int64(number))
        statement.bind(3, blob: self.pack(bytes))
        try statement.run()
    }
}
