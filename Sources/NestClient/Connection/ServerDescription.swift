import NestModel
import NestProtocol

/// What a server says of itself when a connection is made.
public struct ServerDescription: Hashable, Sendable {
    public var name: String
    /// The store's history: (history, revision) names a state for ever.
    public var historyID: Identifier128
    /// The newest revision when the connection was made.
    public var revision: Revision
    /// The oldest revision from which a subscription can resume.
    public var oldestRevision: Revision
    public var modelHash: UInt64
    /// How `history` names this client's session.
    public var sessionNumber: UInt64
    /// What this client may do there.
    public var role: AccessRole
    /// The part of the store that it can reach; `nil`: all of it.
    public var confinement: AccessConfinement?

    init(_ welcome: Welcome) {
        self.name = welcome.serverName
        self.historyID = welcome.historyID
        self.revision = welcome.revision
        self.oldestRevision = welcome.oldestRevision
        self.modelHash = welcome.modelHash
        self.sessionNumber = welcome.sessionNumber
        self.role = welcome.role
        self.confinement = welcome.confinement
    }
}
