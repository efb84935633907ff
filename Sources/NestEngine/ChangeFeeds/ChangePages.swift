import NestProtocol
import NestModel
import NestStore
import NestSchema

/// Reads the journal for subscriptions to changes, a page at a time. Subscriptions with the same cursor and the same
/// entities share a page, read and encoded once.
final class ChangePages {
    struct Page {
        /// Bodies of CHANGE_SET frames.
        let bodies: [SharedBytes]
        let end: ChangeCursor
    }

    private struct Key: Hashable {
        var start: ChangeCursor
        var kinds: Set<EntityNumber>?
    }

    private let store: Store
    private(set) var sides: PairSides
    private let pageBytes: Int
    /// The pages of this batch.
    private var pages: [Key: Page] = [:]
    /// The entries of the journal row that was read last; the next page may begin in it.
    private var row: [JournalEntry] = []
    /// The number of pages read, over all batches.
    private(set) var readCount = 0
    private var readInBatch = 0

    init(_ store: Store, pageBytes: Int) {
        self.store = store
        self.pageBytes = pageBytes
        self.sides = PairSides(store.layout)
    }

    func modelChanged() { self.sides = PairSides(self.store.layout) }

    /// Returns the changes after `start`, up to the head or the size limit of a page; `nil` when this batch has read as
    /// many pages as allowed. Precondition: the journal reaches back to `start`.
    func page(after start: ChangeCursor, of kinds: Set<EntityNumber>?) throws(StoreError) -> Page? {
        let key = Key(start: start, kinds: kinds)
        if let page = self.pages[key] { return page }
        guard self.readInBatch < Limits.changePagesPerBatchMax else { return nil }
        self.readInBatch += 1
        self.readCount += 1
        let page = try self.read(after: start, of: kinds)
        self.pages[key] = page
        return page
    }

    /// Whether the change set of the revision after `base` has a part with this index. Precondition: the journal
    /// reaches back to `base`, and there is a revision after it.
    func hasPart(at place: Int, after base: Revision) throws(StoreError) -> Bool {
        guard let entry = try self.entry(after: base) else { return false }
        return place < entry.partCount
    }

    /// Ends the batch. `isMoreWanted`: a subscription will continue where a page has ended.
    func endBatch(isMoreWanted: Bool) {
        if self.readInBatch > 0 { self.pages.removeAll(keepingCapacity: true) }
        self.readInBatch = 0
        if !isMoreWanted { self.row = [] }
    }

    private func read(after start: ChangeCursor, of kinds: Set<EntityNumber>?) throws(StoreError) -> Page {
        var cursor = start
        var bodies: [SharedBytes] = []
        var byteCount = 0
        while byteCount < self.pageBytes, let entry = try self.entry(after: cursor.revision) {
            byteCount += entry.header.byteCount
            // Every page contains at least one part, so that the cursor advances.
            var hasRead = false
            while cursor.place < entry.partCount, !hasRead || byteCount < self.pageBytes {
                let (changes, partBytes) = try self.store.changes(of: entry, part: cursor.place)
                hasRead = true
                byteCount += partBytes
                cursor.place += 1
                if let part = try self.part(changes, of: entry, upTo: &cursor, kinds) {
                    var body = ByteWriter()
                    body.write(changeSetPart: part)
                    bodies.append(SharedBytes(body.bytes))
                }
            }
            if cursor.place >= entry.partCount { cursor = ChangeCursor(revision: entry.header.revision) }
        }
        return Page(bodies: bodies, end: cursor)
    }

    /// Returns the part that ends at the cursor as clients receive it; `nil` if nothing is to be sent.
    private func part(
        _ changes: [ObjectChange],
        of entry: JournalEntry,
        upTo cursor: inout ChangeCursor,
        _ kinds: Set<EntityNumber>?
    ) throws(StoreError) -> ChangeSetPart? {
        var changed = ChangedObjects(self.store, self.sides)
        for change in changes { changed.add(change) }
        let objects = try changed.objects(of: kinds)
        let isLast = cursor.place >= entry.partCount
        guard !objects.isEmpty || (isLast && cursor.isInside) else { return nil }
        cursor.isInside = true
        return ChangeSetPart(
            revision: entry.header.revision,
            time: entry.header.time,
            sessionNumber: entry.header.sessionNumber,
            kind: entry.header.kind,
            reverted: entry.header.reverted,
            name: entry.header.name,
            place: isLast ? 0 : cursor.place,
            objects: objects,
            user: entry.header.user
        )
    }

    private func entry(after base: Revision) throws(StoreError) -> JournalEntry? {
        guard base < self.store.head else { return nil }
        let next = base.next
        if let first = self.row.first?.header.revision, first <= next {
            let index = Int(next.rawValue - first.rawValue)
            if index < self.row.count { return self.row[index] }
        }
        self.row = try self.store.journalEntries(after: base) ?? []
        return self.row.first
    }
}

extension JournalHeader {
    /// The approximate size of the header in the journal.
    fileprivate var byteCount: Int { 48 + self.name.utf8.count }
}
