/// The states of the subscriptions to a view, by connection.
struct Subscribers {
    private var states: [ConnectionID: SubscriptionState] = [:]
    private(set) var syncedCount = 0
    /// The synced connections, ascending; `nil` when they must be collected again.
    private var knownSynced: [ConnectionID]? = []

    var isEmpty: Bool { self.states.isEmpty }

    /// The lagging connections, ascending.
    var lagging: [ConnectionID] { self.states.filter { $0.value != .synced }.map(\.key).sorted() }

    subscript(id: ConnectionID) -> SubscriptionState? {
        get { self.states[id] }
        set {
            let wasSynced = self.states[id] == .synced
            self.states[id] = newValue
            let isSynced = newValue == .synced
            guard wasSynced != isSynced else { return }
            self.syncedCount += isSynced ? 1 : -1
            // New connections have ascending ids: when very many subscribe at once, each is the last.
            if isSynced, let known = self.knownSynced, known.last ?? id <= id {
                self.knownSynced?.append(id)
            } else {
                self.knownSynced = nil
            }
        }
    }

    /// Returns the synced connections, ascending. O(n log n) when a subscription ended or began to lag, otherwise O(1).
    mutating func synced() -> [ConnectionID] {
        if let known = self.knownSynced { return known }
        let synced = self.states.filter { $0.value == .synced }.map(\.key).sorted()
        self.knownSynced = synced
        return synced
    }
}
