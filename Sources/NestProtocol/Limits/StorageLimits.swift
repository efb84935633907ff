import NestModel

/// Limits of the disk, the journal and undo. Read them by name from ``Limits``.
public struct StorageLimits: Sendable {
    @Bound(
        .refused,
        "Free bytes on the disk of the store below which writes are refused, while reads go on. nestd --min-free changes it"
    )
    public var diskFreeBytesMin = 64 << 20

    @Bound(
        .refused,
        "Rows that get a value or are indexed when a running server gets another model; a row counts once for each. Commits wait meanwhile"
    )
    public var liveModelRowsMax = 1_000_000

    @Bound(
        .cut,
        "Models that running servers have replaced and that the store remembers, so that nestd knows an older file"
    )
    public var replacedModelsMax = 256

    @Bound(.cut, "Changes of a model in the answer to APPLY_MODEL; those that cannot be made come first")
    public var modelChangesMax = 1_000

    @Bound(.cut, "Bytes of the text of such a change, and of its obstacle")
    public var modelChangeBytesMax = 512

    @Bound(.inner, "Interval at which the server checks the store's file and its free disk space")
    public var storeHealthSeconds = 1

    @Bound(.cut, "Bytes of the text of one problem, and of the name of a step")
    public var checkProblemBytesMax = 1 << 10

    @Bound(.cut, "Revisions kept in the journal")
    public var journalRevisionsMax = 1_000_000

    @Bound(.cut, "Bytes kept in the journal")
    public var journalBytesMax = 1 << 30

    @Bound(.cut, "Time for which revisions are kept in the journal")
    public var journalSeconds = 7 * 24 * 3_600

    @Bound(.inner, "Bytes of a part of a change set")
    public var journalBlockBytes = 256 << 10

    @Bound(
        .inner,
        "Objects, numbers or runs of ids that each collection of a bulk write holds in memory; further ones are in a temporary file"
    )
    public var bulkObjectsInMemoryMax = 16_384

    @Bound(.inner, "Bytes of a piece in which the store keeps a large value")
    public var largeValuePieceBytes = 64 << 10

    @Bound(.cut, "Large values that a session has sent and that no object has yet; the oldest are dropped")
    public var stagedValuesPerSessionMax = 16

    @Bound(.cut, "Time after which a large value that no object has yet is dropped")
    public var stagedValueSeconds = 24 * 3_600

    @Bound(.refused, "Large values of all sessions that no object has yet, and parts of those that are arriving")
    public var stagedValuesMax = 4_096

    @Bound(.refused, "Bytes of the large values of all sessions that no object has yet")
    public var stagedValueBytesMax = 1 << 30

    @Bound(.inner, "Bytes of a large value that the store takes in one commit; those of others come between them")
    public var valuePartBytes = 1 << 20

    @Bound(.inner, "Large values that the store deletes in one step, when nothing can set or restore them any more")
    public var droppedValuesMax = 4_096

    @Bound(.inner, "Bytes of such large values after which a step deletes none more")
    public var droppedValueBytesMax = 64 << 20

    @Bound(.cut, "Undo entries of one session; the oldest are dropped")
    public var undoEntriesPerSessionMax = 1_000

    @Bound(.cut, "Bytes of the undo entries of one session; the oldest are dropped")
    public var undoBytesPerSessionMax = 64 << 20

    /// A group with so many transactions accepts no more.
    @Bound(.cut, "Transactions of one undo entry")
    public var undoEntryTransactionsMax = 1_000

    @Bound(.refused, "Open groups of one session")
    public var undoGroupsPerSessionMax = 16

    @Bound(.cut, "Time without a write after which a group is closed")
    public var undoGroupSeconds = 300

    @Bound(.refused, "The longest time between two coalesced writes")
    public var coalesceMillisecondsMax = 60_000

    @Bound(
        .cut,
        "Changes of one object that the server reads to find the one that set a value; beyond it an answer names the object's last change. Also parts of the journal that it reads to find the last change that a confined token sees"
    )
    public var changesSearchedMax = 64

    @Bound(
        .cut,
        "Parts of the journal that the server reads for one HISTORY of an object; then the page ends. Each transaction has one, and large ones have more"
    )
    public var objectHistoryPartsMax = 64

    @Bound(.cut, "Bytes of the objects listed by a preview")
    public var previewBytesMax = 512 << 10

    @Bound(.cut, "Time without a write after which a session is forgotten, with its undo stacks")
    public var sessionSeconds = 30 * 24 * 3_600

    @Bound(.cut, "Idempotency keys kept")
    public var idempotencyKeysMax = 1_000_000

    @Bound(.cut, "Time for which idempotency keys are kept")
    public var idempotencyKeySeconds = 24 * 3_600

    init() {}
}
