import NestModel

/// Limits of a server's connections. Read them by name from ``Limits``.
public struct ConnectionLimits: Sendable {
    @Bound(.refused, "Connections at one time; more are refused with BUSY")
    public var connectionsMax = 10_000

    @Bound(
        .refused,
        "Connections from one address (IPv6: one 64-bit network) other than the server's own machine; more are refused with BUSY"
    )
    public var connectionsPerAddressMax = 9_000

    @Bound(.closed, "Time from connecting to WELCOME")
    public var handshakeSeconds = 5

    @Bound(.closed, "Bytes that a client may send before HELLO: the preface and skipped frames")
    public var bytesBeforeHelloMax = 8 << 10

    @Bound(.closed, "Time to complete a frame that has begun; a long frame has more (frameBytesPerSecondMin)")
    public var frameSeconds = 30

    @Bound(.closed, "Bytes for which a frame has one second more")
    public var frameBytesPerSecondMin = 1 << 10

    @Bound(
        .closed,
        "Control frames per second, sustained: PING, PONG, CREDIT, CANCEL, GET_MODEL, PARSE_PREDICATE, frames refused or skipped"
    )
    public var controlFramesPerSecondMax = 10_000

    @Bound(.closed, "Control frames at once")
    public var controlFramesBurstMax = 20_000

    @Bound(
        .waits,
        "Control frames of a connection in one turn; it then waits a millisecond, until others have had their turn"
    )
    public var controlFramesPerTurnMax = 128

    @Bound(.closed, "Bytes below which a SUBTREE_CHUNK counts as a control frame")
    public var controlChunkBytesMax = 1 << 10

    @Bound(.waits, "Requests in flight of one connection; more are not read until some are answered")
    public var requestsInFlightPerConnectionMax = 128

    @Bound(.waits, "Fetches and subscriptions among those, whose answers may be large")
    public var resultsInFlightPerConnectionMax = 16

    @Bound(.waits, "Bytes of the bodies of requests in flight; more are not read until some are answered")
    public var requestBytesInFlightPerConnectionMax = 4 << 20

    @Bound(.refused, "Subscriptions of one connection; more are refused with LIMIT_EXCEEDED")
    public var subscriptionsPerConnectionMax = 256

    @Bound(.refused, "Outlines among these; more are refused with LIMIT_EXCEEDED")
    public var outlinesPerConnectionMax = 16

    @Bound(.refused, "Bytes of one presence")
    public var presenceBytesMax = 1_024

    @Bound(
        .refused,
        "Scopes in which one connection is present or follows presence; more are refused with LIMIT_EXCEEDED"
    )
    public var presenceScopesPerConnectionMax = 16

    @Bound(.refused, "Presences of one scope; more are refused with LIMIT_EXCEEDED")
    public var presencesPerScopeMax = 512

    @Bound(.refused, "SET_PRESENCE of one connection per second; more are refused with LIMIT_EXCEEDED")
    public var presenceSetsPerSecondMax = 30

    @Bound(.waits, "PRESENCE of one scope per second; changes in between are sent together")
    public var presenceFramesPerSecondMax = 20

    @Bound(
        .waits,
        "Bytes of PRESENCE of one scope per second, to all followers together; beyond it they are sent less often"
    )
    public var presenceBytesPerSecondMax = 16 << 20

    @Bound(.refused, "Bytes of all presences, with their overhead; more are refused with BUSY")
    public var presenceMemoryBytesMax = 64 << 20

    @Bound(.cut, "Time for which the presence of a lost connection stays, in case its session comes back")
    public var presenceGraceSeconds = 3

    @Bound(.refused, "Sub-tree transfers of one connection at a time")
    public var transfersPerConnectionMax = 4

    @Bound(.refused, "Tokens of a store; a list of so many fits into a frame")
    public var tokensMax = 3_000

    @Bound(.waits, "Delay of the answer to the first wrong token from an address; it doubles each time")
    public var loginDelayMillisecondsMin = 100

    @Bound(.waits, "The longest such delay")
    public var loginDelayMillisecondsMax = 4_000

    @Bound(.cut, "Time for which an address is remembered after its last wrong token")
    public var loginMemorySeconds = 600

    @Bound(.cut, "Addresses remembered; beyond it the oldest is forgotten")
    public var loginAddressesMax = 10_000

    @Bound(.closed, "Silence after which the peer gets a PING")
    public var pingIntervalSeconds = 20

    @Bound(.closed, "Further silence after which the connection is closed")
    public var pingTimeoutSeconds = 10

    @Bound(.closed, "Bytes waiting to be sent on a blocked connection; above it the connection is closed")
    public var outputBytesMax = 64 << 20

    @Bound(.closed, "Time without progress on a connection with bytes waiting to be sent")
    public var outputStallSeconds = 60

    @Bound(.refused, "Bytes of a stream that a sender may send before the first CREDIT")
    public var creditBytesInitial = 1 << 20

    @Bound(.cut, "Bytes of credit that a sender can accumulate")
    public var creditBytesMax = 1 << 40

    @Bound(.waits, "Bytes waiting to be sent above which no more requests are read from the connection")
    public var outputBytesUnreadMax = 1 << 20

    @Bound(
        .closed,
        "Bytes that all connections hold: received and not yet processed, or waiting to be sent. Above it the connection that holds most is closed"
    )
    public var connectionBytesMax = 1 << 30

    @Bound(.inner, "Bytes in the socket's queue below which the server hands over more")
    public var socketBytesLow = 64 << 10

    @Bound(.waits, "Bytes in the socket's queue above which the server hands over no more")
    public var socketBytesHigh = 512 << 10

    @Bound(.closed, "Time for the last frame to reach the peer before the connection is closed")
    public var lingerSeconds = 2

    @Bound(.closed, "Time that requests in flight get when the server stops")
    public var shutdownSeconds = 5

    @Bound(.inner, "Connections that wait to be accepted")
    public var acceptBacklog = 4_096

    @Bound(.waits, "Time for which no connection is accepted when the system has no descriptor or memory for one")
    public var acceptPauseMilliseconds = 100

    @Bound(.waits, "Connections per second, sustained, that end before WELCOME; above it few are accepted at a time")
    public var rejectedPerSecondMax = 200

    @Bound(.waits, "Such connections at once")
    public var rejectedBurstMax = 1_000

    @Bound(.waits, "Time until the next few are accepted")
    public var acceptPaceMilliseconds = 2

    @Bound(.waits, "Connections over the maximum that receive BUSY at one time; beyond it the server accepts none")
    public var refusedConnectionsMax = 32

    @Bound(.closed, "Bytes of the head of an HTTP request to the web port")
    public var webHeadBytesMax = 8 << 10

    @Bound(.closed, "Fields of such a head")
    public var webFieldsMax = 64

    @Bound(.closed, "Time for which a connection of the web port may wait for its next HTTP request")
    public var webIdleSeconds = 15

    @Bound(.refused, "Bytes of a file that the web port sends")
    public var webFileBytesMax = 64 << 20

    @Bound(.inner, "Bytes of such a file that are read and sent at a time")
    public var webFilePartBytes = 64 << 10

    @Bound(.refused, "Files that the web port sends at one time; a request for another is refused with 503")
    public var webFilesOpenMax = 64

    @Bound(.refused, "Files of these for one address, except that of the machine itself; 503 beyond it")
    public var webFilesPerAddressMax = 16

    @Bound(.closed, "Bytes of such a file per second that a client must accept, after a first time (frameSeconds)")
    public var webFileBytesPerSecondMin = 16 << 10

    @Bound(.closed, "Bytes of the payload of one WebSocket frame from a client")
    public var webSocketFrameBytesMax = 64 << 10

    @Bound(.inner, "Descriptors reserved for the store, spool files and event loops")
    public var fileDescriptorsReserved = 128

    init() {}
}
