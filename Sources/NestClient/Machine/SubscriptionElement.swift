import NestModel

/// What a subscription hands to its subscribers' queues.
package enum SubscriptionElement: Equatable, Sendable {
    /// `of`: the request that the state is of from here on; `nil`: the same as before.
    case snapshot(SectionedSnapshot, SnapshotReason, digest: UInt64, of: ObjectFetchRequest? = nil)
    case diff(ResultsDiff, of: ObjectFetchRequest? = nil)
    /// The state is also that of this request.
    case request(ObjectFetchRequest)
    case progress(Revision)
    /// Where the window is at a revision, at which it shows what it did before.
    case position(WindowPosition, Revision)
    case reset(ResultsReset)
    /// The store has another history than the one before: its revisions cannot be compared with those.
    case otherHistory
    case disconnected(reason: String)
    case resumed(Revision)
    case paused

    /// The subscription is away: what was said of that before does not matter.
    var isAway: Bool {
        switch self {
        case .disconnected, .paused: true
        case .snapshot, .diff, .request, .progress, .position, .reset, .otherHistory, .resumed: false
        }
    }

    /// What it weighs beyond the bytes it came in; nothing for events that queues merge.
    var ownBytes: Int {
        switch self {
        case .snapshot, .diff, .request: 128
        case .progress, .position, .reset, .otherHistory, .disconnected, .resumed, .paused: 0
        }
    }

    /// The revision of the state that it leads to; `nil` while that is not known to be exact.
    func revision(after revision: Revision?) -> Revision? {
        switch self {
        case .snapshot(let snapshot, _, _, _): snapshot.revision
        case .diff(let diff, _): diff.to
        case .progress(let reached): reached
        case .position, .request: revision
        // After `resumed` a difference may follow, so that nothing is known before the next element.
        case .reset, .otherHistory, .disconnected, .resumed, .paused: nil
        }
    }
}

/// What a queue holds, with its share of the bytes that wait.
package struct QueuedElement: Sendable {
    package var element: SubscriptionElement
    package var byteCount: Int
}
