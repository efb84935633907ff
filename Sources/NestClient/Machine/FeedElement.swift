import NestModel

/// What a feed hands to its subscribers' queues.
package enum FeedElement: Equatable, Sendable {
    /// `of`: the request that the state is of from here on; `nil`: the same as before.
    case snapshot(SectionedSnapshot, SnapshotReason, digest: UInt64, of: FetchRequest? = nil)
    case diff(ResultsDiff, of: FetchRequest? = nil)
    /// The state is also that of this request.
    case request(FetchRequest)
    case progress(Revision)
    case position(WindowPosition)
    case reset(ResultsReset)
    case disconnected(reason: String)
    case resumed(Revision)
    case paused

    /// The subscription is away: what was said of that before does not matter.
    var isAway: Bool {
        switch self {
        case .disconnected, .paused: true
        case .snapshot, .diff, .request, .progress, .position, .reset, .resumed: false
        }
    }

    /// What it weighs beyond the bytes it came in; nothing for events that queues merge.
    var ownBytes: Int {
        switch self {
        case .snapshot, .diff, .request: 128
        case .progress, .position, .reset, .disconnected, .resumed, .paused: 0
        }
    }
}

/// What a queue holds, with its share of the bytes that wait.
package struct QueuedElement: Sendable {
    package var element: FeedElement
    package var byteCount: Int
}
