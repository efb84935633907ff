import NestModel

/// A whole state on its way to a subscriber: shown when it is not older than what is shown already, until then changed by what
/// comes after it.
struct ArrivingState: Sendable {
    var state: SectionedSnapshot
    var reason: SnapshotReason
    var digest: UInt64
    /// What the state is of.
    var request: ObjectFetchRequest
    /// The revision at which its window is known to be where it is. The rows are those of that revision too.
    var placedRevision: Revision

    /// The newest revision at which all of it is right.
    var exactRevision: Revision { self.state.window == nil ? self.state.revision : self.placedRevision }

    /// Whether an element leads on from it. What replaces it or tells of the connection does not.
    func isChanged(by element: SubscriptionElement) -> Bool {
        switch element {
        case .diff, .request, .progress, .position, .resumed: true
        case .snapshot, .reset, .otherHistory, .disconnected, .paused: false
        }
    }

    mutating func apply(_ element: SubscriptionElement) throws(DiffMismatch) {
        switch element {
        case .diff(let diff, let request):
            try self.state.apply(diff.fitted(to: self.state, of: request))
            self.digest = diff.digest
            self.placedRevision = diff.to
            if let request { self.become(request) }
        case .request(let request): self.become(request)
        case .progress(let revision), .resumed(let revision):
            self.state.revision = max(self.state.revision, revision)
        case .position(let position, let revision):
            self.state.window = position
            self.placedRevision = revision
        case .snapshot, .reset, .otherHistory, .disconnected, .paused: break
        }
    }

    private mutating func become(_ request: ObjectFetchRequest) {
        self.request = request
        if request.window == nil { self.state.window = nil }
    }
}

extension ResultsDiff {
    /// As it applies to a state. `request`: what a change leads to, when this is the answer to it: that fits what is held up to
    /// its revision. By where its window is, a state may be shown at a later revision than the connection counts.
    func fitted(to state: SectionedSnapshot, of request: ObjectFetchRequest?) -> ResultsDiff {
        guard request != nil, state.revision == self.to else { return self }
        var diff = self
        diff.from = diff.to
        return diff
    }
}
