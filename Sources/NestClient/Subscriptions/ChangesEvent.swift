import NestModel

/// What happens to a subscription to changes.
public enum ChangesEvent: Hashable, Sendable {
    /// The first event: what follows is everything after this state.
    case following(ResumePoint)
    /// What a transaction has touched, or a part of it: revisions come in order, none is left out and none comes twice.
    case changes(ChangeSetPart)
    /// Up to this revision there is nothing more.
    case progress(Revision)
    /// The connection is lost and being made again.
    case disconnected(reason: String)
    /// The connection is back; what follows goes on where it ended, after this revision.
    case resumed(Revision)
}
