import NestProtocol
import NestLiveQuery
import NestModel
import NestOrder
import NestSchema
import NestStore

/// The key by which requests share a live result.
struct ResultKey: Hashable {
    var source: ResultSource
    var scope: AuthorisationScope
}

/// The key by which requests share a view, and so every byte that is sent for it.
struct ViewKey: Hashable {
    var result: ResultKey
    var projection: [PropertyNumber]
    var window: FetchWindow?
}

/// The state of a connection's subscription.
///
///     synced ──connection blocked──▶ lagging(base)     nothing is evaluated or kept for it alone
///     lagging ──drained────────────▶ synced            one net diff from base; a snapshot if the log does not reach
enum SubscriptionState: Equatable {
    case synced
    /// The client is exact at `base`, where the view showed `range`. It may know this state only under the revision
    /// `known`, the view's last change before `base`, so its net difference starts at `known`.
    case lagging(base: Revision, known: Revision, range: Range<Int>)
}

/// A live result with a projection and a window. It is evaluated with the result, and encoded once for all its
/// subscribers.
final class View {
    let id: UInt32
    /// Changes when the window's anchor is replaced.
    var key: ViewKey
    /// The slots of the projection: `EntityLayout.entitySlot` for the object's own entity; columns last.
    let slots: [Int]
    /// Whether `slots` are 0, 1, 2 and so on.
    let hasSlotsInOrder: Bool
    /// The revision of the view's previous change, at which its next diff starts.
    var lastChange: Revision
    /// The rows of the result that the view shows, at the result's revision.
    private(set) var range: Range<Int>
    /// The key of the window's anchor; `nil` when there is none, also in an empty result.
    private(set) var anchor: RowKey?
    /// The window's position as all synced subscribers know it; `nil` without a window, and when they may know
    /// different positions.
    var sentPosition: WindowPosition?
    var subscribers = Subscribers()
    /// The number of subscriptions of each connection to this view. The connection gets each frame once.
    var counts: [ConnectionID: Int] = [:]
    /// The encoded snapshot, for subscribers that begin at the same revision.
    var snapshot: (header: SnapshotHeader, rows: [SharedBytes], totals: [UInt8]?)?

    /// `anchor`: the key of the window's anchor.
    init(id: UInt32, key: ViewKey, slots: [Int], anchor: RowKey?, _ result: LiveResult) {
        self.id = id
        self.key = key
        self.slots = slots
        self.hasSlotsInOrder = slots.elementsEqual(slots.indices)
        self.lastChange = result.revision
        self.anchor = anchor
        self.range = 0..<0
        self.range = Self.range(key.window, anchor, result.tree)
        self.sentPosition = self.position(in: result.tree)
    }

    /// Returns the rows of a tree that a window shows; all rows without a window. O(log n).
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

    /// Returns the key of a window's anchor. O(n).
    static func anchor(_ window: FetchWindow?, _ tree: OrderStatisticTree) throws(StoreError) -> RowKey? {
        guard case .around(let id, _, _) = window else { return nil }
        var found: RowKey?
        tree.forEach { if $0.id == id { found = $0 } }
        guard let found else { throw Self.notARow(id) }
        return found
    }

    static func notARow(_ id: ObjectID) -> StoreError {
        .refused(.notFound, "object \(id) is not a row of the result: choose a row as the window's anchor", object: id)
    }

    /// Returns the row that took the position of a row that left, or the last row; without a key, the first row.
    static func successor(of key: RowKey?, in tree: OrderStatisticTree, _ delta: ResultDelta?) -> RowKey? {
        guard tree.count > 0 else { return nil }
        let index = key.map { delta?.position(ofRemoved: $0) ?? tree.index(of: $0) } ?? 0
        return tree.key(at: min(index, tree.count - 1))
    }

    /// Updates the view to the result's current state. `anchor`: the key of the window's anchor, or of the row that
    /// replaces it. Returns the rows that the view showed before.
    func advance(_ tree: OrderStatisticTree, anchor: RowKey?) -> Range<Int> {
        let before = self.range
        self.anchor = anchor
        if case .around(_, let above, let below) = self.key.window, let anchor {
            self.key.window = .around(anchor.id, before: above, after: below)
        }
        self.range = Self.range(self.key.window, anchor, tree)
        return before
    }

    /// Returns the window's position in the result; `nil` without a window. O(log n).
    func position(in tree: OrderStatisticTree) -> WindowPosition? {
        self.key.window == nil ? nil : tree.position(of: self.range, anchor: self.anchor?.id)
    }

    /// The connections that receive the pushes of the view, ascending.
    var synced: [ConnectionID] { self.subscribers.synced() }
}

extension OrderStatisticTree {
    /// Returns the position of a range of rows in the tree. O(log n).
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
