import NIOCore
import NestModel
import NestOverlay

/// A list or an outline that a program follows through an optimistic client.
struct FollowedList {
    /// How long a state of an outline waits at most for the fold states that it lacks.
    static let heldMax = TimeAmount.seconds(2)

    let subscriber: SubscriberID
    let queue: ResultsQueue
    /// The indexes of the values that the program asked for; `nil`: all of them, in this order.
    let kept: [Int]?
    let projection: [PropertyNumber]
    let continuation: AsyncThrowingStream<OptimisticState, any Error>.Continuation
    var isCurrent = false
    var hasState = false
    var wasCurrent = false
    var wasQueued: Set<ObjectID> = []
    /// The fold states with which the rows of an outline are laid out, also those that the server has not confirmed.
    private(set) var folds: OutlineFolds?
    /// Whether the newest state waits.
    private(set) var isHeld = false
    /// When it stops waiting.
    private var heldUntil: NIODeadline?

    init(
        subscriber: SubscriberID,
        queue: ResultsQueue,
        kept: [Int]?,
        projection: [PropertyNumber],
        continuation: AsyncThrowingStream<OptimisticState, any Error>.Continuation
    ) {
        self.subscriber = subscriber
        self.queue = queue
        self.kept = kept
        self.projection = projection
        self.continuation = continuation
    }

    /// The newest state; of an outline with its fold states.
    var view: OverlayView {
        guard self.queue.request.outline != nil, let folds = self.folds else {
            return OverlayView(request: self.queue.request, state: self.queue.state)
        }
        var request = self.queue.request
        request.outline = folds.outline
        let expanded = Dictionary(
            folds.laterStates.map { ($0.object, $0.isExpanded) },
            uniquingKeysWith: { _, last in last }
        )
        return OverlayView(request: request, state: self.queue.state, expanded: expanded)
    }

    /// Takes the fold states of an outline. Returns whether they are others than before.
    mutating func take(_ folds: OutlineFolds?) -> Bool {
        guard self.queue.request.outline != nil, let folds, folds != self.folds else { return false }
        self.folds = folds
        return true
    }

    // MARK: Rows below a row that is being folded or unfolded

    /// Whether the newest state is to be shown now.
    ///
    /// A row that was unfolded for what is put below it is still folded for the server if the write came before the
    /// fold state: its rows would go, and return with the fold state. So the states before this wait for it; likewise
    /// of a row that was folded.
    mutating func isDue(after changes: [FetchedResultsChange], end: NestError?, shown: OverlaidView?) -> Bool {
        let isBroken =
            end != nil
            || changes.contains { change in
                switch change {
                case .disconnected, .paused, .reset: true
                default: false
                }
            }
        guard !isBroken, self.lacksFolds(shown) else {
            (self.isHeld, self.heldUntil) = (false, nil)
            return true
        }
        let now = NIODeadline.now()
        let end = self.heldUntil ?? now + Self.heldMax
        self.heldUntil = end
        self.isHeld = now < end
        return !self.isHeld
    }

    /// Whether the newest state hides rows below one that is to be unfolded and shows all that it has, or shows rows
    /// below one that is to be folded and shows none: they may be shown, also elsewhere.
    private func lacksFolds(_ shown: OverlaidView?) -> Bool {
        guard let shown = shown?.state, let folds = self.folds else { return false }
        var behind: [ObjectID: Int64] = [:]
        Self.forEachRow(of: self.queue.state) { id, children in
            let isBelow = children != 0 && children != Self.foldedWithoutChildren
            if isBelow, folds.isExpanded(id) == (children < 0) { behind[id] = children }
        }
        var isShown = false
        Self.forEachRow(of: behind.isEmpty ? nil : shown) { id, children in
            guard let theirs = behind[id] else { return }
            if theirs < 0 ? children >= Self.foldedWithoutChildren : children <= 0 { isShown = true }
        }
        return isShown
    }

    /// What a row has as the number of its children that is folded and has none; one with children has less.
    private static let foldedWithoutChildren: Int64 = -1

    /// Visits the rows of an outline with what they have as the number of their children.
    private static func forEachRow(of state: SectionedSnapshot?, _ visit: (ObjectID, Int64) -> Void) {
        guard let state, let column = state.projection.firstIndex(of: .outlineChildren) else { return }
        for section in state.sections {
            for row in section.rows {
                if case .integer(let children) = row.values[column] { visit(row.id, children) }
            }
        }
    }

    // MARK: What the program sees

    /// A view with the values that the program asked for. `queued`: its rows with writes that were not sent.
    func state(of view: OverlaidView, queued: Set<ObjectID>) -> OptimisticState {
        var snapshot = view.state
        if let kept = self.kept {
            snapshot.projection = self.projection
            for section in snapshot.sections.indices {
                for row in snapshot.sections[section].rows.indices {
                    let values = snapshot.sections[section].rows[row].values
                    snapshot.sections[section].rows[row].values = kept.map { values[$0] }
                }
            }
        }
        return OptimisticState(
            snapshot: snapshot,
            pending: view.pending,
            queued: queued,
            undecided: view.undecided.count + view.doubts,
            isCurrent: self.isCurrent
        )
    }
}
