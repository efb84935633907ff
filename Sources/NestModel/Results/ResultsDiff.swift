/// Why a row left a result.
public enum LeaveReason: UInt8, Sendable, CaseIterable, CustomStringConvertible {
    case deleted = 1
    /// The object still exists, but the request no longer matches it.
    case unmatched = 2
    case outOfWindow = 3

    public var description: String {
        switch self {
        case .deleted: "deleted"
        case .unmatched: "unmatched"
        case .outOfWindow: "outOfWindow"
        }
    }
}

/// The difference between a result at one revision and at a later one.
///
/// Removed rows have old coordinates, added rows new ones. Apply it in two phases (`SectionedSnapshot.apply`), not one
/// change at a time.
public struct ResultsDiff: Hashable, Sendable {
    public struct DeletedRow: Hashable, Sendable {
        public var path: RowPosition
        public var id: ObjectID
        public var reason: LeaveReason

        public init(path: RowPosition, id: ObjectID, reason: LeaveReason) {
            self.path = path
            self.id = id
            self.reason = reason
        }
    }

    public struct InsertedSection: Hashable, Sendable {
        public var index: Int
        public var key: AttributeValue

        public init(index: Int, key: AttributeValue) {
            self.index = index
            self.key = key
        }
    }

    public struct Move: Hashable, Sendable {
        public var from: RowPosition
        public var to: RowPosition

        public init(from: RowPosition, to: RowPosition) {
            self.from = from
            self.to = to
        }
    }

    public struct InsertedRow: Hashable, Sendable {
        public var path: RowPosition
        public var row: Row

        public init(path: RowPosition, row: Row) {
            self.path = path
            self.row = row
        }
    }

    public struct Update: Hashable, Sendable {
        /// The row's position in the new state.
        public var path: RowPosition
        public var values: [(property: PropertyNumber, value: AttributeValue)]

        public init(path: RowPosition, values: [(property: PropertyNumber, value: AttributeValue)]) {
            self.path = path
            self.values = values
        }

        public static func == (a: Update, b: Update) -> Bool {
            a.path == b.path && a.values.elementsEqual(b.values) { $0.property == $1.property && $0.value == $1.value }
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(self.path)
            for (property, value) in self.values {
                hasher.combine(property)
                hasher.combine(value)
            }
        }
    }

    /// The revision of the view's previous change. The diff applies to a state that is exact at revision h if from <= h
    /// < to. A diff that answers a change of the subscription has equal `from` and `to`.
    public var from: Revision
    public var to: Revision
    /// The number of rows of the view's new state.
    public var total: Int
    /// The digest of the new state.
    public var digest: UInt64
    /// Ascending, old coordinates. Every removed row is listed, rows of deleted sections included.
    public var deletedRows: [DeletedRow] = []
    /// Ascending, old coordinates. A section is empty when it is removed.
    public var deletedSections: [Int] = []
    /// Ascending, new coordinates.
    public var insertedSections: [InsertedSection] = []
    /// Ascending by `to`.
    public var moves: [Move] = []
    /// Ascending, new coordinates.
    public var insertedRows: [InsertedRow] = []
    /// Ascending, new coordinates; only changed values.
    public var updates: [Update] = []
    /// The window's position, if the view has a window.
    public var window: WindowPosition?
    /// The totals after the diff, if any have changed. Not encoded in the diff: the server sends them before it.
    public var totals: TotalsUpdate?
    /// The revisions after `from`, up to `to`, that the receiving connection wrote itself; ascending. Not encoded in
    /// the diff: the client computes them.
    public var ownRevisions: [Revision] = []
    /// The authors of the revisions that the diff may contain, ascending, if the client asks for them. Some of these
    /// revisions may have changed other lists only. Not encoded in the diff: the server sends them before it.
    public var authors: [RevisionAuthor] = []

    public init(from: Revision, to: Revision, total: Int, digest: UInt64) {
        self.from = from
        self.to = to
        self.total = total
        self.digest = digest
    }

    /// Whether the diff includes a write of the connection itself.
    public var isOwn: Bool { !self.ownRevisions.isEmpty }

    /// Whether the diff changes nothing. Such a diff is never sent.
    public var isEmpty: Bool {
        self.deletedRows.isEmpty && self.deletedSections.isEmpty && self.insertedSections.isEmpty
            && self.moves.isEmpty && self.insertedRows.isEmpty && self.updates.isEmpty
    }
}
