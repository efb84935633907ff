import NestProtocol
import NestLiveQuery
import NestModel
import NestSchema
import NestStore

/// What makes two requests share a live result.
struct ResultKey: Hashable {
    var source: ResultSource
    var scope: AuthorisationScope
}

/// What makes two requests share a view, and so every byte that is sent for it.
struct ViewKey: Hashable {
    var result: ResultKey
    var projection: [PropertyNumber]
    var window: FetchWindow?
}

/// How far a connection's subscription is.
///
///     synced ──connection blocked──▶ lagging(base)     nothing is evaluated or kept for it alone
///     lagging ──drained────────────▶ synced            one net diff from base, or a snapshot when the log does not reach
enum SubscriptionState: Equatable {
    case synced
    /// Exact at `base`, where the view showed `range`, though it may know that only of `known`, the view's last change
    /// before: its net diff starts there.
    case lagging(base: Revision, known: Revision, range: Range<Int>)
}

/// A live result seen through a projection and a window: evaluated with the result, encoded once for all who subscribe
/// to it.
final class View {
    let id: UInt32
    /// Changed when the object that a window is around is replaced.
    var key: ViewKey
    /// The slots of the projection; `EntityLayout.entitySlot` for the object's own entity, those of columns last.
    let slots: [Int]
    /// The revision of the view's previous change: what its next diff says it starts from.
    var lastChange: Revision
    /// The rows of the result that it shows, at the result's revision.
    private(set) var range: Range<Int>
    /// Of the object that the window is around; `nil` when there is none, in an empty result too.
    private(set) var anchor: RowKey?
    /// The window's position as all synced subscribers know it; `nil` without a window, and when they may know
    /// different ones.
    var sentPosition: WindowPosition?
    var subscribers = Subscribers()
    /// A connection may subscribe to the same view more than once; it gets each frame once.
    var counts: [ConnectionID: Int] = [:]
    /// The first state, encoded for those who come at the same revision.
    var snapshot: (header: SnapshotHeader, rows: [SharedBytes])?

    /// `anchor`: the key of the object that the window is around.
    init(id: UInt32, key: ViewKey, slots: [Int], anchor: RowKey?, _ result: LiveResult) {
        self.id = id
        self.key = key
        self.slots = slots
        self.lastChange = result.revision
        self.anchor = anchor
        self.range = 0..<0
        self.range = Self.range(key.window, anchor, result.tree)
        self.sentPosition = self.position(in: result.tree)
    }

    /// The rows that a window shows of a tree; all of them without one. O(log n).
    static func range(_ window: FetchWindow?, _ anchor: RowKey?, _ tree: OrderStatisticTree) -> Range<Int> {
        switch window {
        case nil:
            return 0..<tree.count
        case .range(let offset, let limit):
            let first = min(offset, tree.count)
            return first..<first + min(limit, tree.count - first)
        case .around(_, let before, let after):
            guard let anchor else { return 0..<0 }
            let index = tree.index(of: anchor)
            let first = max(index - min(before, index), 0)
            return first..<index + 1 + min(after, tree.count - index - 1)
        }
    }

    /// The key of the row that a window is around. O(n).
    static func anchor(_ window: FetchWindow?, _ tree: OrderStatisticTree) throws(StoreError) -> RowKey? {
        guard case .around(let id, _, _) = window else { return nil }
        var found: RowKey?
        tree.forEach { if $0.id == id { found = $0 } }
        guard let found else { throw Self.notARow(id) }
        return found
    }

    static func notARow(_ id: ObjectID) -> StoreError {
        .refused(.notFound, "the object \(id) is no row of the result: there is no window around it", object: id)
    }

    /// The row in the position of one that has left, or the last; without a key, the first.
    static func successor(of key: RowKey?, in tree: OrderStatisticTree, _ delta: ResultDelta?) -> RowKey? {
        guard tree.count > 0 else { return nil }
        let index = key.map { delta?.place(ofLeft: $0) ?? tree.index(of: $0) } ?? 0
        return tree.key(at: min(index, tree.count - 1))
    }

    /// Takes the result's present state. `anchor`: the key of the row that the window is around, or of the one that has
    /// come into its place. Answers the rows it showed before.
    func advance(_ tree: OrderStatisticTree, anchor: RowKey?) -> Range<Int> {
        let before = self.range
        self.anchor = anchor
        if case .around(_, let above, let below) = self.key.window, let anchor {
            self.key.window = .around(anchor.id, before: above, after: below)
        }
        self.range = Self.range(self.key.window, anchor, tree)
        return before
    }

    /// Where the window is in the whole; `nil` without one. O(log n).
    func position(in tree: OrderStatisticTree) -> WindowPosition? {
        self.key.window == nil ? nil : tree.position(of: self.range, anchor: self.anchor?.id)
    }

    /// Who gets what is sent for the view, ascending.
    var synced: [ConnectionID] { self.subscribers.synced() }
}

extension OrderStatisticTree {
    /// Where a range of rows is in the whole. O(log n).
    func position(of range: Range<Int>, anchor: ObjectID? = nil) -> WindowPosition {
        var start = WindowStart(row: range.lowerBound)
        if self.sectioning == nil {
            start.rowInSection = range.lowerBound
        } else if range.lowerBound < self.count {
            let path = self.path(of: self.key(at: range.lowerBound))
            (start.section, start.rowInSection) = (path.section, path.row)
        } else {
            start.section = self.sectionCount
        }
        return WindowPosition(total: self.count, sectionTotal: self.sectionCount, start: start, anchor: anchor)
    }
}
