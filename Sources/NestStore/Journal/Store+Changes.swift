import NestModel
import NestSchema

/// One revision in the journal. Its objects are read in parts: the first part is inside the journal row, each other
/// part is a block.
package struct JournalEntry: Sendable {
    package let header: JournalHeader
    fileprivate let inline: [UInt8]

    /// The number of parts.
    package var partCount: Int { 1 + self.header.blockCount }
}

extension Store {
    /// Returns the revisions after `base` that are in the same journal row as the first of them, oldest first; `nil` at
    /// the head. Reads one row, which has at most `Limits.requestsPerCommitMax` revisions.
    package func journalEntries(after base: Revision) throws(StoreError) -> [JournalEntry]? {
        try self.journal.row(after: base)?
            .filter { $0.header.revision > base }
            .map { JournalEntry(header: $0.header, inline: $0.changes) }
    }

    /// Returns one part of a revision's objects, and its size in bytes. Parts are counted from 0.
    package func changes(of entry: JournalEntry, part: Int) throws(StoreError) -> (
        changes: [ObjectChange], byteCount: Int
    ) {
        guard part > 0 else { return (try self.journal.inlineChanges(entry.inline).changes, entry.inline.count) }
        return try self.journal.block(entry.header.revision, part - 1)
    }

    /// Returns the objects of one block of a bulk change set, which need not be committed yet. Blocks are counted from
    /// 0.
    package func changes(ofBlock number: Int, of revision: Revision) throws(StoreError) -> [ObjectChange] {
        try self.journal.block(revision, number).changes
    }
}
