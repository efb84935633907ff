import NestModel

/// Limits of clients and transfers. Read them by name from ``Limits``.
public struct ClientLimits: Sendable {
    @Bound(.refused, "Requests that wait for a connection, or for others in flight to be answered")
    public var clientRequestsWaitingMax = 65_536

    @Bound(
        .waits,
        "Bytes of changes that subscribers have not consumed; above it the socket is not read, unless an answer is due"
    )
    public var clientQueueBytesMax = 8 << 20

    @Bound(.waits, "The same, whether or not an answer is due")
    public var clientQueueBytesHardMax = 64 << 20

    @Bound(.refused, "Addresses of a list of servers")
    public var serverAddressesMax = 32

    @Bound(.cut, "Servers for which a program keeps its session; the least recently used are removed first")
    public var keptSessionsMax = 64

    @Bound(.cut, "Bytes of the states in a cache; the least recently shown are removed first")
    public var cacheBytesMax = 64 << 20

    @Bound(.cut, "Bytes of one state in a cache; a larger one is not kept")
    public var cacheViewBytesMax = 16 << 20

    @Bound(.cut, "Bytes that a cache has not written; beyond them changes are dropped, and their states stay older")
    public var cacheUnwrittenBytesMax = 32 << 20

    @Bound(.inner, "Time after which a cache writes changes, all together")
    public var cacheWriteMilliseconds = 1_000

    @Bound(.inner, "Revisions after which a cache gets the new revision of a state that has not changed")
    public var cacheRevisionStep = 256

    @Bound(.inner, "The first pause between attempts to connect; it doubles up to the longest")
    public var reconnectMillisecondsMin = 100

    @Bound(.inner, "The longest pause between attempts to connect")
    public var reconnectMillisecondsMax = 30_000

    @Bound(.inner, "Age of a lost connection from which the next attempt to connect is made at once")
    public var reconnectHealthySeconds = 30

    @Bound(.inner, "The same for a connection to a node of a cluster")
    public var reconnectNodeHealthySeconds = 1

    @Bound(.refused, "Time for which a client sends a request again that no node takes; then it fails with NOT_LEADER")
    public var leaderWaitSeconds = 15

    @Bound(.inner, "The longest pause before a client sends a request again that no node took")
    public var leaderPauseMillisecondsMax = 1_000

    @Bound(.refused, "Bytes that transfers of the whole server may hold in their spool files")
    public var spoolBytesMax = 16 << 30

    @Bound(.inner, "Threads that read sub-trees; as many read and write spool files")
    public var transferThreads = 2

    @Bound(.refused, "Seconds for which one read transaction may keep the write-ahead log from being reset")
    public var readTransactionSecondsMax = 600

    init() {}
}
