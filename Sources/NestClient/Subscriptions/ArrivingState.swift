import NestModel

/// A received state that is not shown yet. It is shown when it is not older than the visible state, and of the right
/// request. Until then, the elements after it change it.
package struct ArrivingState: Equatable, Sendable {
    var state: SectionedSnapshot
    var reason: SnapshotReason
    var digest: UInt64
    /// The request of the state.
    var request: ObjectFetchRequest
    /// The newest revision at which the position of the state's window is known. The rows are those of that revision
    /// too.
    var positionRevision: Revision
    /// Whether a server has confirmed it, on the connection of that time.
    var isCurrent = true
    /// Whether it is from the cache, and no server has confirmed it.
    var isFromCache = false
    /// The number of later elements that change its request, if it was taken from another subscriber: before them, it
    /// is of a request that this subscriber never had.
    var requestChanges = 0

    /// The newest revision at which all of the state is exact.
    var exactRevision: Revision { self.state.window == nil ? self.state.revision : self.positionRevision }

    /// Whether an element changes this state. An element that replaces it, or reports about the connection, does not.
    func isChanged(by element: SubscriptionElement) -> Bool {
        switch element {
        case .diff, .request, .progress, .position, .totals, .resumed: true
        case .snapshot, .held, .reset, .otherHistory, .disconnected, .paused: false
        }
    }

    init(
        state: SectionedSnapshot,
        reason: SnapshotReason,
        digest: UInt64,
        request: ObjectFetchRequest,
        positionRevision: Revision
    ) {
        self.state = state
        self.reason = reason
        self.digest = digest
        self.request = request
        self.positionRevision = positionRevision
    }

    /// A snapshot.
    init(_ snapshot: SectionedSnapshot, digest: UInt64, request: ObjectFetchRequest) {
        self.init(
            state: snapshot,
            reason: .first,
            digest: digest,
            request: request,
            positionRevision: snapshot.revision
        )
    }

    mutating func apply(_ element: SubscriptionElement) throws(DiffMismatch) {
        self.isCurrent = element.isCurrent(after: self.isCurrent)
        if self.isCurrent { self.isFromCache = false }
        switch element {
        case .diff(let diff, let request):
            guard !diff.isIncluded(in: self.state, request, position: self.positionRevision) else { return }
            try self.state.apply(diff.fitted(to: self.state, of: request))
            self.digest = diff.digest
            self.positionRevision = diff.to
            if let request { self.become(request) }
        case .request(let request): self.become(request)
        case .progress(let revision), .resumed(let revision, _):
            self.state.revision = max(self.state.revision, revision)
        case .position(let position, let revision):
            self.state.window = position
            self.positionRevision = revision
        case .totals(let totals):
            guard self.state.apply(totals) else { throw .coordinates("totals of a section that does not exist") }
            self.state.revision = max(self.state.revision, totals.revision)
        case .snapshot, .held, .reset, .otherHistory, .disconnected, .paused: break
        }
    }

    private mutating func become(_ request: ObjectFetchRequest) {
        self.request = request
        self.requestChanges = max(0, self.requestChanges - 1)
        if request.window == nil { self.state.window = nil }
    }
}

extension ResultsDiff {
    /// Returns the diff with the `from` that fits `state`. `request` is the new request, if the diff answers a change.
    /// Such a diff fits the held state up to its revision. The position of a window can advance a visible state beyond
    /// the connection's head.
    func fitted(to state: SectionedSnapshot, of request: ObjectFetchRequest?) -> ResultsDiff {
        guard request != nil, state.revision == self.to else { return self }
        var diff = self
        diff.from = diff.to
        return diff
    }

    /// Whether a state already contains this diff, because the position of its window has advanced it beyond the
    /// connection's head to the diff's revision. `request`: as for `fitted`.
    func isIncluded(in state: SectionedSnapshot, _ request: ObjectFetchRequest?, position: Revision) -> Bool {
        request == nil && state.window != nil && self.to == state.revision && self.to == position
    }
}
