/// Somebody who is present in a scope: a client that shows others where it is.
///
/// The server keeps it as long as the client's connection lasts, and stores nothing.
public struct PresenceState: Hashable, Sendable {
    /// Names the client as long as it is present. The same in all its scopes, and after a reconnect.
    public var number: UInt64
    /// The public number of the client's session; 0: it has none yet.
    public var sessionNumber: UInt64
    /// Who the client says it is; `nil`: it has no label.
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
