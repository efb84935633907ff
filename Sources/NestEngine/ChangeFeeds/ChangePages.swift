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
    let sides: PairSides
    private let pageBytes: Int
    /// Of this batch.
    private var pages: [Key: Page] = [:]
    /// The row of the journal read last: another page may go on in it.
    private var row: [JournalEntry] = []
    /// Pages read, over all batches.
    private(set) var readCount = 0
    private var readInBatch = 0

    init(_ store: Store, pageBytes: Int) {
        self.store = store
        self.pageBytes = pageBytes
        self.sides = PairSides(store.layout)
    }

    /// Everything after `start`, up to the head or a page's end; `nil` when this batch has read as many pages as it
    /// may. Precondition: the journal reaches back to `start`.
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

    /// Whether the revision after `base` has a part at this place. Precondition: the journal reaches back to `base`,
    /// and there is a revision after it.
    func hasPart(at place: Int, after base: Revision) throws(StoreError) -> Bool {
        guard let entry = try self.entry(after: base) else { return false }
        return place < entry.partCount
    }

    /// The batch is over. `isMoreWanted`: somebody will go on where a page has ended.
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
            // However small a page is, it is a step forward.
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

    /// What clients get of the part that ends at the cursor; `nil` when that is nothing.
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
            objects: objects
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
    /// About what it takes in the journal.
    fileprivate var byteCount: Int { 48 + self.name.utf8.count }
}
