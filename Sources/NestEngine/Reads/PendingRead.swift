import DequeModule
import NestModel

/// A read beside the engine, and who waits for it.
final class PendingRead {
    enum Waiter {
        case fetch
        /// `atLeast`: what the rows must have reached; `reason`: why a client that returns is not told the difference.
        case subscribe(resume: ResumePoint?, atLeast: Revision, reason: String)
        /// Instead of this view.
        case resubscribe(from: UInt32, reason: String)
        /// A subscription to this view lags too far behind for a difference. No request waits for it.
        case catchUp(view: UInt32, SnapshotReason)

        var isFetch: Bool { if case .fetch = self { true } else { false } }
        var atLeast: Revision { if case .subscribe(_, let revision, _) = self { revision } else { Revision(0) } }
    }

    let read: SideRead
    let key: ViewKey
    /// The head when it was asked for: it is of this revision or a later one.
    let head: Revision
    var waiters: Deque<(connection: ConnectionID, requestID: UInt32, waiter: Waiter)> = []
    var attempts: Int
    /// What has been read, when it has come.
    var rows: SideRead.Rows?
    /// For a fetch, which nobody else joins.
    var isFetch: Bool { !self.read.mayBeGone }

    init(_ read: SideRead, _ key: ViewKey, head: Revision, attempts: Int) {
        self.read = read
        self.key = key
        self.head = head
        self.attempts = attempts
    }
}
