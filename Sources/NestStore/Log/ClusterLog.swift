import NestModel

/// What a node knows about the server that has the log.
package struct LogServer: Hashable, Sendable {
    /// Counts up at each failover of the server.
    package var timeline: UInt32
    /// Whether a commit waits until a standby has it: then a failover loses nothing.
    package var isReplicated: Bool

    package init(timeline: UInt32, isReplicated: Bool) {
        self.timeline = timeline
        self.isReplicated = isReplicated
    }
}

/// A node as the log lists it.
package struct LogNode: Hashable, Sendable {
    /// New at each start of a nestd.
    package var id: Identifier128
    package var name: String
    /// HOST:PORT for clients and other nodes.
    package var address: String
    package var version: String
    /// Whether its lease has not ended.
    package var isAlive: Bool
    /// Its position, at most `Limits.replicaNoteSeconds` old; `nil`: not known.
    package var position: Int64?
    /// Whether an operator has drained it: it takes no clients, and does not lead.
    package var isDrained: Bool

    package init(
        id: Identifier128,
        name: String,
        address: String,
        version: String,
        isAlive: Bool = true,
        position: Int64? = nil,
        isDrained: Bool = false
    ) {
        self.id = id
        self.name = name
        self.address = address
        self.version = version
        self.isAlive = isAlive
        self.position = position
        self.isDrained = isDrained
    }
}

/// The state of a store in the log, read in one round trip.
package struct LogOverview: Hashable, Sendable {
    /// The newest record.
    package var head: LogPosition
    /// Records up to this position have been removed.
    package var base: Int64
    package var epoch: Int64
    package var leader: LogNode?
    /// The session with which the leader appends has ended. A hint: the leader may be about to connect again.
    package var isLeaderSessionGone: Bool
    /// A node was ahead of the log: the next leader begins a new history.
    package var doubt: Bool
    /// The chain of the record at the position that was asked for; `nil` if the log does not have it.
    package var chainAtPosition: Chain?

    package init(
        head: LogPosition,
        base: Int64,
        epoch: Int64,
        leader: LogNode?,
        isLeaderSessionGone: Bool,
        doubt: Bool,
        chainAtPosition: Chain?
    ) {
        self.head = head
        self.base = base
        self.epoch = epoch
        self.leader = leader
        self.isLeaderSessionGone = isLeaderSessionGone
        self.doubt = doubt
        self.chainAtPosition = chainAtPosition
    }
}

/// A record as it stands in the log, not yet checked against the chain.
package struct LogEntry: Sendable {
    package var position: LogPosition
    package var bytes: LogBytes

    package init(position: LogPosition, bytes: LogBytes) {
        self.position = position
        self.bytes = bytes
    }
}

/// A snapshot of a store in the log.
package struct LogSnapshot: Hashable, Sendable {
    package var position: LogPosition
    package var revision: Revision
    package var modelHash: UInt64
    /// Bytes of the unpacked file.
    package var byteCount: Int64
    /// SHA-256 of the unpacked file, cut to 16 bytes.
    package var checksum: Identifier128
    package var partCount: Int
    /// Microseconds since 1970-01-01 UTC, by the log's clock.
    package var made: Int64

    package init(
        position: LogPosition,
        revision: Revision,
        modelHash: UInt64,
        byteCount: Int64,
        checksum: Identifier128,
        partCount: Int,
        made: Int64 = 0
    ) {
        self.position = position
        self.revision = revision
        self.modelHash = modelHash
        self.byteCount = byteCount
        self.checksum = checksum
        self.partCount = partCount
        self.made = made
    }
}

/// What a node found when it verified its store behind a mark.
package struct LogVerification: Hashable, Sendable {
    package var node: Identifier128
    package var position: Int64
    package var digest: Identifier128

    package init(node: Identifier128, position: Int64, digest: Identifier128) {
        self.node = node
        self.position = position
        self.digest = digest
    }
}

/// Why the log did not answer a question.
package enum LogFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// It cannot be reached now; ask again later.
    case unavailable(String)
    /// It cannot be used: wrong settings, no rights, a server that is too old, tables of another version.
    case unusable(String)
    /// What it returned contradicts itself.
    case damaged(String)

    package var description: String {
        switch self {
        case .unavailable(let reason): "the log cannot be reached: \(reason)"
        case .unusable(let reason): "the log cannot be used: \(reason)"
        case .damaged(let reason): "the log is damaged: \(reason)"
        }
    }
}

/// The log of one store as a replica sees it: reading, leases, snapshots. Every call blocks; call it on a thread of its
/// own. An implementation connects again by itself.
package protocol ClusterLog: AnyObject, Sendable {
    /// This node, as registered.
    var node: LogNode { get }
    /// The number of the store.
    var store: Int64 { get }
    /// The secret of this start of the node, which the log knows besides the node itself. Who presents it to this node
    /// can read the log, and so is a node too.
    var secret: TokenSecret { get }

    // MARK: Leases

    /// Renews this node's lease. Registers the node again if it is missing.
    func renewLease() throws(LogFailure)
    /// Tries to become the leader: returns the new epoch, or `nil` if another node leads. `isSessionGone`: the caller
    /// has seen that the leader's session ended. The appends of this node's `SharedLog` are then the leader's.
    func claim(isSessionGone: Bool) throws(LogFailure) -> Int64?
    /// Gives the lead up, so that another node need not wait for the lease.
    func release() throws(LogFailure)
    /// Gives the lead to another node, which claims it then. Returns `false` if that node is not alive or this one does
    /// not lead: nothing has changed.
    func release(to node: Identifier128) throws(LogFailure) -> Bool
    /// Lets any node claim the lead that was given to a node in this epoch, if that has not claimed it yet.
    func withdraw(_ node: Identifier128, epoch: Int64) throws(LogFailure)
    /// Ends this node's registration.
    func deregister() throws(LogFailure)
    func server() throws(LogFailure) -> LogServer

    // MARK: Records

    /// `position`: the caller's own, whose chain is looked up.
    func overview(position: Int64) throws(LogFailure) -> LogOverview
    /// Returns at most `countMax` records after a position, oldest first. Large records are spooled in `directory`.
    func records(after position: Int64, countMax: Int, directory: String) throws(LogFailure) -> [LogEntry]
    func setDoubt(_ doubt: Bool) throws(LogFailure)
    /// Notes this node's position and whether it is drained, for the cluster's status.
    func note(position: Int64, isDrained: Bool) throws(LogFailure)
    /// Removes records up to a position, and the base is raised first. Never removes the newest. Returns whether more
    /// are left: call it again.
    @discardableResult func truncate(through position: Int64) throws(LogFailure) -> Bool
    /// Returns the bytes of the records after a position, as far as they were counted: several calls count a long log.
    func recordBytes(after position: Int64) throws(LogFailure) -> Int64

    // MARK: Snapshots

    /// Returns the complete snapshots, newest first.
    func snapshots() throws(LogFailure) -> [LogSnapshot]
    /// Stores a snapshot; `part` returns its parts, packed. Complete when this returns. `false`: it exists already.
    func add(_ snapshot: LogSnapshot, part: (Int) throws(LogFailure) -> [UInt8]) throws(LogFailure) -> Bool
    func part(_ index: Int, of snapshot: LogSnapshot) throws(LogFailure) -> [UInt8]
    /// Removes a snapshot, and unfinished ones that are older than `Limits.snapshotAbandonedSeconds`.
    func remove(_ snapshots: [LogSnapshot]) throws(LogFailure)

    // MARK: Status

    func nodes() throws(LogFailure) -> [LogNode]
    /// Returns the secret that another node has registered; `nil`: the node is not registered.
    func secret(of node: Identifier128) throws(LogFailure) -> TokenSecret?
    func add(_ verification: LogVerification) throws(LogFailure)
    func verifications(at position: Int64) throws(LogFailure) -> [LogVerification]
    /// What `nestc cluster status` shows of the log, such as "PostgreSQL 15.18 at db1 (timeline 3), no standby".
    func summary() throws(LogFailure) -> String
}
