import NestModel
import NestProtocol

/// A client that is present in a scope.
public struct PresentClient: Hashable, Sendable {
    /// Names the client as long as it is present, also after a short loss of its connection.
    public let number: UInt64
    /// The public number of its session, as history and authors have it; 0: it has none yet.
    public let sessionNumber: UInt64
    /// Its label, for people. Show `~` before a claim: no server has checked it.
    public let user: UserLabel?
    /// Where it is; `nil` if what it shows has another form.
    public let place: PresencePlace?
    /// What it shows.
    public let bytes: [UInt8]
    /// Whether it is this client.
    public let isSelf: Bool

    package init(_ state: PresenceState, isSelf: Bool = false) {
        self.number = state.number
        self.sessionNumber = state.sessionNumber
        self.user = state.user
        self.place = PresencePlace(presence: state.bytes)
        self.bytes = state.bytes
        self.isSelf = isSelf
    }
}

/// All who are present in a scope, at one moment.
public struct PresentClients: Hashable, Sendable {
    /// Ascending by their numbers. This client is among them when it has shown itself.
    public let clients: [PresentClient]
    /// Whether this is the state of now: false while there is no connection.
    public let isLive: Bool

    package init(clients: [PresentClient] = [], isLive: Bool = false) {
        self.clients = clients
        self.isLive = isLive
    }

    public var others: [PresentClient] { self.clients.filter { !$0.isSelf } }
}
