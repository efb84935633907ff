import NestModel

/// Why a state is replaced as a whole.
public struct ResultsReset: Hashable, Sendable {
    public enum Cause: Sendable {
        /// The server sends a snapshot instead of a difference: it is smaller, or the difference is no longer known.
        case server
        /// What was received does not fit what was held: a gap, or a digest that differs.
        case mismatch
        /// The request has changed to one that the difference does not lead to.
        case request
    }

    public var cause: Cause
    /// For people.
    public var message: String

    public init(cause: Cause, message: String) {
        self.cause = cause
        self.message = message
    }
}

/// What happens to fetched results.
public enum FetchedResultsChange: Hashable, Sendable {
    /// The whole state is there, for the first time or again; read it from `ResultsSubscription.state`.
    case snapshot(SnapshotReason)
    /// The state has changed by this, from the revision it was at.
    case diff(ResultsDiff)
    /// The state is still exact at this later revision.
    case progress(Revision)
    /// A window shows what it did; where it is in the whole has changed.
    case position(WindowPosition)
    /// The state can no longer be brought up to date by differences; a snapshot follows.
    case reset(ResultsReset)
    /// The connection is lost and being made again; the state stays as it was.
    case disconnected(reason: String)
    /// `ResultsSubscription.pause` has taken effect: nothing comes until `resume`.
    case paused
    /// The connection is back, or the pause over: it goes on from the state held, which was exact at this revision.
    case resumed(Revision)
}
