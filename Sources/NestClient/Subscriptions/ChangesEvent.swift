import NestModel

/// An event of a subscription to changes.
public enum ChangesEvent: Hashable, Sendable {
    /// The first event. All changes after this state follow.
    case following(ResumePoint)
    /// The changes of a transaction, or a part of them. Revisions arrive in order; none is missing or repeated.
    case changes(ChangeSetPart)
    /// There are no more changes up to this revision.
    case progress(Revision)
    /// The connection is lost, and the client reconnects.
    case disconnected(reason: String)
    /// The connection is restored. Events continue after this revision.
    case resumed(Revision)
}
