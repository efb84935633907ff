import NestModel

/// What a server grants its connections. Read them by name from ``Limits``.
public struct ConnectionLimits: Sendable {
    @Bound(.refused, "More are answered BUSY")
    public var connectionsMax = 10_000

    @Bound(
        .refused,
        "Of those, connections from one address (of IPv6: one network of 64 bits) that is not the server's own machine. More are answered BUSY"
    )
    public var connectionsPerAddressMax = 9_000

    @Bound(.closed, "From connecting to WELCOME")
    public var handshakeSeconds = 5

    @Bound(.closed, "What a client may send before HELLO: the preface, and frames that are skipped")
    public var bytesBeforeHelloMax = 8 << 10

    @Bound(.closed, "Time for a frame that has begun to be complete; for its length it has more (below)")
    public var frameSeconds = 30

    @Bound(.closed, "For so many bytes a frame has one second more")
    public var frameBytesPerSecondMin = 1 << 10

    @Bound(
        .closed,
        "Frames each second, for long, that ask for nothing: PING, PONG, CREDIT, CANCEL, GET_MODEL, frames that are refused or skipped"
    )
    public var lightFramesPerSecondMax = 10_000

    @Bound(.closed, "Such frames at once")
    public var lightFramesBurstMax = 20_000

    @Bound(.waits, "Such frames of a connection until others have had their turn: a millisecond")
    public var lightFramesPerTurnMax = 128

    @Bound(.closed, "A SUBTREE_CHUNK below this is such a frame")
    public var lightChunkBytesMax = 1 << 10

    @Bound(.waits, "More are not read until some are answered")
    public var requestsInFlightPerConnectionMax = 128

    @Bound(.waits, "Of those, fetches and subscriptions, whose answers may be large")
    public var resultsInFlightPerConnectionMax = 16

    @Bound(.waits, "Bodies of requests in flight. More are not read until some are answered")
    public var requestBytesInFlightPerConnectionMax = 4 << 20

    @Bound(.refused, "More are refused with LIMIT_EXCEEDED")
    public var subscriptionsPerConnectionMax = 256

    @Bound(.refused, "Sub-trees under way at a time")
    public var transfersPerConnectionMax = 4

    @Bound(.refused, "Tokens of a store; a list of so many fits into a frame")
    public var tokensMax = 3_000

    @Bound(.waits, "The answer to the first wrong token of an address waits so long, and twice as long each time")
    public var loginDelayMillisecondsMin = 100

    @Bound(.waits, "The longest such wait")
    public var loginDelayMillisecondsMax = 4_000

    @Bound(.cut, "Time after its last wrong token for which an address is remembered")
    public var loginMemorySeconds = 600

    @Bound(.cut, "Addresses remembered; above it the oldest is forgotten")
    public var loginAddressesMax = 10_000

    @Bound(.closed, "Silence after which a peer is asked for a sign of life")
    public var pingIntervalSeconds = 20

    @Bound(.closed, "Silence after that before the connection is closed")
    public var pingTimeoutSeconds = 10

    @Bound(.closed, "Bytes that wait for a connection that does not drain; above it the connection is closed")
    public var outputBytesMax = 64 << 20

    @Bound(.closed, "Time without progress on a connection with bytes waiting")
    public var outputStallSeconds = 60

    @Bound(.refused, "Bytes of a stream a sender may send before it is granted more")
    public var creditBytesInitial = 1 << 20

    @Bound(.cut, "Credit that a sender remembers")
    public var creditBytesMax = 1 << 40

    @Bound(.waits, "Bytes waiting for a connection above which no more requests are read from it")
    public var outputBytesUnreadMax = 1 << 20

    @Bound(
        .closed,
        "What all connections hold together: received and not yet done with, and waiting to be sent. Above it the connection that holds most is closed"
    )
    public var connectionBytesMax = 1 << 30

    @Bound(.inner, "Bytes handed to the socket's queue: below the first more are handed over, above the second none")
    public var socketBytesLow = 64 << 10

    @Bound(.waits, "Bytes handed to the socket's queue: above this no more are handed over")
    public var socketBytesHigh = 512 << 10

    @Bound(.closed, "Time for a last frame to reach a peer before its connection is cut")
    public var lingerSeconds = 2

    @Bound(.closed, "Time that requests in flight get when the server stops")
    public var shutdownSeconds = 5

    @Bound(.inner, "Connections that wait to be accepted")
    public var acceptBacklog = 4_096

    @Bound(.waits, "Time for which nothing is accepted when the system has no descriptor or memory for it")
    public var acceptPauseMilliseconds = 100

    @Bound(
        .waits,
        "Connections each second, for long, that end before WELCOME; while there are more, few are accepted at a time"
    )
    public var rejectedPerSecondMax = 200

    @Bound(.waits, "Such connections at once")
    public var rejectedBurstMax = 1_000

    @Bound(.waits, "Time between those few and the next")
    public var acceptPaceMilliseconds = 2

    @Bound(.waits, "Connections over the maximum that get BUSY at one time; beyond that the server accepts none")
    public var refusedConnectionsMax = 32

    @Bound(.inner, "Descriptors that are never given to connections: store, spool files, event loops")
    public var fileDescriptorsReserved = 128

    init() {}
}
