/// What a client that is present in a scope shows others.
///
/// The server keeps it as long as the client's connection lasts, and stores nothing.
public struct PresenceState: Hashable, Sendable {
    /// Names the client as long as it is present. The same in all its scopes, and after a reconnect.
    public var number: UInt64
    /// The public number of the client's session; 0: it has none yet.
    public var sessionNumber: UInt64
    /// The label of its user; `nil`: it has none.
    public var user: UserLabel?
    /// What the client shows. The server does not read it; see ``PresencePlace``.
    public var bytes: [UInt8]

    public init(number: UInt64, sessionNumber: UInt64 = 0, user: UserLabel? = nil, bytes: [UInt8] = []) {
        self.number = number
        self.sessionNumber = sessionNumber
        self.user = user
        self.bytes = bytes
    }
}
