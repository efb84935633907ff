extension Limits {
    /// Every limit, in the order in which they are declared.
    public static let all: [Limit] = [
        // Values and requests
        Limit("objectIDMax", Int(objectIDMax), .refused, "Object ids and revisions stay exact in a JSON number"),
        Limit("valueBytesMax", valueBytesMax, .refused, "One string or data value"),
        Limit(
            "objectBytesMax",
            objectBytesMax,
            .refused,
            "All strings and data of one object: it must fit into a frame beside a chunk of others"
        ),
        Limit("nameBytesMax", nameBytesMax, .refused, "An undo entry's or client's name"),
        Limit(
            "mutationsPerTransactionMax",
            mutationsPerTransactionMax,
            .refused,
            "Steps of a transaction. Larger writes are imports"
        ),
        Limit(
            "preconditionsPerTransactionMax",
            preconditionsPerTransactionMax,
            .refused,
            "Objects that one transaction may name"
        ),
        Limit(
            "relatedPerMutationMax",
            relatedPerMutationMax,
            .refused,
            "Objects that one step may set a to-many relationship to"
        ),
        Limit("sortDescriptorsMax", sortDescriptorsMax, .refused, "Keys of an order"),
        Limit(
            "columnsMax",
            columnsMax,
            .refused,
            "Values of related objects and counts that a request may have sent with each row"
        ),
        Limit("predicateNodesMax", predicateNodesMax, .refused, "Comparisons and connectives of a predicate"),
        Limit("predicateDepthMax", predicateDepthMax, .refused, "Levels of a predicate"),
        Limit("predicateValuesMax", predicateValuesMax, .refused, "Values of one IN"),
        Limit("patternBytesMax", patternBytesMax, .refused, "Bytes of a text that a predicate compares with"),
        Limit("pathStepsMax", pathStepsMax, .refused, "Relationships that a path follows"),
        Limit(
            "propertiesPerEntityMax",
            propertiesPerEntityMax,
            .refused,
            "Attributes and relationships of an entity and all that inherit from it; uniqueness constraints; "
                + "indexes"
        ),
        Limit("entitiesPerModelMax", entitiesPerModelMax, .refused, "Entities"),
        Limit("faultsPerErrorMax", faultsPerErrorMax, .cut, "Faults listed in one refusal; more are counted"),
        Limit("depthMax", depthMax, .refused, "Levels of a hierarchy that one import may add"),
        Limit("historyPageMax", historyPageMax, .cut, "Entries of one HISTORY"),
        Limit(
            "historyHeadersMax",
            historyHeadersMax,
            .cut,
            "Transactions that the server looks at for one HISTORY of a session; then the page ends"
        ),
        Limit("statisticsMax", statisticsMax, .cut, "Values of one STATISTICS"),
        Limit("clientsPageMax", clientsPageMax, .cut, "Connections of one CLIENTS"),
        Limit(
            "explanationListMax",
            explanationListMax,
            .cut,
            "Parts, paths, tables or sub-trees of one EXPLANATION"
        ),
        Limit(
            "explanationTextBytesMax",
            explanationTextBytesMax,
            .cut,
            "One text of an EXPLANATION; a server cuts longer ones"
        ),
        // Frames
        Limit("frameBytesMax", frameBytesMax, .closed, "Body of a frame"),
        Limit("frameBytesBeforeWelcomeMax", frameBytesBeforeWelcomeMax, .closed, "Before the handshake is done"),
        Limit("frameCompressedBytesMin", frameCompressedBytesMin, .inner, "A smaller body is never compressed"),
        Limit("frameUnpackedBytesMax", frameUnpackedBytesMax, .closed, "A body that came compressed"),
        Limit("chunkBytes", chunkBytes, .inner, "A part of a snapshot or of a sub-tree stream"),
        Limit(
            "chunkUnpackedBytesMax",
            chunkUnpackedBytesMax,
            .refused,
            "A chunk of a sub-tree that came compressed"
        ),
        Limit("chunkRowsMax", chunkRowsMax, .refused, "Rows of a chunk of a sub-tree"),
        Limit(
            "chunkRowsPerByteMax",
            chunkRowsPerByteMax,
            .refused,
            "Rows of a chunk of an import for each of its bytes, as it came"
        ),
        Limit(
            "sharedDiffBytesMax",
            sharedDiffBytesMax,
            .inner,
            "A diff above this is not pushed; its subscribers get it paced, as laggards do"
        ),
        // Ids of frames: which of the two it is shows in the highest bit
        Limit("requestIDMax", Int(requestIDMax), .refused, "Requests have the ids from 1 to this"),
        Limit("viewIDMin", Int(viewIDMin), .inner, "Views have the ids from this to 2^32-1"),
        // Connections
        Limit("connectionsMax", connectionsMax, .refused, "More are answered BUSY"),
        Limit(
            "connectionsPerAddressMax",
            connectionsPerAddressMax,
            .refused,
            "Of those, connections from one address (of IPv6: one network of 64 bits) that is not the server's own "
                + "machine. More are answered BUSY"
        ),
        Limit("handshakeSeconds", handshakeSeconds, .closed, "From connecting to WELCOME"),
        Limit(
            "bytesBeforeHelloMax",
            bytesBeforeHelloMax,
            .closed,
            "What a client may send before HELLO: the preface, and frames that are skipped"
        ),
        Limit(
            "frameSeconds",
            frameSeconds,
            .closed,
            "Time for a frame that has begun to be complete; for its length it has more (below)"
        ),
        Limit(
            "frameBytesPerSecondMin",
            frameBytesPerSecondMin,
            .closed,
            "For so many bytes a frame has one second more"
        ),
        Limit(
            "lightFramesPerSecondMax",
            lightFramesPerSecondMax,
            .closed,
            "Frames each second, for long, that ask for nothing: PING, PONG, CREDIT, CANCEL, GET_MODEL, frames "
                + "that are refused or skipped"
        ),
        Limit("lightFramesBurstMax", lightFramesBurstMax, .closed, "Such frames at once"),
        Limit(
            "lightFramesPerTurnMax",
            lightFramesPerTurnMax,
            .waits,
            "Such frames of a connection until others have had their turn: a millisecond"
        ),
        Limit("lightChunkBytesMax", lightChunkBytesMax, .closed, "A SUBTREE_CHUNK below this is such a frame"),
        Limit(
            "requestsInFlightPerConnectionMax",
            requestsInFlightPerConnectionMax,
            .waits,
            "More are not read until some are answered"
        ),
        Limit(
            "resultsInFlightPerConnectionMax",
            resultsInFlightPerConnectionMax,
            .waits,
            "Of those, fetches and subscriptions, whose answers may be large"
        ),
        Limit(
            "requestBytesInFlightPerConnectionMax",
            requestBytesInFlightPerConnectionMax,
            .waits,
            "Bodies of requests in flight. More are not read until some are answered"
        ),
        Limit(
            "subscriptionsPerConnectionMax",
            subscriptionsPerConnectionMax,
            .refused,
            "More are refused with LIMIT_EXCEEDED"
        ),
        Limit("transfersPerConnectionMax", transfersPerConnectionMax, .refused, "Sub-trees under way at a time"),
        Limit("tokensMax", tokensMax, .refused, "Tokens of a store; a list of so many fits into a frame"),
        Limit("tokenNumberMax", Int(tokenNumberMax), .refused, "The greatest number of a token"),
        Limit(
            "loginDelayMillisecondsMin",
            loginDelayMillisecondsMin,
            .waits,
            "The answer to the first wrong token of an address waits so long, and twice as long each time"
        ),
        Limit("loginDelayMillisecondsMax", loginDelayMillisecondsMax, .waits, "The longest such wait"),
        Limit(
            "loginMemorySeconds",
            loginMemorySeconds,
            .cut,
            "Time after its last wrong token for which an address is remembered"
        ),
        Limit("loginAddressesMax", loginAddressesMax, .cut, "Addresses remembered; above it the oldest is forgotten"),
        Limit(
            "pingIntervalSeconds",
            pingIntervalSeconds,
            .closed,
            "Silence after which a peer is asked for a sign of life"
        ),
        Limit(
            "pingTimeoutSeconds",
            pingTimeoutSeconds,
            .closed,
            "Silence after that before the connection is closed"
        ),
        Limit(
            "outputBytesMax",
            outputBytesMax,
            .closed,
            "Bytes that wait for a connection that does not drain; above it the connection is closed"
        ),
        Limit(
            "outputStallSeconds",
            outputStallSeconds,
            .closed,
            "Time without progress on a connection with bytes waiting"
        ),
        Limit(
            "creditBytesInitial",
            creditBytesInitial,
            .refused,
            "Bytes of a stream a sender may send before it is granted more"
        ),
        Limit("creditBytesMax", creditBytesMax, .cut, "Credit that a sender remembers"),
        Limit(
            "outputBytesUnreadMax",
            outputBytesUnreadMax,
            .waits,
            "Bytes waiting for a connection above which no more requests are read from it"
        ),
        Limit(
            "connectionBytesMax",
            connectionBytesMax,
            .closed,
            "What all connections hold together: received and not yet done with, and waiting to be sent. Above "
                + "it the connection that holds most is closed"
        ),
        Limit(
            "socketBytesLow",
            socketBytesLow,
            .inner,
            "Bytes handed to the socket's queue: below the first more are handed over, above the second none"
        ),
        Limit(
            "socketBytesHigh",
            socketBytesHigh,
            .waits,
            "Bytes handed to the socket's queue: above this no more are handed over"
        ),
        Limit(
            "lingerSeconds",
            lingerSeconds,
            .closed,
            "Time for a last frame to reach a peer before its connection is cut"
        ),
        Limit(
            "shutdownSeconds",
            shutdownSeconds,
            .closed,
            "Time that requests in flight get when the server stops"
        ),
        Limit("acceptBacklog", acceptBacklog, .inner, "Connections that wait to be accepted"),
        Limit(
            "acceptPauseMilliseconds",
            acceptPauseMilliseconds,
            .waits,
            "Time for which nothing is accepted when the system has no descriptor or memory for it"
        ),
        Limit(
            "rejectedPerSecondMax",
            rejectedPerSecondMax,
            .waits,
            "Connections each second, for long, that end before WELCOME; while there are more, few are accepted at a time"
        ),
        Limit("rejectedBurstMax", rejectedBurstMax, .waits, "Such connections at once"),
        Limit("acceptPaceMilliseconds", acceptPaceMilliseconds, .waits, "Time between those few and the next"),
        Limit(
            "refusedConnectionsMax",
            refusedConnectionsMax,
            .waits,
            "Connections over the maximum that are told so at one time; after that nothing is accepted"
        ),
        Limit(
            "fileDescriptorsReserved",
            fileDescriptorsReserved,
            .inner,
            "Descriptors that are never given to connections: store, spool files, event loops"
        ),
        // Engine
        Limit("requestsPerCommitMax", requestsPerCommitMax, .waits, "Requests that share one disk transaction"),
        Limit(
            "unusedResultSeconds",
            unusedResultSeconds,
            .cut,
            "Time that a live result without subscribers is kept"
        ),
        Limit(
            "unusedResultBytesMax",
            unusedResultBytesMax,
            .cut,
            "The row logs and trees of results without subscribers"
        ),
        Limit(
            "liveResultBytesMax",
            liveResultBytesMax,
            .refused,
            "All live results of a store, followed or not; above it a subscription that would make another is "
                + "refused with BUSY"
        ),
        Limit(
            "rowLogBytesMax",
            rowLogBytesMax,
            .cut,
            "All row logs of a store, from which laggards and returning clients get their net diffs"
        ),
        Limit(
            "subtreeMembersMax",
            subtreeMembersMax,
            .refused,
            "Objects of the sub-trees that predicates of live results name"
        ),
        Limit(
            "scopeRowsPerTurnMax",
            scopeRowsPerTurnMax,
            .waits,
            "Objects below the root of a token's scope that are read in one turn of the engine; requests of the token "
                + "wait until all have been read, once for all its connections"
        ),
        Limit(
            "relatedTouchesMax",
            relatedTouchesMax,
            .inner,
            "Objects that a batch may touch and whose effect on results that read them is followed one by one; "
                + "above it those results are read anew"
        ),
        Limit(
            "changedRowsMax",
            changedRowsMax,
            .cut,
            "Rows of either side, up to which RESUBSCRIBE to another result is answered by the difference"
        ),
        Limit(
            "windowWorkMax",
            windowWorkMax,
            .waits,
            "What the windows of one batch may cost on the engine's thread, in units of about two microseconds; "
                + "the others are told a little later, by one net diff"
        ),
        Limit(
            "admissionWorkMax",
            admissionWorkMax,
            .waits,
            "What the fetches and subscriptions of one batch may cost on the engine's thread, in units of about "
                + "a microsecond: 1 for each object looked at, row encoded and change read from the journal, 8 for "
                + "each request. The others are answered by the next batches, between which commits go on"
        ),
        Limit(
            "writeStepsMax",
            writeStepsMax,
            .refused,
            "What one write may look at and change, in steps of one to ten microseconds: an object read, written, or passed on the way up"
        ),
        Limit(
            "confinedWriteStepsMax",
            confinedWriteStepsMax,
            .refused,
            "The same for a write by a token that is confined to a sub-tree; also the rows of its imports"
        ),
        Limit(
            "previewStepsMax",
            previewStepsMax,
            .refused,
            "The same for the preview of an undo"
        ),
        Limit(
            "importRowsMax",
            importRowsMax,
            .refused,
            "Rows of one import"
        ),
        Limit(
            "turnStepsMax",
            turnStepsMax,
            .waits,
            "Steps of the writes of one turn; the writes after it wait until other connections had theirs"
        ),
        Limit(
            "evaluationNanosecondsMax",
            evaluationNanosecondsMax,
            .waits,
            "Estimated time that live results take to follow the writes of one turn; results beyond it lag and are read anew beside the commits"
        ),
        Limit(
            "memoryBytesMax",
            memoryBytesMax,
            .refused,
            "Memory that nestd holds for clients: a quarter for connections, a quarter for answers in the making, half for live results. nestd's limits.memoryBytes sets another"
        ),
        Limit(
            "answerBytesMax",
            answerBytesMax,
            .refused,
            "Rows of one answer"
        ),
        Limit(
            "answerBytesUnreadMax",
            answerBytesUnreadMax,
            .waits,
            "Bytes of answers that a connection is given before it has taken those before"
        ),
        Limit(
            "sessionsMax",
            sessionsMax,
            .cut,
            "Sessions remembered; beyond it the one that has not written for longest is forgotten, with what it could undo"
        ),
        Limit(
            "asideRowsMin",
            asideRowsMin,
            .inner,
            "Rows up to which a result is read between two commits; a larger one is read beside them, and caught "
                + "up"
        ),
        Limit(
            "differenceRowsMin",
            differenceRowsMin,
            .inner,
            "Rows touched since the base, above which a quarter of the result is answered by a snapshot"
        ),
        Limit(
            "resumeJournalRevisionsMax",
            resumeJournalRevisionsMax,
            .refused,
            "Journal read to answer a client that returns after a restart"
        ),
        Limit(
            "changePageBytes",
            changePageBytes,
            .waits,
            "Journal read at a time for one subscription to changes, but for the last part of a change set that "
                + "it reaches"
        ),
        Limit(
            "changePagesPerBatchMax",
            changePagesPerBatchMax,
            .waits,
            "Such pages in one batch; the subscriptions over it have their turn in the next"
        ),
        Limit(
            "diskFreeBytesMin",
            diskFreeBytesMin,
            .refused,
            "Bytes left on the disk of the store under which no write is taken; reading goes on. nestd --min-free says otherwise"
        ),
        Limit(
            "storeWatchSeconds",
            storeWatchSeconds,
            .inner,
            "How often the server looks at the store's file and at the room beside it"
        ),
        Limit("checkProblemsMax", checkProblemsMax, .cut, "Problems that a check of the store lists; more are counted"),
        Limit("checkProblemBytesMax", checkProblemBytesMax, .cut, "One of them, and the name of a step"),
        // Journal and undo
        Limit("journalRevisionsMax", journalRevisionsMax, .cut, "Journal kept"),
        Limit("journalBytesMax", journalBytesMax, .cut, "Journal kept"),
        Limit("journalSeconds", journalSeconds, .cut, "Journal kept"),
        Limit("journalBlockBytes", journalBlockBytes, .inner, "Part of a change set"),
        Limit(
            "bulkObjectsInMemoryMax",
            bulkObjectsInMemoryMax,
            .inner,
            "Objects, numbers or runs of ids that each collection of a bulk write holds in memory; more are in a temporary file"
        ),
        Limit("undoEntriesPerSessionMax", undoEntriesPerSessionMax, .cut, "The oldest are dropped"),
        Limit("undoBytesPerSessionMax", undoBytesPerSessionMax, .cut, "The oldest are dropped"),
        Limit("undoConflictsMax", undoConflictsMax, .cut, "Conflicts listed in one answer; more are counted"),
        Limit("undoEntryTransactionsMax", undoEntryTransactionsMax, .cut, "Transactions of one undo entry"),
        Limit("undoGroupsPerSessionMax", undoGroupsPerSessionMax, .refused, "Open groups of one session"),
        Limit("undoGroupSeconds", undoGroupSeconds, .cut, "Without a write for so long a group is closed"),
        Limit("coalesceKeyBytesMax", coalesceKeyBytesMax, .refused, "The key that joins writes into one entry"),
        Limit(
            "coalesceMillisecondsMax",
            coalesceMillisecondsMax,
            .refused,
            "The longest time between two of them"
        ),
        Limit(
            "changesSearchedMax",
            changesSearchedMax,
            .cut,
            "Changes of one object that are read to find who gave it a value, failing that its last change is told; "
                + "parts of the journal that are read to find its last change that a confined token sees"
        ),
        Limit("previewObjectsMax", previewObjectsMax, .cut, "Objects listed by a preview"),
        Limit("previewBytesMax", previewBytesMax, .cut, "Bytes of such a list"),
        Limit(
            "sessionSeconds",
            sessionSeconds,
            .cut,
            "A session that has not written for so long is forgotten, with what it could undo"
        ),
        Limit("idempotencyKeysMax", idempotencyKeysMax, .cut, "Keys kept"),
        Limit("idempotencyKeySeconds", idempotencyKeySeconds, .cut, "Time that keys are kept"),
        // Clients
        Limit(
            "clientRequestsWaitingMax",
            clientRequestsWaitingMax,
            .refused,
            "Requests that wait for a connection or for one of the server's places"
        ),
        Limit(
            "clientQueueBytesMax",
            clientQueueBytesMax,
            .waits,
            "Bytes of changes that subscribers have not taken yet; above it the socket is not read, unless an "
                + "answer is due"
        ),
        Limit(
            "clientQueueBytesHardMax",
            clientQueueBytesHardMax,
            .waits,
            "The same, whether or not an answer is due"
        ),
        Limit(
            "reconnectMillisecondsMin",
            reconnectMillisecondsMin,
            .inner,
            "The first pause between attempts to connect; it doubles up to the longest"
        ),
        Limit(
            "reconnectMillisecondsMax",
            reconnectMillisecondsMax,
            .inner,
            "The longest pause between attempts to connect"
        ),
        Limit(
            "reconnectHealthySeconds",
            reconnectHealthySeconds,
            .inner,
            "A connection that lived so long was a good one: the next attempt is made at once again"
        ),
        // Transfers
        Limit(
            "spoolBytesMax",
            spoolBytesMax,
            .refused,
            "Bytes that transfers of the whole server may hold in their spool files"
        ),
        Limit(
            "transferThreads",
            transferThreads,
            .inner,
            "Threads that read sub-trees, and as many that read and write spool files"
        ),
        Limit(
            "readTransactionSecondsMax",
            readTransactionSecondsMax,
            .refused,
            "Seconds for which one read transaction may keep the write-ahead log from being reset"
        ),
    ]
}
