import NestModel
import NestProtocol

/// The description that a server sends when a connection is made.
public struct ServerDescription: Hashable, Sendable {
    public var name: String
    /// The id of the store's history. A history id and a revision identify a state permanently.
    public var historyID: Identifier128
    /// The newest revision when the connection was made.
    public var revision: Revision
    /// The oldest revision from which a subscription can resume.
    public var oldestRevision: Revision
    public var modelHash: UInt64
    /// The number of this client's session, as in `history`; 0: not known, because the server is
    /// a node of a cluster and the session had not written.
    public var sessionNumber: UInt64
    /// The role of this client, which determines its permissions.
    public var role: AccessRole
    /// The scope of the client's token; `nil`: the whole store.
    public var confinement: AccessConfinement?
    /// The server's place in its cluster; `nil`: a single node.
    public var replica: Replica?
    /// The label of this client's user, as others see it: that of the token, or what the configuration says. `nil`:
    /// none.
    public var user: String?
    /// When this client's token expires, in microseconds since 1970-01-01 UTC; `nil`: never. The server then ends the
    /// connection, and the client ends with `tokenExpired`.
    public var tokenExpires: Int64?

    /// What a node of a cluster said of itself.
    public struct Replica: Hashable, Sendable {
        /// The name of the store in the cluster's log.
        public var store: String
        public var role: ReplicaRole
        /// The address of the leader; `nil` if there was none, or the node did not know it.
        public var leader: String?
    }

    init(_ welcome: Welcome) {
        self.name = welcome.serverName
        self.historyID = welcome.historyID
        self.revision = welcome.revision
        self.oldestRevision = welcome.oldestRevision
        self.modelHash = welcome.modelHash
        self.sessionNumber = welcome.sessionNumber
        self.role = welcome.role
        self.confinement = welcome.confinement
        self.replica = welcome.replica.map { Replica(store: $0.store, role: $0.role, leader: $0.leader) }
        self.user = welcome.user.flatMap { $0.isEmpty ? nil : $0 }
        self.tokenExpires = welcome.tokenExpires
    }
}
