import NestLiveQuery
import NestModel
import NestSchema
import NestStore

/// An outline that a connection follows: its rows, its window, and what the connection was sent of it.
final class Outline {
    /// What the values of a row come from.
    enum Column: Equatable {
        case slot(Int)
        /// An index in `ResultSource.related`.
        case related(Int)
        case depth
        case childCount
    }

    /// A row as the connection has it.
    struct SentRow {
        var id: ObjectID
        var values: [AttributeValue]
    }

    let id: UInt32
    let connection: ConnectionID
    var source: OutlineSource
    var projection: [PropertyNumber]
    var columns: [Column]
    /// The window; around an object, its anchor is that of `rows`.
    var window: FetchWindow
    var rows = OutlineTree()
    /// Whether the object above the outline exists and is visible.
    var hasRoot = false
    /// Whether the rows are of an earlier revision, until they have been read anew.
    var isStale = false

    /// The rows of the last state that was sent, and its position.
    var sent: [SentRow] = []
    var sentPosition: WindowPosition?
    private(set) var sentIDs: Set<ObjectID> = []
    /// The revision of the last state that was sent: the next diff begins there.
    var lastChange: Revision
    /// The head when it began to lag; `nil`: the connection has everything.
    var laggingSince: Revision?
    /// The rows among those sent whose objects have changed since.
    private var changed: Set<ObjectID> = []
    /// Whether any of them may have other values.
    var isAllChanged = false

    init(id: UInt32, connection: ConnectionID, _ plan: OutlinePlan, head: Revision) {
        self.id = id
        self.connection = connection
        self.source = plan.source
        self.projection = plan.projection
        self.columns = plan.columns
        self.window = plan.window
        self.lastChange = head
    }

    /// The estimated memory.
    var byteCount: Int {
        let values = self.sent.reduce(0) { $0 + $1.values.reduce(48) { $0 + 16 + $1.byteCount } }
        return self.rows.tree.byteCount + values + 32 * self.source.folds.exceptions.count
            + self.source.children.byteCount
    }

    // MARK: The window

    /// The rows that the window shows.
    var range: Range<Int> { Self.range(self.window, self.rows) }

    static func range(_ window: FetchWindow, _ rows: OutlineTree) -> Range<Int> {
        switch window {
        case .range(let offset, let limit):
            let first = min(offset, rows.count)
            return first..<first + min(limit, rows.count - first)
        case .around(_, let before, let after):
            guard let anchor = rows.anchor, let index = rows.tree.index(of: anchor) else { return 0..<0 }
            return max(index - min(before, index), 0)..<index + 1 + min(after, rows.count - index - 1)
        }
    }

    var position: WindowPosition { Self.position(self.range, self.window, self.rows) }

    static func position(_ range: Range<Int>, _ window: FetchWindow, _ rows: OutlineTree) -> WindowPosition {
        let start = WindowStart(row: range.lowerBound, section: 0, rowInSection: range.lowerBound)
        return WindowPosition(
            total: rows.count,
            sectionTotal: 1,
            start: start,
            anchor: window.isAround ? rows.anchor : nil
        )
    }

    /// Sets the object that a window around an object follows. Throws if it is not a row.
    func setAnchor() throws(StoreError) {
        guard case .around(let id, _, _) = self.window else { return self.rows.setAnchor(nil) }
        guard self.rows.tree.contains(id) else { throw View.notARow(id) }
        self.rows.setAnchor(id)
    }

    // MARK: What was sent

    /// Notes that the connection has the values of all rows of the window, although objects have changed.
    func noteUnchanged() {
        self.changed = []
        self.isAllChanged = false
    }

    /// Notes objects of its table that have changed.
    func note(_ changes: OutlineChanges) {
        for id in changes.before.keys where self.sentIDs.contains(id) { self.changed.insert(id) }
    }

    func isChanged(_ id: ObjectID) -> Bool { self.isAllChanged || self.changed.contains(id) }

    /// Notes that the connection has these rows now.
    func noteSent(_ rows: [SentRow], _ position: WindowPosition, at revision: Revision) {
        self.sent = rows
        self.sentIDs = Set(rows.map(\.id))
        self.sentPosition = position
        self.lastChange = revision
        self.laggingSince = nil
        self.changed = []
        self.isAllChanged = false
    }
}

/// A checked request for an outline.
struct OutlinePlan: Sendable {
    var source: OutlineSource
    var projection: [PropertyNumber]
    var columns: [Outline.Column]
    var window: FetchWindow
    /// Whether the fold states are those of the subscription that the request changes.
    var keepsFolds: Bool
}
