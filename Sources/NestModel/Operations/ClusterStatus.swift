/// The state of a cluster, as one of its nodes knows it.
public struct ClusterStatus: Hashable, Sendable {
    /// The name of the store in the log.
    public var store: String
    /// The name of the node that answered.
    public var node: String
    public var role: ReplicaRole
    /// Counts the leaders that the store has had.
    public var epoch: Int64
    /// The position of the newest record of the log that the node has applied.
    public var position: Int64
    /// The position of the newest record in the log, as far as the node knows.
    public var head: Int64
    /// Microseconds since the node last knew that it had applied the whole log; `nil`: not known, or it leads.
    public var lag: Int64?
    /// The records up to this position have been removed from the log.
    public var base: Int64
    /// Describes the log and its server, for people; empty if the log did not answer.
    public var log: String
    /// Why the log did not answer. The lists are then empty, and there is no snapshot.
    public var logFault: String?
    /// The newest snapshot in the log.
    public var snapshot: Snapshot?
    /// The nodes that the log lists, by name; those too whose lease has ended.
    public var nodes: [Node]
    /// What the nodes found at the mark that was asked for.
    public var verifications: [Verification]
    /// Whether an operator has drained the node that answered: it takes no clients and does not lead.
    public var isDrained = false

    public init(
        store: String,
        node: String,
        role: ReplicaRole,
        epoch: Int64,
        position: Int64,
        head: Int64,
        lag: Int64? = nil,
        base: Int64 = 0,
        log: String = "",
        logFault: String? = nil,
        snapshot: Snapshot? = nil,
        nodes: [Node] = [],
        verifications: [Verification] = []
    ) {
        self.store = store
        self.node = node
        self.role = role
        self.epoch = epoch
        self.position = position
        self.head = head
        self.lag = lag
        self.base = base
        self.log = log
        self.logFault = logFault
        self.snapshot = snapshot
        self.nodes = nodes
        self.verifications = verifications
    }

    /// The node that leads now; `nil` if there is none.
    public var leader: Node? { self.nodes.first { $0.role == .leader } }

    /// A snapshot of the store in the log.
    public struct Snapshot: Hashable, Sendable {
        public var position: Int64
        /// Microseconds since 1970-01-01 UTC, by the log's clock.
        public var made: Int64
        /// Bytes of the unpacked file.
        public var byteCount: Int64

        public init(position: Int64, made: Int64, byteCount: Int64) {
            self.position = position
            self.made = made
            self.byteCount = byteCount
        }
    }

    /// A node of the cluster.
    public struct Node: Hashable, Sendable {
        /// New at each start of a nestd.
        public var id: Identifier128
        public var name: String
        /// HOST:PORT for clients.
        public var address: String
        public var version: String
        /// `nil`: its lease has ended, so it is stopped, frozen or cut off.
        public var role: ReplicaRole?
        /// The newest position that the node has noted in the log, every few seconds; `nil`: none yet.
        public var position: Int64?
        /// Its open connections; `nil`: not known.
        public var clients: Int?
        /// Whether an operator has drained it: it takes no clients and does not lead.
        public var isDrained: Bool

        public init(
            id: Identifier128,
            name: String,
            address: String,
            version: String,
            role: ReplicaRole?,
            position: Int64? = nil,
            clients: Int? = nil,
            isDrained: Bool = false
        ) {
            self.id = id
            self.name = name
            self.address = address
            self.version = version
            self.role = role
            self.position = position
            self.clients = clients
            self.isDrained = isDrained
        }
    }

    /// What a node found when it verified its store at a mark.
    public struct Verification: Hashable, Sendable {
        public var node: Identifier128
        /// Equal for stores whose tables are equal.
        public var digest: Identifier128

        public init(node: Identifier128, digest: Identifier128) {
            self.node = node
            self.digest = digest
        }
    }
}
