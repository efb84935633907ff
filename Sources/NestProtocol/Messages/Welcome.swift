import NestModel

/// The server's answer to HELLO: the features and limits in use, and the state of the store.
package struct Welcome: Message, Equatable {
    package static let type = MessageType.welcome

    package var serverName: String
    package var features: Features
    /// The greatest body of a frame that this server accepts, in bytes.
    package var frameBytesMax: Int
    package var historyID: Identifier128
    /// The newest revision.
    package var revision: Revision
    /// The oldest revision at which a subscription may resume from the journal.
    package var oldestRevision: Revision
    package var modelHash: UInt64
    /// The public number of the client's session, as `history` shows it; 0: not certain yet, because the session of a
    /// cluster has not written.
    package var sessionNumber: UInt64
    package var pingIntervalMilliseconds: Int
    package var requestsInFlightMax: Int
    package var subscriptionsMax: Int
    /// Bytes of a stream that each side may send before the first CREDIT.
    package var creditBytesInitial: Int
    /// The client's role.
    package var role: AccessRole
    /// The part of the store that the client can access; `nil`: all of it.
    package var confinement: AccessConfinement?
    /// The node's place in its cluster; `nil`: a single node.
    package var replica: Replica?
    /// The label of the connection's user; empty: it has none. `nil`: the server knows no users.
    package var user: String?
    /// When the client's token expires, in microseconds since 1970-01-01 UTC; `nil`: never.
    package var tokenExpires: Int64?

    /// What a node of a cluster says of itself.
    package struct Replica: Equatable, Sendable {
        /// The name of the store in the log.
        package var store: String
        package var role: ReplicaRole
        /// The address of the node that takes writes; `nil` if there is none now, or it is unknown.
        package var leader: String?

        package init(store: String, role: ReplicaRole, leader: String?) {
            self.store = store
            self.role = role
            self.leader = leader
        }
    }

    package init(
        serverName: String,
        features: Features,
        frameBytesMax: Int = Limits.frameBytesMax,
        historyID: Identifier128,
        revision: Revision,
        oldestRevision: Revision,
        modelHash: UInt64,
        sessionNumber: UInt64,
        pingIntervalMilliseconds: Int = Limits.pingIntervalSeconds * 1_000,
        requestsInFlightMax: Int = Limits.requestsInFlightPerConnectionMax,
        subscriptionsMax: Int = Limits.subscriptionsPerConnectionMax,
        creditBytesInitial: Int = Limits.creditBytesInitial,
        role: AccessRole = .admin,
        confinement: AccessConfinement? = nil,
        replica: Replica? = nil,
        user: String? = nil,
        tokenExpires: Int64? = nil
    ) {
        self.serverName = serverName
        self.features = features
        self.frameBytesMax = frameBytesMax
        self.historyID = historyID
        self.revision = revision
        self.oldestRevision = oldestRevision
        self.modelHash = modelHash
        self.sessionNumber = sessionNumber
        self.pingIntervalMilliseconds = pingIntervalMilliseconds
        self.requestsInFlightMax = requestsInFlightMax
        self.subscriptionsMax = subscriptionsMax
        self.creditBytesInitial = creditBytesInitial
        self.role = role
        self.confinement = confinement
        self.replica = replica
        self.user = user
        self.tokenExpires = tokenExpires
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        var historyID: Identifier128?
        var replica = Replica(store: "", role: .follower, leader: nil)
        var isReplica = false
        self.init(
            serverName: "",
            features: [],
            historyID: Identifier128(high: 0, low: 0),
            revision: Revision(0),
            oldestRevision: Revision(0),
            modelHash: 0,
            sessionNumber: 0
        )
        try TaggedFields.read(from: &reader) { (tag, field) throws(DecodingFailure) in
            switch tag {
            case 1: self.serverName = try field.string("server name", max: Limits.nameBytesMax)
            case 2: self.features = Features(rawValue: try field.integer(UInt64.self, "features"))
            case 3: self.frameBytesMax = try field.index("frame bytes")
            case 4: historyID = try field.identifier("history id")
            case 5: self.revision = try field.revision("revision")
            case 6: self.oldestRevision = try field.revision("oldest revision")
            case 7: self.modelHash = try field.integer(UInt64.self, "model hash")
            case 8: self.sessionNumber = try field.varint("session number")
            case 9: self.pingIntervalMilliseconds = try field.index("ping interval")
            case 10: self.requestsInFlightMax = try field.index("requests in flight")
            case 11: self.subscriptionsMax = try field.index("subscriptions")
            case 12: self.creditBytesInitial = try field.index("credit")
            case 13: self.role = AccessRole(rawValue: try field.byte("role")) ?? .read
            case 14: self.confinement = try field.confinement()
            case 15: replica.store = try field.string("store", max: Limits.nameBytesMax)
            case 16:
                replica.role = ReplicaRole(rawValue: try field.byte("replica role")) ?? .follower
                isReplica = true
            case 17: replica.leader = try field.string("leader", max: Limits.nodeAddressBytesMax)
            case 18: self.user = try field.string("user", max: Limits.nameBytesMax)
            case 19: self.tokenExpires = try field.expiry()
            default: break
            }
        }
        guard let historyID else { throw DecodingFailure(.truncated, "history id") }
        self.historyID = historyID
        if isReplica { self.replica = replica }
    }

    package func encode(into writer: inout ByteWriter) {
        var fields = TaggedFields()
        fields.add(1) { $0.write(string: self.serverName) }
        fields.add(2) { $0.write(integer: self.features.rawValue) }
        fields.add(3) { $0.write(count: self.frameBytesMax) }
        fields.add(4) { $0.write(identifier: self.historyID) }
        fields.add(5) { $0.write(revision: self.revision) }
        fields.add(6) { $0.write(revision: self.oldestRevision) }
        fields.add(7) { $0.write(integer: self.modelHash) }
        if self.sessionNumber > 0 { fields.add(8) { $0.write(varint: self.sessionNumber) } }
        fields.add(9) { $0.write(count: self.pingIntervalMilliseconds) }
        fields.add(10) { $0.write(count: self.requestsInFlightMax) }
        fields.add(11) { $0.write(count: self.subscriptionsMax) }
        fields.add(12) { $0.write(count: self.creditBytesInitial) }
        if self.role != .admin { fields.add(13) { $0.write(byte: self.role.rawValue) } }
        if let confinement { fields.add(14) { $0.write(confinement: confinement) } }
        if let replica {
            fields.add(15) { $0.write(string: replica.store) }
            fields.add(16) { $0.write(byte: replica.role.rawValue) }
            if let leader = replica.leader { fields.add(17) { $0.write(string: leader) } }
        }
        if let user { fields.add(18) { $0.write(string: user) } }
        if let tokenExpires { fields.add(19) { $0.write(expiry: tokenExpires) } }
        fields.encode(into: &writer)
    }
}
