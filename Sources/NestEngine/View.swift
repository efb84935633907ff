import NestLiveQuery
import NestModel

/// What makes two requests share a live result.
struct ResultKey: Hashable {
    var source: ResultSource
    var scope: AuthorisationScope
}

/// What makes two requests share a view, and so every byte that is sent for it.
struct ViewKey: Hashable {
    var result: ResultKey
    var projection: [PropertyNumber]
}

/// How far a connection's subscription is.
///
///     synced ──connection blocked──▶ lagging(base)     nothing is evaluated or kept for it alone
///     lagging ──drained────────────▶ synced            one net diff from base, or a snapshot when the log does not reach
enum SubscriptionState: Equatable {
    case synced
    /// Exact at `base`, though it may know that only of `known`, the view's last change before: its net diff starts there.
    case lagging(base: Revision, known: Revision)
}

/// A live result seen through a projection: evaluated with the result, encoded once for all who subscribe to it.
final class View {
    let id: UInt32
    let key: ViewKey
    /// The slots of the projection; `EntityLayout.entitySlot` for the object's own entity.
    let slots: [Int]
    /// The revision of the view's previous change: what its next diff says it starts from.
    var lastChange: Revision
    var subscribers: [ConnectionID: SubscriptionState] = [:] {
        didSet { self.knownSynced = nil }
    }
    private var knownSynced: [ConnectionID]?
    /// A connection may subscribe to the same view more than once; it gets each frame once.
    var counts: [ConnectionID: Int] = [:]
    /// The first state, encoded for those who come at the same revision.
    var snapshot: (header: SnapshotHeader, rows: [[UInt8]])?

    init(id: UInt32, key: ViewKey, slots: [Int], lastChange: Revision) {
        self.id = id
        self.key = key
        self.slots = slots
        self.lastChange = lastChange
    }

    /// Who gets what is sent for the view, ascending; put together when somebody came, went or fell behind.
    var synced: [ConnectionID] {
        if let known = self.knownSynced { return known }
        let synced = self.subscribers.filter { $0.value == .synced }.map(\.key).sorted()
        self.knownSynced = synced
        return synced
    }
}
