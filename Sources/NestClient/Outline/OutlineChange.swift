import NestModel

/// A change of an outline, or an event of its subscription.
public struct OutlineChange: Hashable, Sendable {
    /// What has happened. After `snapshot` all rows are new; a `diff` changes the rows of the state before.
    public let event: FetchedResultsChange
    /// The state after it.
    public let state: OutlineState
    /// The runs of a diff. Empty for every other event.
    public let runs: [OutlineRun]
    /// Whether this is a diff that answers this subscriber: it shows what a fold, a zoom, a scroll or another predicate
    /// brings. It may contain what others have changed, too.
    public let isAnswer: Bool

    /// The difference to the state before; `nil`: the event is no diff.
    public var diff: ResultsDiff? {
        if case .diff(let diff) = self.event { diff } else { nil }
    }

    init(_ event: FetchedResultsChange, _ state: OutlineState, isAnswer: Bool = false) {
        self.event = event
        self.isAnswer = isAnswer
        self.state = state
        if case .diff(let diff) = event { self.runs = OutlineRun.runs(of: diff) } else { self.runs = [] }
    }
}
