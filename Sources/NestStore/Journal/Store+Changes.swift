import NestModel
import NestSchema

/// One revision as the journal has it: its objects are read in parts, the first of which is inside its row, each other
/// one a block.
package struct JournalEntry: Sendable {
    package let header: JournalHeader
    fileprivate let inline: [UInt8]

    /// How many parts its objects are in.
    package var partCount: Int { 1 + self.header.blockCount }
}

extension Store {
    /// The revisions committed together with the first after `base`, and after `base`; oldest first. `nil` at the head.
    /// Reads one row of the journal, of at most `Limits.requestsPerCommitMax` revisions.
    package func journalEntries(after base: Revision) throws(StoreError) -> [JournalEntry]? {
        try self.journal.row(after: base)?
            .filter { $0.header.revision > base }
            .map { JournalEntry(header: $0.header, inline: $0.changes) }
    }

    /// One part of a revision's objects, and how many bytes of the journal it takes. Parts are counted from 0.
    package func changes(of entry: JournalEntry, part: Int) throws(StoreError) -> (
        changes: [ObjectChange], byteCount: Int
    ) {
        guard part > 0 else { return (try self.journal.inlineChanges(entry.inline).changes, entry.inline.count) }
        return try self.journal.block(entry.header.revision, part - 1)
    }

    /// The objects of one block of a bulk change set, counted from 0; also of one that is not committed yet.
    package func changes(ofBlock number: Int, of revision: Revision) throws(StoreError) -> [ObjectChange] {
        try self.journal.block(revision, number).changes
    }
}
