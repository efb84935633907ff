/// A state that a client holds from an earlier connection.
public struct ResumePoint: Hashable, Sendable {
    public var historyID: Identifier128
    public var revision: Revision

    public init(historyID: Identifier128, revision: Revision) {
        self.historyID = historyID
        self.revision = revision
    }
}

/// What a subscription is sent first.
public enum FirstState: Hashable, Sendable {
    /// A snapshot follows.
    case snapshot
    /// One diff from the revision the client resumed at.
    case difference
    /// What the client holds is still exact, at this revision.
    case current(Revision)
    /// The connection has the same view already: its frames serve both.
    case alreadySubscribed
}

/// Why a snapshot is sent.
public enum SnapshotReason: UInt8, Sendable, CaseIterable, CustomStringConvertible {
    /// The first state of a subscription, or a fetch.
    case first = 0
    /// The change touched so much of the result that the whole is smaller.
    case largeChange = 1
    /// The client fell so far behind that the server no longer has the difference.
    case tooFarBehind = 2

    public var description: String {
        switch self {
        case .first: "first"
        case .largeChange: "large change"
        case .tooFarBehind: "too far behind"
        }
    }
}

/// What a snapshot says before its rows.
public struct SnapshotHeader: Hashable, Sendable {
    public struct Section: Hashable, Sendable {
        public var key: AttributeValue
        /// Of the rows that the snapshot holds.
        public var rowCount: Int

        public init(key: AttributeValue, rowCount: Int) {
            self.key = key
            self.rowCount = rowCount
        }
    }

    public var reason: SnapshotReason
    public var revision: Revision
    /// Of the rows that the snapshot holds.
    public var digest: UInt64
    /// Of the whole, for a view without a window.
    public var window: WindowPosition
    /// Those that the snapshot has rows of; one, when the result has no section key.
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

    /// Of a whole result.
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

    /// Rows that the snapshot holds.
    public var rowCount: Int { self.sections.reduce(0) { $0 + $1.rowCount } }
}
