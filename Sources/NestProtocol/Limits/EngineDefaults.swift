import NestModel

/// Limits of the cost of a commit, a live result and a background snapshot read. Read them by name from ``Limits``.
public struct EngineDefaults: Sendable {
    @Bound(.waits, "Requests that share one disk transaction")
    public var requestsPerCommitMax = 512

    @Bound(.cut, "Time over which STATISTICS has the times of commits")
    public var commitTimesSeconds = 60

    @Bound(.cut, "Parts of that time, of which the oldest is forgotten as a whole")
    public var commitTimesSlices = 12

    @Bound(.cut, "Time for which a live result without subscribers is kept")
    public var unusedResultSeconds = 60

    @Bound(.cut, "Bytes of the row logs and trees of results without subscribers")
    public var unusedResultBytesMax = 64 << 20

    @Bound(.cut, "Bytes of the bodies of objects that were asked for, kept until the objects change")
    public var objectBodyBytesMax = 16 << 20

    @Bound(
        .refused,
        "Bytes of all live results of a store, with and without subscribers; above it a subscription that needs another is refused with BUSY"
    )
    public var liveResultBytesMax = 2 << 30

    @Bound(.cut, "Bytes of all row logs of a store, from which lagging and resuming clients get their net differences")
    public var rowLogBytesMax = 256 << 20

    @Bound(
        .refused,
        "Rows of an outline, in its window or not; an outline that grows beyond it ends with LIMIT_EXCEEDED"
    )
    public var outlineRowsMax = 1 << 20

    @Bound(.refused, "Objects of the sub-trees that predicates of live results name")
    public var subtreeMembersMax = 16 << 20

    @Bound(
        .waits,
        "Objects below the root of a token's scope that the engine reads in one turn; the token's requests wait until all are read, once for all its connections"
    )
    public var scopeRowsPerTurnMax = 4_096

    @Bound(
        .inner,
        "Changed objects of a batch whose effect on dependent results is followed one by one; above it those results are read again"
    )
    public var dependencyChangesMax = 50_000

    @Bound(
        .waits,
        "Values of related objects that functions such as @sum read in one turn; results that need more are read by a background snapshot read"
    )
    public var aggregatedRowsPerTurnMax = 100_000

    @Bound(.refused, "Values of related objects that functions read for one window of an outline")
    public var outlineAggregatedRowsMax = 10_000

    @Bound(
        .inner,
        "Bytes of the sums and ordered values of related objects that the engine keeps; above it they are read when needed"
    )
    public var aggregateBytesMax = 256 << 20

    @Bound(.cut, "Rows on either side up to which RESUBSCRIBE to another result is answered with the difference")
    public var changedRowsMax = 10_000

    @Bound(
        .waits,
        "Cost of the windows of one batch on the engine's thread, in units of about two microseconds; the other windows get one net difference a little later"
    )
    public var windowWorkMax = 10_000

    @Bound(
        .waits,
        "Cost of the fetches and subscriptions of one batch on the engine's thread, in units of about a microsecond: 1 for each object examined, row encoded and change read from the journal, 8 for each request. The next batches answer the others, with commits in between"
    )
    public var admissionWorkMax = 5_000

    @Bound(
        .refused,
        "Work of one write, in steps of one to ten microseconds: an object read, written, or passed on the way to the root"
    )
    public var writeStepsMax = 1 << 26

    @Bound(.refused, "The same for a write with a confined token; also the rows of its imports")
    public var confinedWriteStepsMax = 1 << 15

    @Bound(.refused, "The same for the preview of an undo")
    public var previewStepsMax = 1 << 17

    @Bound(.refused, "Rows of one import")
    public var importRowsMax = 1 << 22

    @Bound(.waits, "Steps of the writes of one turn; later writes wait until other connections have had their turn")
    public var turnStepsMax = 1 << 14

    @Bound(
        .inner,
        "Objects above which a write is prepared in parts, between the commits of other clients; a write that cannot be prepared runs as one piece"
    )
    public var preparedObjectsMin = 1 << 14

    @Bound(
        .inner,
        "Objects that get an owner, or lose theirs, when a prepared write is committed; with more it runs as one piece"
    )
    public var preparedTopsMax = 1 << 14

    @Bound(
        .waits,
        "Estimated time that live results need to follow the writes of one turn; results beyond it lag and are read again by a background snapshot read"
    )
    public var evaluationNanosecondsMax = 20_000_000

    @Bound(
        .refused,
        "Memory that nestd holds for clients: a quarter for connections, a quarter for answers in preparation, half for live results. nestd's limits.memoryBytes changes it"
    )
    public var memoryBytesMax = 4 << 30

    @Bound(.refused, "Bytes of the rows of one answer")
    public var answerBytesMax = 256 << 20

    @Bound(.waits, "Bytes of answers that a connection gets before it has accepted earlier ones")
    public var answerBytesUnreadMax = 1 << 20

    @Bound(
        .cut,
        "Sessions remembered; beyond it the one without a write for longest is forgotten, with its undo stacks"
    )
    public var sessionsMax = 200_000

    @Bound(
        .inner,
        "Rows up to which a result is read between two commits; larger ones use a background snapshot read, then catch up"
    )
    public var backgroundReadRowsMin = 2_000

    @Bound(
        .inner,
        "Rows changed since the base above which a change of over a quarter of the result is answered with a snapshot"
    )
    public var differenceRowsMin = 256

    @Bound(.refused, "Revisions of the journal read to answer a client that resumes after a restart")
    public var resumeJournalRevisionsMax = 100_000

    @Bound(
        .waits,
        "Bytes of the journal read at a time for one subscription to changes; the last part of a change set may exceed it"
    )
    public var changePageBytes = 64 << 10

    @Bound(.waits, "Such reads in one batch; the other subscriptions have their turn in the next")
    public var changePagesPerBatchMax = 4

    init() {}
}
