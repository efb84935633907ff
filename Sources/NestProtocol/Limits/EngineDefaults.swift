import NestModel

/// What a commit, a live result and a background read may cost. Read them by name from ``Limits``.
public struct EngineDefaults: Sendable {
    @Bound(.waits, "Requests that share one disk transaction")
    public var requestsPerCommitMax = 512

    @Bound(.cut, "Time that a live result without subscribers is kept")
    public var unusedResultSeconds = 60

    @Bound(.cut, "The row logs and trees of results without subscribers")
    public var unusedResultBytesMax = 64 << 20

    @Bound(
        .refused,
        "All live results of a store, followed or not; above it a subscription that would make another is refused with BUSY"
    )
    public var liveResultBytesMax = 2 << 30

    @Bound(.cut, "All row logs of a store, from which laggards and returning clients get their net diffs")
    public var rowLogBytesMax = 256 << 20

    @Bound(.refused, "Objects of the sub-trees that predicates of live results name")
    public var subtreeMembersMax = 16 << 20

    @Bound(
        .waits,
        "Objects below the root of a token's scope that are read in one turn of the engine; requests of the token wait until all have been read, once for all its connections"
    )
    public var scopeRowsPerTurnMax = 4_096

    @Bound(
        .inner,
        "Objects that a batch may touch and whose effect on results that read them is followed one by one; above it those results are read anew"
    )
    public var relatedTouchesMax = 50_000

    @Bound(.cut, "Rows of either side, up to which RESUBSCRIBE to another result is answered by the difference")
    public var changedRowsMax = 10_000

    @Bound(
        .waits,
        "What the windows of one batch may cost on the engine's thread, in units of about two microseconds; the others get one net diff a little later"
    )
    public var windowWorkMax = 10_000

    @Bound(
        .waits,
        "What the fetches and subscriptions of one batch may cost on the engine's thread, in units of about a microsecond: 1 for each object looked at, row encoded and change read from the journal, 8 for each request. The others are answered by the next batches, between which commits go on"
    )
    public var admissionWorkMax = 5_000

    @Bound(
        .refused,
        "What one write may look at and change, in steps of one to ten microseconds: an object read, written, or passed on the way up"
    )
    public var writeStepsMax = 1 << 26

    @Bound(.refused, "The same for a write by a token that is confined to a sub-tree; also the rows of its imports")
    public var confinedWriteStepsMax = 1 << 15

    @Bound(.refused, "The same for the preview of an undo")
    public var previewStepsMax = 1 << 17

    @Bound(.refused, "Rows of one import")
    public var importRowsMax = 1 << 22

    @Bound(.waits, "Steps of the writes of one turn; the writes after it wait until other connections had theirs")
    public var turnStepsMax = 1 << 14

    @Bound(
        .waits,
        "Estimated time that live results take to follow the writes of one turn; results beyond it lag and are read anew beside the commits"
    )
    public var evaluationNanosecondsMax = 20_000_000

    @Bound(
        .refused,
        "Memory that nestd holds for clients: a quarter for connections, a quarter for answers in the making, half for live results. nestd's limits.memoryBytes sets another"
    )
    public var memoryBytesMax = 4 << 30

    @Bound(.refused, "Rows of one answer")
    public var answerBytesMax = 256 << 20

    @Bound(.waits, "Bytes of answers that a connection is given before it has taken those before")
    public var answerBytesUnreadMax = 1 << 20

    @Bound(
        .cut,
        "Sessions remembered; beyond it the one that has not written for longest is forgotten, with what it could undo"
    )
    public var sessionsMax = 200_000

    @Bound(
        .inner,
        "Rows up to which a result is read between two commits; a larger one is read beside them, and caught up"
    )
    public var asideRowsMin = 2_000

    @Bound(.inner, "Rows touched since the base, above which a quarter of the result is answered by a snapshot")
    public var differenceRowsMin = 256

    @Bound(.refused, "Journal read to answer a client that returns after a restart")
    public var resumeJournalRevisionsMax = 100_000

    @Bound(
        .waits,
        "Journal read at a time for one subscription to changes, but for the last part of a change set that it reaches"
    )
    public var changePageBytes = 64 << 10

    @Bound(.waits, "Such pages in one batch; the subscriptions over it have their turn in the next")
    public var changePagesPerBatchMax = 4

    init() {}
}
