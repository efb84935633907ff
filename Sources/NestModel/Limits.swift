/// Every bound that nest keeps, in one place. `protocol.md` and `nestd --print-limits` quote it by `Limits.all`.
public enum Limits {
    // Values and requests
    /// Object ids and revisions stay exact in a JSON number.
    public static let objectIDMax: Int64 = 1 << 53 - 1
    /// One string or data value.
    public static let valueBytesMax = 64 << 10
    /// All strings and data of one object: it must fit into a frame beside a chunk of others.
    public static let objectBytesMax = 512 << 10
    /// An undo entry's or client's name.
    public static let nameBytesMax = 256
    public static let mutationsPerTransactionMax = 10_000
    public static let preconditionsPerTransactionMax = 10_000
    /// Objects that one step may set a to-many relationship to.
    public static let relatedPerMutationMax = 100_000
    public static let sortDescriptorsMax = 8
    /// Values of related objects and counts that a request may have sent with each row.
    public static let columnsMax = 64
    /// Comparisons and connectives of a predicate.
    public static let predicateNodesMax = 256
    public static let predicateDepthMax = 32
    /// Values of one `IN`.
    public static let predicateValuesMax = 10_000
    /// A pattern or text that a predicate compares with.
    public static let patternBytesMax = 1 << 10
    /// Relationships that a path follows.
    public static let pathStepsMax = 4
    public static let propertiesPerEntityMax = 256
    public static let entitiesPerModelMax = 1_000
    /// Faults listed in one refusal; more are counted.
    public static let faultsPerErrorMax = 100
    /// Levels of a hierarchy that one import may add.
    public static let depthMax = 1 << 20
    public static let historyPageMax = 1_000
    /// Transactions that the server looks at for one HISTORY of a session; then the page ends.
    public static let historyHeadersMax = 16_384
    public static let statisticsMax = 1_000
    public static let clientsPageMax = 1_000
    /// Parts, paths, tables or sub-trees of one explanation.
    public static let explanationListMax = 1_000
    /// One text of an explanation; a server cuts longer ones.
    public static let explanationTextBytesMax = 64 << 10

    // Frames
    public static let frameBytesMax = 1 << 20
    /// Before the handshake is done.
    public static let frameBytesBeforeWelcomeMax = 4 << 10
    /// A smaller body is never compressed.
    public static let frameCompressedBytesMin = 1 << 10
    /// A body that came compressed.
    public static let frameUnpackedBytesMax = 1 << 20
    /// A part of a snapshot or of a sub-tree stream.
    public static let chunkBytes = 256 << 10
    /// Bytes of a chunk that came compressed.
    public static let chunkUnpackedBytesMax = 1 << 20
    /// Rows of a chunk.
    public static let chunkRowsMax = 65_536
    /// Rows of a chunk of an import for each of its bytes, as it came: few bytes must not be much work.
    public static let chunkRowsPerByteMax = 16
    /// A diff above this is not pushed; its subscribers get it paced, as laggards do.
    public static let sharedDiffBytesMax = 256 << 10

    // Ids of frames: which of the two it is shows in the highest bit
    /// Requests have the ids from 1 to this.
    public static let requestIDMax: UInt32 = 1 << 31 - 1
    /// Views have the ids from this to 2^32-1.
    public static let viewIDMin: UInt32 = 1 << 31

    // Connections
    public static let connectionsMax = 10_000
    /// Of those, connections from one address that is not this machine's: the others are for everybody else, an operator on
    /// the machine among them.
    public static let connectionsPerAddressMax = 9_000
    public static let handshakeSeconds = 5
    /// What a peer may send before HELLO, preface and frames to be skipped together.
    public static let bytesBeforeHelloMax = 8 << 10
    /// Time for a frame that has begun to be complete, besides that for its length.
    public static let frameSeconds = 30
    /// The slowest that a frame may come.
    public static let frameBytesPerSecondMin = 1 << 10
    /// Frames of a connection, each second for long, that ask the engine for nothing: PING, CREDIT, what is refused or skipped.
    public static let lightFramesPerSecondMax = 10_000
    /// Such frames at once.
    public static let lightFramesBurstMax = 20_000
    /// Such frames of a connection until the others of its event loop have had their turn.
    public static let lightFramesPerTurnMax = 128
    /// A part of an upload below this is such a frame.
    public static let lightChunkBytesMax = 1 << 10
    public static let requestsInFlightPerConnectionMax = 128
    /// Of those, fetches and subscriptions, whose answers may be large.
    public static let resultsInFlightPerConnectionMax = 16
    /// Bodies of requests in flight; above it no more are read until some are answered.
    public static let requestBytesInFlightPerConnectionMax = 4 << 20
    public static let subscriptionsPerConnectionMax = 256
    public static let transfersPerConnectionMax = 4
    /// Tokens of a store; a list of so many fits into a frame.
    public static let tokensMax = 3_000
    /// The greatest number of a token.
    public static let tokenNumberMax: UInt64 = 1 << 53 - 1
    /// The answer to the first wrong token of an address waits so long, and twice as long each time.
    public static let loginDelayMillisecondsMin = 100
    /// The longest such wait.
    public static let loginDelayMillisecondsMax = 4_000
    /// Time after its last wrong token for which an address is remembered.
    public static let loginMemorySeconds = 600
    /// Addresses remembered; above it the oldest is forgotten.
    public static let loginAddressesMax = 10_000
    /// Silence after which a peer is asked for a sign of life.
    public static let pingIntervalSeconds = 20
    /// Silence after that before the connection is closed.
    public static let pingTimeoutSeconds = 10
    /// Bytes that wait for a connection that does not drain; above it the connection is closed.
    public static let outputBytesMax = 64 << 20
    /// Time without progress on a connection with bytes waiting.
    public static let outputStallSeconds = 60
    /// Bytes of a stream a sender may send before it is granted more.
    public static let creditBytesInitial = 1 << 20
    public static let creditBytesMax = 1 << 40

    /// Bytes waiting for a connection above which no more requests are read from it.
    public static let outputBytesUnreadMax = 1 << 20
    /// What all connections hold together: received and not yet done with, and waiting to be sent. Above it the connection that
    /// holds most is closed.
    public static let connectionBytesMax = 1 << 30
    /// Bytes handed to the socket's queue: below the first more are handed over, above the second none.
    public static let socketBytesLow = 64 << 10
    public static let socketBytesHigh = 512 << 10
    /// Time for a last frame to reach a peer before its connection is cut.
    public static let lingerSeconds = 2
    /// Time that requests in flight get when the server stops.
    public static let shutdownSeconds = 5
    public static let acceptBacklog = 4_096
    /// Time for which nothing is accepted when the system has no descriptor or memory for it.
    public static let acceptPauseMilliseconds = 100
    /// Connections each second, for long, that may end before WELCOME; while there are more, few are accepted at a time.
    public static let rejectedPerSecondMax = 200
    /// Such connections at once.
    public static let rejectedBurstMax = 1_000
    /// Time between those few and the next.
    public static let acceptPaceMilliseconds = 2
    /// Connections over the maximum that are told so at one time; after that nothing is accepted.
    public static let refusedConnectionsMax = 32
    /// Descriptors that are never given to connections: store, spool files, event loops.
    public static let fileDescriptorsReserved = 128

    // Engine
    public static let requestsPerCommitMax = 512
    /// Time that a live result without subscribers is kept.
    public static let unusedResultSeconds = 60
    /// The row logs and trees of results without subscribers.
    public static let unusedResultBytesMax = 64 << 20
    /// All live results of a store, followed or not; above it no new one is made.
    public static let liveResultBytesMax = 2 << 30
    /// All row logs of a store, from which laggards and returning clients get their net diffs.
    public static let rowLogBytesMax = 256 << 20
    /// Objects of the sub-trees that predicates of live results name.
    public static let subtreeMembersMax = 16 << 20
    /// Objects below the root of a token's scope that are read in one turn of the engine. Requests of the token wait until all
    /// have been read, once for all its connections.
    public static let scopeRowsPerTurnMax = 4_096
    /// Objects that a batch may touch and whose effect on results that read them is followed one by one; above it those
    /// results are read anew.
    public static let relatedTouchesMax = 50_000
    /// Rows of either side, up to which a subscription that is changed to another result is told the difference.
    public static let changedRowsMax = 10_000
    /// What the windows of one batch may cost on the engine thread, in units of about two microseconds; the others are told a
    /// little later.
    public static let windowWorkMax = 10_000
    /// What the requests for results of one batch may cost on the engine thread, in units of about a microsecond: one for each
    /// object looked at, row encoded and change read from the journal, and a little for each request; the others wait for the
    /// next batch.
    public static let admissionWorkMax = 5_000
    /// What one write may look at and change, in steps of one to ten microseconds: an object read, written, or passed on the
    /// way up.
    public static let writeStepsMax = 1 << 26
    /// The same for a write by a token that is confined to a sub-tree; also the rows of its imports.
    public static let confinedWriteStepsMax = 1 << 15
    /// The same for the preview of an undo.
    public static let previewStepsMax = 1 << 17
    /// Rows of one import.
    public static let importRowsMax = 1 << 22
    /// Steps of the writes of one turn; the writes after it wait until other connections had theirs.
    public static let turnStepsMax = 1 << 14
    /// Estimated time that live results take to follow the writes of one turn; results beyond it lag and are read anew beside
    /// the commits.
    public static let evaluationNanosecondsMax = 20_000_000
    /// Memory that nestd holds for clients: a quarter for connections, a quarter for answers in the making, half for live
    /// results. nestd's limits.memoryBytes sets another.
    public static let memoryBytesMax = 4 << 30
    /// Rows of one answer.
    public static let answerBytesMax = 256 << 20
    /// Bytes of answers that a connection is given before it has taken those before.
    public static let answerBytesUnreadMax = 1 << 20
    /// Sessions remembered; beyond it the one that has not written for longest is forgotten, with what it could undo.
    public static let sessionsMax = 200_000
    /// Rows up to which a result is read between two commits; a larger one is read beside them, and caught up.
    public static let asideRowsMin = 2_000
    /// Rows touched since the base, above which a quarter of the result is answered by a snapshot.
    public static let differenceRowsMin = 256
    /// Journal read to answer a client that returns after a restart.
    public static let resumeJournalRevisionsMax = 100_000
    /// Journal read at a time for one subscription to changes, but for the last part of a change set that it reaches.
    public static let changePageBytes = 64 << 10
    /// Such pages in one batch; the subscriptions over it have their turn in the next.
    public static let changePagesPerBatchMax = 4

    // The disk
    /// Bytes left on the disk of the store under which no write is taken; reading goes on. `nestd --min-free` says otherwise.
    public static let diskFreeBytesMin = 64 << 20
    /// How often the server looks at the store's file and at the room beside it.
    public static let storeWatchSeconds = 1

    /// Problems that a check of the store lists; more are counted.
    public static let checkProblemsMax = 100
    /// One of them, and the name of a step.
    public static let checkProblemBytesMax = 1 << 10

    // Journal and undo
    public static let journalRevisionsMax = 1_000_000
    public static let journalBytesMax = 1 << 30
    public static let journalSeconds = 7 * 24 * 3_600
    public static let journalBlockBytes = 256 << 10
    /// Objects, numbers or runs of ids that each collection of a bulk write holds in memory; more are in a temporary file.
    public static let bulkObjectsInMemoryMax = 16_384
    public static let undoEntriesPerSessionMax = 1_000
    public static let undoBytesPerSessionMax = 64 << 20
    /// What an undo left as it found it, listed in one answer; more are counted.
    public static let undoConflictsMax = 100
    /// Transactions that one undo entry is made of: a group that has so many takes no more.
    public static let undoEntryTransactionsMax = 1_000
    /// Open groups of one session.
    public static let undoGroupsPerSessionMax = 16
    /// Without a write for so long a group is closed.
    public static let undoGroupSeconds = 300
    /// The key by which a client joins writes into one undo entry.
    public static let coalesceKeyBytesMax = 64
    /// The longest time between two such writes.
    public static let coalesceMillisecondsMax = 60_000
    /// Changes of one object that are read to find who gave it a value.
    public static let changesSearchedMax = 64
    /// Objects listed by a preview of an undo.
    public static let previewObjectsMax = 1_000
    /// Bytes of such a list.
    public static let previewBytesMax = 512 << 10
    /// A session that has not written for so long is forgotten, with what it could undo.
    public static let sessionSeconds = 30 * 24 * 3_600
    public static let idempotencyKeysMax = 1_000_000
    public static let idempotencyKeySeconds = 24 * 3_600

    // Clients
    /// Requests that wait for a connection or for one of the server's places.
    public static let clientRequestsWaitingMax = 65_536
    /// Bytes of changes that subscribers have not taken yet; above it the socket is not read, unless an answer is due.
    public static let clientQueueBytesMax = 8 << 20
    /// The same, whether or not an answer is due.
    public static let clientQueueBytesHardMax = 64 << 20
    /// The first pause between attempts to connect; it doubles up to the longest.
    public static let reconnectMillisecondsMin = 100
    public static let reconnectMillisecondsMax = 30_000
    /// A connection that lived so long was a good one: the next attempt is made at once again.
    public static let reconnectHealthySeconds = 30

    // Transfers
    /// Bytes that transfers of the whole server may hold in their spool files.
    public static let spoolBytesMax = 16 << 30
    /// Threads that read sub-trees, and as many that read and write spool files.
    public static let transferThreads = 2
    /// Seconds for which one read transaction may keep the write-ahead log from being reset.
    public static let readTransactionSecondsMax = 600
}
