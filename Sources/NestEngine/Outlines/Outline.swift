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
    /// Only the fold states change.
    var source: OutlineSource
    let filterPaths: [CompiledPath]
    let columnPaths: [CompiledPath]
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
    /// The indexes of these rows.
    private(set) var sentIndexes: [ObjectID: Int] = [:]
    private var sentBytes = 0
    /// The memory that is counted for the outline.
    var countedBytes = 0
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
        self.filterPaths = plan.source.filterPaths
        self.columnPaths = plan.source.columnPaths
        self.projection = plan.projection
        self.columns = plan.columns
        self.window = plan.window
        self.lastChange = head
    }

    /// The estimated memory. O(1).
    var byteCount: Int {
        self.rows.tree.byteCount + self.sentBytes + 32 * self.source.folds.exceptions.count
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
    func note(_ changes: OutlineChanges) { self.changed.formUnion(changes.changed(among: self.sentIndexes)) }

    /// Notes objects whose columns may have other values.
    func note(_ ids: Set<ObjectID>) {
        if ids.count < self.sent.count {
            for id in ids where self.sentIndexes[id] != nil { self.changed.insert(id) }
        } else {
            for row in self.sent where ids.contains(row.id) { self.changed.insert(row.id) }
        }
    }

    /// Whether rows that were sent may have other values now.
    var hasChanged: Bool { self.isAllChanged || !self.changed.isEmpty }

    func isChanged(_ id: ObjectID) -> Bool { self.isAllChanged || self.changed.contains(id) }

    /// Returns the values of a row that the connection has, if they are those of the object.
    func sentValues(_ id: ObjectID) -> [AttributeValue]? {
        guard !self.isChanged(id), let index = self.sentIndexes[id] else { return nil }
        return self.sent[index].values
    }

    /// Whether the window may show something else than was sent, other than its position. O(rows of the window) at
    /// most, and reads nothing.
    func mayShowOther(_ outcome: OutlineUpdate.Outcome) -> Bool {
        if self.hasChanged { return true }
        if outcome.counted.contains(where: { self.sentIndexes[$0] != nil }) { return true }
        return outcome.hasMoved && !self.showsSent
    }

    /// Whether the window has the same rows as were sent, at the same depths.
    private var showsSent: Bool {
        let range = self.range
        guard range.count == self.sent.count, self.position.anchor == self.sentPosition?.anchor else { return false }
        let depth = self.columns.firstIndex(of: .depth)
        let children = self.columns.firstIndex(of: .childCount)
        var index = 0
        var isSame = true
        self.rows.tree.forEach(in: range) { entry in
            defer { index += 1 }
            guard isSame else { return }
            let row = self.sent[index]
            isSame =
                row.id == entry.id && (depth.map { row.values[$0] == .integer(Int64(entry.depth)) } ?? true)
                && (children.map { row.values[$0] == OutlineWindow.children(entry) } ?? true)
        }
        return isSame
    }

    /// Notes that the connection has these rows now.
    func noteSent(_ rows: [SentRow], _ position: WindowPosition, at revision: Revision) {
        self.sent = rows
        self.sentIndexes = Dictionary(uniqueKeysWithValues: zip(rows.map(\.id), rows.indices))
        self.sentBytes = rows.reduce(0) { $0 + $1.values.reduce(72) { $0 + 16 + $1.byteCount } }
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
