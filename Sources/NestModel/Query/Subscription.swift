/// The revision that a client holds from an earlier connection.
public struct ResumePoint: Hashable, Sendable {
    public var historyID: Identifier128
    public var revision: Revision

    public init(historyID: Identifier128, revision: Revision) {
        self.historyID = historyID
        self.revision = revision
    }
}

/// The first state that the server sends to a subscription.
public enum FirstState: Hashable, Sendable {
    /// A snapshot follows.
    case snapshot
    /// One diff from the revision at which the client resumed follows.
    case difference
    /// The client's state is still exact, at this revision.
    case current(Revision)
    /// The connection already has the same view: its frames serve both subscriptions.
    case alreadySubscribed
}

/// Why the server sends a snapshot.
public enum SnapshotReason: UInt8, Sendable, CaseIterable, CustomStringConvertible {
    /// The first state of a subscription, or a fetch.
    case first = 0
    /// The change affected so many rows that a snapshot is smaller than a diff.
    case largeChange = 1
    /// The client is so far behind that the server no longer has the difference.
    case tooFarBehind = 2

    public var description: String {
        switch self {
        case .first: "first"
        case .largeChange: "large change"
        case .tooFarBehind: "too far behind"
        }
    }
}

/// The header of a snapshot, which precedes its rows.
public struct SnapshotHeader: Hashable, Sendable {
    public struct Section: Hashable, Sendable {
        public var key: AttributeValue
        /// The number of rows of the section in the snapshot.
        public var rowCount: Int

        public init(key: AttributeValue, rowCount: Int) {
            self.key = key
            self.rowCount = rowCount
        }
    }

    public var reason: SnapshotReason
    public var revision: Revision
    /// The digest of the rows in the snapshot.
    public var digest: UInt64
    /// The window's position; for a view without a window, the whole result.
    public var window: WindowPosition
    /// The sections that have rows in the snapshot; exactly one if the result has no section key.
    public var sections: [Section]

    public init(
        reason: SnapshotReason,
        revision: Revision,
        digest: UInt64,
        window: WindowPosition,
        sections: [Section]
    ) {
        self.reason = reason
        self.revision = revision
        self.digest = digest
        self.window = window
        self.sections = sections
    }

    /// Makes the header of a whole result.
    public init(
        reason: SnapshotReason,
        revision: Revision,
        digest: UInt64,
        total: Int,
        sections: [Section]
    ) {
        let window = WindowPosition(total: total, sectionTotal: sections.count, start: WindowStart())
        self.init(reason: reason, revision: revision, digest: digest, window: window, sections: sections)
    }

    public var total: Int { self.window.total }

    /// The number of rows in the snapshot.
    public var rowCount: Int { self.sections.reduce(0) { $0 + $1.rowCount } }
}
