import NestModel

/// The disk, the journal and undo. Read them by name from ``Limits``.
public struct StorageLimits: Sendable {
    @Bound(
        .refused,
        "Bytes left on the disk of the store under which no write is taken; reading goes on. nestd --min-free says otherwise"
    )
    public var diskFreeBytesMin = 64 << 20

    @Bound(.inner, "How often the server looks at the store's file and at the room beside it")
    public var storeWatchSeconds = 1

    @Bound(.cut, "One of them, and the name of a step")
    public var checkProblemBytesMax = 1 << 10

    @Bound(.cut, "Journal kept")
    public var journalRevisionsMax = 1_000_000

    @Bound(.cut, "Journal kept")
    public var journalBytesMax = 1 << 30

    @Bound(.cut, "Journal kept")
    public var journalSeconds = 7 * 24 * 3_600

    @Bound(.inner, "Part of a change set")
    public var journalBlockBytes = 256 << 10

    @Bound(
        .inner,
        "Objects, numbers or runs of ids that each collection of a bulk write holds in memory; more are in a temporary file"
    )
    public var bulkObjectsInMemoryMax = 16_384

    @Bound(.cut, "The oldest are dropped")
    public var undoEntriesPerSessionMax = 1_000

    @Bound(.cut, "The oldest are dropped")
    public var undoBytesPerSessionMax = 64 << 20

    /// Transactions that one undo entry is made of: a group that has so many takes no more.
    @Bound(.cut, "Transactions of one undo entry")
    public var undoEntryTransactionsMax = 1_000

    @Bound(.refused, "Open groups of one session")
    public var undoGroupsPerSessionMax = 16

    @Bound(.cut, "Without a write for so long a group is closed")
    public var undoGroupSeconds = 300

    @Bound(.refused, "The longest time between two of them")
    public var coalesceMillisecondsMax = 60_000

    @Bound(
        .cut,
        "Changes of one object that the server reads to find which one gave it a value; beyond that an answer names its last change. Also parts of the journal that it reads to find the last change that a confined token sees"
    )
    public var changesSearchedMax = 64

    @Bound(.cut, "Bytes of such a list")
    public var previewBytesMax = 512 << 10

    @Bound(.cut, "A session that has not written for so long is forgotten, with what it could undo")
    public var sessionSeconds = 30 * 24 * 3_600

    @Bound(.cut, "Keys kept")
    public var idempotencyKeysMax = 1_000_000

    @Bound(.cut, "Time that keys are kept")
    public var idempotencyKeySeconds = 24 * 3_600

    init() {}
}
