import NestModel

/// Why a state is replaced as a whole.
public struct ResultsReset: Hashable, Sendable {
    public enum Cause: Sendable {
        /// The server sends a snapshot instead of a difference: it is smaller, or the difference is no longer known.
        case server
        /// Received data does not fit the held state: a gap, or another digest.
        case mismatch
        /// The request has changed, and no difference leads to the new result.
        case request
        /// The cached state is of another history or another model.
        case cache
    }

    public var cause: Cause
    /// A description for people.
    public var message: String

    public init(cause: Cause, message: String) {
        self.cause = cause
        self.message = message
    }
}

/// A change of fetched results, or an event of their subscription.
public enum FetchedResultsChange: Hashable, Sendable {
    /// The complete state has arrived, for the first time or again. Read it from `ResultsSubscription.state`.
    case snapshot(SnapshotReason)
    /// The state has changed by this diff, from its previous revision.
    case diff(ResultsDiff)
    /// The state is still exact at this later revision.
    case progress(Revision)
    /// The position of the window in the whole result has changed. The visible rows have not.
    case position(WindowPosition)
    /// The totals of the result or of sections have changed: read them from the state. The visible rows have not.
    /// Totals that change with the rows are part of the diff.
    case totals(TotalsUpdate)
    /// Differences can no longer update the state. A snapshot follows.
    case reset(ResultsReset)
    /// The connection is lost, and the client reconnects. The state stays.
    case disconnected(reason: String)
    /// `ResultsSubscription.pause` has taken effect. Nothing arrives until `resume`.
    case paused
    /// The connection is restored, or the pause is over. Changes continue from the held state, which was exact at this
    /// revision.
    case resumed(Revision)
}
