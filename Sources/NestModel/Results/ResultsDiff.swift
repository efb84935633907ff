/// Why a row left a result.
public enum LeaveReason: UInt8, Sendable, CaseIterable, CustomStringConvertible {
    case deleted = 1
    /// It lives on, but the request no longer finds it.
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

/// What takes a result from one revision to a later one.
///
/// Old coordinates for what leaves, new coordinates for what arrives. Applied in two phases (`SectionedSnapshot.apply`);
/// one at a time, in the order of a list of callbacks, would be wrong.
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
        /// Where the row is in the end.
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

    /// The revision of the view's previous change: a state exact at h may take this diff when from <= h < to. The
    /// diff that answers a change of a subscription is from a revision to the same one.
    public var from: Revision
    public var to: Revision
    /// Rows of the new state of the view.
    public var total: Int
    /// The digest of the new state.
    public var digest: UInt64
    /// Ascending, old coordinates. Every row that leaves is listed, those of deleted sections too.
    public var deletedRows: [DeletedRow] = []
    /// Ascending, old coordinates; such a section is empty when it is taken out.
    public var deletedSections: [Int] = []
    /// Ascending, new coordinates.
    public var insertedSections: [InsertedSection] = []
    /// Ascending by `to`.
    public var moves: [Move] = []
    /// Ascending, new coordinates.
    public var insertedRows: [InsertedRow] = []
    /// Ascending, new coordinates; only values that changed.
    public var updates: [Update] = []
    /// Of a view with a window: where it is now.
    public var window: WindowPosition?
    /// The revisions among those after `from`, up to `to`, that the connection which got the diff wrote itself; ascending.
    /// Not part of the diff's bytes: the client knows them.
    public var ownRevisions: [Revision] = []

    public init(from: Revision, to: Revision, total: Int, digest: UInt64) {
        self.from = from
        self.to = to
        self.total = total
        self.digest = digest
    }

    /// Whether a write of the connection itself is among what the diff spans.
    public var isOwn: Bool { !self.ownRevisions.isEmpty }

    /// Whether it changes nothing; such a diff is never sent.
    public var isEmpty: Bool {
        self.deletedRows.isEmpty && self.deletedSections.isEmpty && self.insertedSections.isEmpty
            && self.moves.isEmpty && self.insertedRows.isEmpty && self.updates.isEmpty
    }
}
