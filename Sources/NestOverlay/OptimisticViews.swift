import NestModel

/// The views of one client with its pending writes laid over them. It says what to show, when everything that was
/// received together has been taken.
package struct OptimisticViews: Sendable {
    package struct ID: Hashable, Comparable, Sendable {
        package let rawValue: UInt64

        package init(_ rawValue: UInt64) {
            self.rawValue = rawValue
        }

        package static func < (a: ID, b: ID) -> Bool { a.rawValue < b.rawValue }
    }

    private struct Held: Sendable {
        var view: OverlayView
        var shown: OverlaidView?
        /// The state that was laid over last.
        var laid: OverlayView?
        /// Whether the view waits for nothing: it has a connection, and is not paused.
        var isFollowing = true
    }

    package var model: ManagedObjectModel
    package var pending = PendingWrites()
    private var views: [ID: Held] = [:]

    package init(model: ManagedObjectModel) {
        self.model = model
    }

    // MARK: What arrives

    /// Takes the server's state of a view.
    package mutating func took(_ id: ID, _ view: OverlayView) {
        self.views[id, default: Held(view: view)].view = view
        self.views[id]?.isFollowing = true
    }

    /// The user has folded or unfolded objects of an outline: its request is another one. The rows stay those that were
    /// taken last.
    package mutating func folded(_ id: ID, _ view: OverlayView) {
        guard let state = self.views[id]?.view.state else { return }
        self.views[id]?.view = OverlayView(request: view.request, state: state, expanded: view.expanded)
    }

    /// A view is paused, or waits for a snapshot. Writes do not wait for it.
    package mutating func stopped(_ id: ID) { self.views[id]?.isFollowing = false }

    package mutating func removed(_ id: ID) { self.views[id] = nil }

    /// Forgets all states. The store has another history.
    package mutating func historyChanged() -> [PendingWrites.ID] {
        self.views = [:]
        return self.pending.historyChanged()
    }

    // MARK: What is shown

    /// What a view shows; `nil` before its first state.
    package func shown(_ id: ID) -> OverlaidView? { self.views[id]?.shown }

    /// Returns those of a view's pending rows that a write changes which was not sent yet. A row that changes only as a
    /// consequence, such as one whose number of children is shown, is among them if all writes are.
    package func queued(_ id: ID) -> Set<ObjectID> {
        guard let held = self.views[id], let pending = held.shown?.pending, !pending.isEmpty else { return [] }
        let writes = self.pending.laid(at: held.view.state.revision)
        let queued = writes.filter { $0.state == .queued || $0.state == .open }
        guard queued.count < writes.count else { return pending }
        return pending.intersection(queued.flatMap { $0.transaction.mutations.flatMap(\.objects) })
    }

    /// Returns the views that are shown differently now, in the order of their ids, and the writes that are settled.
    /// While the changes of an own write are arriving, nothing is shown: it goes from the pending ones and comes with
    /// the server's state at once, in all views. Likewise, after a reconnection, while a write is under way again whose
    /// answer was lost, and between a write and its undo; `isForced`: this has taken long enough.
    package mutating func publish(
        isForced: Bool = false
    ) -> (shown: [(id: ID, view: OverlaidView)], settled: [PendingWrites.ID]) {
        guard !self.pending.isArriving, isForced || !self.pending.isRepeating && !self.pending.isTakingBack else {
            return ([], [])
        }
        var shown: [(id: ID, view: OverlaidView)] = []
        var foreseen: Set<PendingWrites.ID> = []
        var possible: Set<PendingWrites.ID> = []
        self.remember()
        let byRevision = Dictionary(grouping: self.views.keys) { self.views[$0]?.view.state.revision ?? Revision(0) }
        for (revision, ids) in byRevision.sorted(by: { $0.key < $1.key }) {
            let ids = ids.sorted()
            let writes = self.pending.laid(at: revision)
            let laid = Overlay.laid(
                over: ids.compactMap { self.views[$0]?.view },
                writes.map(\.transaction),
                in: self.model
            )
            let refused = Set(laid.refused.map { writes[$0].id })
            for write in writes where !refused.contains(write.id) { possible.insert(write.id) }
            foreseen.formUnion(refused)
            for (id, view) in zip(ids, laid.views) where self.views[id]?.shown != view {
                self.views[id]?.shown = view
                shown.append((id, view))
            }
        }
        self.pending.foresaw(refusalOf: foreseen.subtracting(possible).sorted())
        let revisions = self.views.values.map { (isFollowing: $0.isFollowing, revision: $0.view.state.revision) }
        let settled = self.pending.settle(
            following: revisions.filter(\.isFollowing).map(\.revision).min(),
            all: revisions.map(\.revision).min()
        )
        return (shown.sorted { $0.id < $1.id }, settled)
    }

    /// Keeps what was known of rows that confirmed writes took out, and that pending ones may put back.
    private mutating func remember() {
        struct Step: Hashable {
            let from: Revision
            let to: Revision
        }
        var steps: [Step: [ID]] = [:]
        for (id, held) in self.views {
            guard let laid = held.laid, laid.request.isAsRemembered(held.view.request) else { continue }
            steps[Step(from: laid.state.revision, to: held.view.state.revision), default: []].append(id)
        }
        var remembered: [ID: [ObjectID: RememberedRow]] = [:]
        if self.pending.writes.isEmpty { steps = [:] }
        for (step, ids) in steps {
            let ids = ids.sorted()
            let pending = self.pending.laid(at: step.to)
            let found = Overlay.remembered(
                from: ids.compactMap { self.views[$0]?.laid },
                to: ids.compactMap { self.views[$0]?.view },
                confirmed: self.pending.confirmed(from: step.from, to: step.to).map(\.transaction),
                pending: pending.map(\.transaction),
                in: self.model
            )
            for (id, rows) in zip(ids, found) { remembered[id] = rows }
        }
        for (id, held) in self.views {
            var view = held.view
            view.remembered = remembered[id] ?? [:]
            self.views[id]?.view = view
            self.views[id]?.laid = view
        }
    }
}

extension ObjectFetchRequest {
    /// Whether what is remembered of the rows of another request means the same here: only folds may differ.
    fileprivate func isAsRemembered(_ other: ObjectFetchRequest) -> Bool {
        var (one, two) = (self, other)
        (one.outline, two.outline) = (nil, nil)
        return one == two && (self.outline == nil) == (other.outline == nil)
    }
}
