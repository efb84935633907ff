/// The user of a client, for people: the label of its token, or the one that a client without a token sends.
///
/// A label gives no rights. Text from others may contain control characters.
public struct UserLabel: Hashable, Sendable {
    /// Not empty; at most 256 bytes.
    public var text: String
    /// Whether a client without a token sent it. No server has checked it.
    public var isClaimed: Bool

    /// Returns `nil` for an empty text: the client has no label.
    public init?(_ text: String, isClaimed: Bool = false) {
        guard !text.isEmpty else { return nil }
        self.text = text
        self.isClaimed = isClaimed
    }
}

/// The session and the user that wrote a revision.
public struct RevisionAuthor: Hashable, Sendable {
    public var revision: Revision
    /// The public number of the session that wrote it.
    public var sessionNumber: UInt64
    /// `nil`: the session had no label when it wrote.
    public var user: UserLabel?

    public init(revision: Revision, sessionNumber: UInt64, user: UserLabel? = nil) {
        self.revision = revision
        self.sessionNumber = sessionNumber
        self.user = user
    }
}
