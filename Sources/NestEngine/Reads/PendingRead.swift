import DequeModule
import NestModel

/// A background read, and the requests that wait for it.
final class PendingRead {
    enum Waiter {
        case fetch
        /// `atLeast`: the revision that the rows must have reached. `reason`: why a resuming client does not get the
        /// difference.
        case subscribe(resume: ResumePoint?, atLeast: Revision, reason: String)
        /// Replaces the connection's subscription to this view.
        case resubscribe(from: UInt32, reason: String)
        /// A subscription to this view lags too far behind for a difference. No request waits for it.
        case catchUp(view: UInt32, SnapshotReason)

        var isFetch: Bool { if case .fetch = self { true } else { false } }
        var atLeast: Revision { if case .subscribe(_, let revision, _) = self { revision } else { Revision(0) } }
    }

    let read: BackgroundRead
    let key: ViewKey
    /// The head when the read was requested. The rows are of this revision or a later one.
    let head: Revision
    var waiters: Deque<(connection: ConnectionID, requestID: UInt32, waiter: Waiter)> = []
    var attempts: Int
    /// The rows; `nil` while the read runs.
    var rows: BackgroundRead.Rows?
    /// Whether the read is for a fetch. No other request joins it then.
    var isFetch: Bool { !self.read.anchorMayBeMissing }

    init(_ read: BackgroundRead, _ key: ViewKey, head: Revision, attempts: Int) {
        self.read = read
        self.key = key
        self.head = head
        self.attempts = attempts
    }
}
