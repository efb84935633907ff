import NestModel

/// Limits of a cluster: the log, its replicas, and the leader's lease. Read them by name from ``Limits``.
public struct ClusterLimits: Sendable {
    @Bound(.refused, "Bytes of the address and of the name of a node")
    public var nodeAddressBytesMax = 255

    @Bound(.cut, "Nodes of one CLUSTER")
    public var clusterNodesMax = 256

    @Bound(.cut, "Bytes of one text of a CLUSTER about the log")
    public var clusterTextBytesMax = 1_024

    @Bound(.waits, "Time that a commit waits for the log; then the writes wait in the background, and reads go on")
    public var logCommitSeconds = 2

    @Bound(.refused, "Time without an answer of the log after which waiting writes fail with STORAGE_FAILURE")
    public var logAnswerSeconds = 10

    @Bound(.inner, "Bytes of a record of the log up to which it is one row; a larger one is stored in parts")
    public var logBodyBytesMax = 256 << 10

    @Bound(.inner, "Bytes of a part of a record, and of a snapshot")
    public var logPartBytes = 1 << 20

    @Bound(.refused, "Bytes of a record of the log")
    public var logRecordBytesMax = 2 << 30

    @Bound(.inner, "Time after which a node that does not renew its lease no longer leads")
    public var leaseSeconds = 6

    @Bound(.inner, "Interval at which a node renews its lease")
    public var leaseRenewSeconds = 2

    @Bound(.inner, "Interval at which a follower reads the log while the leader does not send it the records")
    public var logPollMilliseconds = 250

    @Bound(.inner, "Records of the log that a follower reads at a time")
    public var logPageRecordsMax = 256

    @Bound(.inner, "Interval at which a node writes its position to the log, for the cluster's status")
    public var replicaNoteSeconds = 10

    @Bound(.refused, "Time without news of the log after which a node is not ready")
    public var nodeLagSecondsMax = 10

    @Bound(.inner, "Bytes of the log since the last snapshot, at least, before the next is made")
    public var snapshotLogBytesMin = 64 << 20

    @Bound(.inner, "Time after which the next snapshot is made")
    public var snapshotSeconds = 24 * 3_600

    @Bound(.cut, "Snapshots kept; records that the oldest contains are removed")
    public var snapshotsKept = 2

    @Bound(.cut, "Time after which an unfinished snapshot is removed")
    public var snapshotAbandonedSeconds = 3_600

    @Bound(.cut, "Bytes of the newest records of the log that a leader keeps for its followers")
    public var logRingBytes = 16 << 20

    @Bound(.refused, "Time that a request waits for a revision that the node does not have yet")
    public var revisionWaitSeconds = 5

    @Bound(
        .refused,
        "FETCH_SUBTREE requests of all connections that wait for a revision that the node does not have yet"
    )
    public var waitingSubtreesMax = 1_024

    @Bound(.refused, "Time that a write waits at a follower for a leader; then it fails with LOG_UNAVAILABLE")
    public var forwardWaitSeconds = 10

    @Bound(.closed, "Bytes of the body of a frame of a node; the largest request of a client fits")
    public var peerFrameBytesMax = (1 << 20) + 64

    @Bound(.waits, "Requests in flight that a node forwards to another; more are not read until some are answered")
    public var peerRequestsInFlightMax = 1_024

    @Bound(.refused, "Imports that a node forwards to another at a time")
    public var peerTransfersMax = 32

    @Bound(.closed, "Ports that a node has at another, one for each of its clients that write")
    public var peerPortsMax = 100_000

    @Bound(.refused, "Connections without a slot of a full node that may still send HELLO, because they may be nodes")
    public var peerHandshakesMax = 8

    init() {}
}
