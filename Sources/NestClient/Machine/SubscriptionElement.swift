import NestModel

/// An element that a subscription delivers to its subscribers' queues.
package enum SubscriptionElement: Equatable, Sendable {
    /// `of`: the request of the state from now on; `nil`: unchanged.
    case snapshot(SectionedSnapshot, SnapshotReason, digest: UInt64, of: ObjectFetchRequest? = nil)
    /// The state of another subscriber of the same view. Queues make this element, not the connection.
    case held(ArrivingState)
    case diff(ResultsDiff, of: ObjectFetchRequest? = nil)
    /// The state is also the result of this request.
    case request(ObjectFetchRequest)
    case progress(Revision)
    /// The position of a window at a revision. Its rows have not changed.
    case position(WindowPosition, Revision)
    /// The totals at a revision. The state's rows are those of that revision too.
    case totals(TotalsUpdate)
    case reset(ResultsReset)
    /// The store has another history than before: revisions of the two cannot be compared.
    case otherHistory
    case disconnected(reason: String)
    /// `awaitsDifference`: the state is that of this revision, and a diff to a newer one follows.
    case resumed(Revision, awaitsDifference: Bool = false)
    case paused

    /// Whether the subscription is disconnected or paused. Such an element replaces a previous one.
    var isAway: Bool {
        switch self {
        case .disconnected, .paused: true
        case .snapshot, .held, .diff, .request, .progress, .position, .totals, .reset, .otherHistory, .resumed: false
        }
    }

    /// Whether it changes the request of the state that it applies to.
    var changesRequest: Bool {
        switch self {
        case .diff(_, let request): request != nil
        case .request: true
        case .snapshot, .held, .progress, .position, .totals, .reset, .otherHistory, .disconnected, .resumed, .paused:
            false
        }
    }

    /// The number of bytes that it uses beyond those received; 0 for events that queues merge.
    var ownBytes: Int {
        switch self {
        case .snapshot, .held, .diff, .request, .totals: 128
        case .progress, .position, .reset, .otherHistory, .disconnected, .resumed, .paused: 0
        }
    }

    /// Whether the state is current after this element, if it applies to the state.
    func isCurrent(after wasCurrent: Bool) -> Bool {
        switch self {
        case .snapshot, .diff, .totals: true
        case .held(let held): held.isCurrent
        case .resumed(_, let awaitsDifference): !awaitsDifference
        case .request, .position, .progress: wasCurrent
        case .reset, .otherHistory, .disconnected, .paused: false
        }
    }

    /// The revision of the state after this element; `nil` if it is not known to be exact.
    func revision(after revision: Revision?) -> Revision? {
        switch self {
        case .snapshot(let snapshot, _, _, _): snapshot.revision
        case .held(let held): held.state.revision
        case .diff(let diff, _): diff.to
        case .progress(let reached): reached
        case .totals(let totals): totals.revision
        case .position, .request: revision
        // A difference may follow `resumed`, so the revision is unknown before the next element.
        case .reset, .otherHistory, .disconnected, .resumed, .paused: nil
        }
    }
}

/// An element in a queue, with its share of the waiting bytes.
package struct QueuedElement: Sendable {
    package var element: SubscriptionElement
    package var byteCount: Int
}
