import NestModel

/// What a feed hands to its subscribers' queues.
package enum FeedElement: Equatable, Sendable {
    case snapshot(SectionedSnapshot, SnapshotReason, digest: UInt64)
    case diff(ResultsDiff)
    case progress(Revision)
    case position(WindowPosition)
    case reset(ResultsReset)
    case disconnected(reason: String)
    case resumed(Revision)

    /// What it weighs beyond the bytes it came in; nothing for events that queues merge.
    var ownBytes: Int {
        switch self {
        case .snapshot, .diff: 128
        case .progress, .position, .reset, .disconnected, .resumed: 0
        }
    }

    /// The revision of the state that it leads to; `nil` while that is not known to be exact.
    func revision(after revision: Revision?) -> Revision? {
        switch self {
        case .snapshot(let snapshot, _, _): snapshot.revision
        case .diff(let diff): diff.to
        case .progress(let reached): reached
        case .position: revision
        // After `resumed` a difference may follow, so that nothing is known before the next element.
        case .reset, .disconnected, .resumed: nil
        }
    }
}

/// What a queue holds, with its share of the bytes that wait.
package struct QueuedElement: Sendable {
    package var element: FeedElement
    package var byteCount: Int
}
