import NestModel

/// Applies the events of a subscription and compares every state with the replayed one.
struct SubscriptionCheck {
    private var record: SubscriptionRecord
    private var query: WatchedQuery
    /// The changes of fold states that the query does not include for certain, oldest first.
    private var foldings: [(number: Int, states: [ExpandedState])] = []
    private var next = 0
    private var state: SectionedSnapshot?
    /// Whether the query has changed and the difference has not arrived.
    private var isChanging = false
    /// The state with the last reported window position. The position must be true at a revision before the next event.
    private var awaited: SectionedSnapshot?
    private var isConnected = true
    /// Whether a reset announced a snapshot.
    private var isReset = false
    /// Whether nothing has arrived since the last resume.
    private var isFresh = false
    /// Set after the first violation: later ones would only repeat it.
    private var isOver = false
    /// The number of events that are listed with a violation.
    private static let trailCount = 12

    init(_ record: SubscriptionRecord) {
        self.record = record
        self.query = record.query
    }

    /// Continues with the record of the next piece.
    mutating func resume(with record: SubscriptionRecord) {
        self.record = record
        self.next = 0
    }

    /// Whether the record reached the end of the piece and may continue in the next.
    var isComplete: Bool { self.record.isComplete }
    var name: String { self.record.name }

    /// The queries of which a state may be: the last one, and those with other fold states that may have been set.
    private var queries: [WatchedQuery] {
        var queries = [self.query]
        for folding in self.foldings {
            var next = queries[queries.count - 1]
            next.outline.set(folding.states)
            queries.append(next)
        }
        return queries
    }

    /// The queries of this piece whose windows follow objects, without their windows.
    var followed: Set<WatchedQuery> {
        var (check, queries) = (self, self.queries)
        for event in self.record.events where check.turn(event) { queries += check.queries }
        return Set(queries.filter { $0.window?.isAround == true }.map(\.whole))
    }

    /// Follows a change of the query or of its fold states; returns `false` for other events.
    private mutating func turn(_ event: SubscriptionRecord.Event) -> Bool {
        switch event {
        case .changed(let query):
            self.query = query
            self.foldings.removeAll { $0.number <= query.foldNumber }
        case .folding(let number, let states): self.foldings.append((number, states))
        default: return false
        }
        return true
    }

    /// Checks the events up to the replay's revision.
    mutating func advance(_ replay: inout Replay) -> [Violation] {
        while !self.isOver, self.next < self.record.events.count {
            let event = self.record.events[self.next]
            if let awaited, self.queries.contains(where: { replay.isPosition(awaited, $0) }) { self.awaited = nil }
            if let revision = event.revision, revision > replay.revision { return [] }
            self.next += 1
            if let violation = self.wrongPosition(before: event) {
                self.isOver = true
                return [violation]
            }
            if var violation = self.take(event, &replay) {
                self.isOver = true
                let trail = self.record.events[..<self.next].suffix(Self.trailCount).map(\.brief)
                violation.message += "; the last events: \(trail.joined(separator: ", "))"
                return [violation]
            }
        }
        return []
    }

    /// Checks the rest when the replay is at the end of the piece.
    mutating func finish(_ timeline: Timeline) -> [Violation] {
        guard !self.isOver else { return [] }
        self.isOver = true
        if self.next < self.record.events.count {
            return [self.violation(.durable, "received \(self.record.events[self.next].brief), which is lost")]
        }
        let revision = self.state?.revision ?? Revision(0)
        if self.record.isComplete, revision < timeline.last {
            return [self.violation(.reliable, "ended at \(revision), not at \(timeline.last)")]
        }
        self.isOver = false
        return []
    }

    private func violation(_ rule: Rule, _ message: String) -> Violation {
        Violation(rule, "subscription \(self.record.name) \(message)")
    }

    private mutating func take(_ event: SubscriptionRecord.Event, _ replay: inout Replay) -> Violation? {
        switch event {
        case .disconnected:
            self.isConnected = false
            return nil
        case .reset(let isMismatch, let message):
            (self.isConnected, self.isReset) = (true, true)
            return isMismatch ? self.violation(.reliable, "got a diff that does not apply: \(message)") : nil
        case .resumed(let revision):
            (self.isConnected, self.isFresh) = (true, true)
            return self.reached(revision, .resumable, &replay)
        case .progress(let revision):
            guard self.isConnected else { return self.violation(.resumable, "received progress while disconnected") }
            return self.reached(revision, .ordered, &replay)
        case .snapshot(let snapshot): return self.take(snapshot, &replay)
        case .diff(let diff): return self.take(diff, &replay)
        case .changed:
            self.isChanging = true
            _ = self.turn(event)
            return nil
        case .folding:
            _ = self.turn(event)
            return nil
        case .position(let position):
            guard self.state != nil else { return self.violation(.ordered, "received \(position) without a state") }
            self.isChanging = self.isChanging && self.isReset
            guard self.query.window != nil, !self.isChanging else {
                return self.violation(.reliable, "received \(position) without such a window")
            }
            let anchor = self.state?.window?.anchor
            guard position.anchor == anchor else {
                return self.violation(.reliable, "changed its anchor \(anchor as Any) to \(position) without a diff")
            }
            self.state?.window = position
            self.awaited = self.state
            return nil
        }
    }

    /// Returns a violation if the last reported window position was true at no possible revision.
    private mutating func wrongPosition(before event: SubscriptionRecord.Event) -> Violation? {
        guard let awaited = self.awaited else { return nil }
        self.awaited = nil
        switch event {
        case .diff, .progress: break
        // These events do not bound the revision at which the position was true.
        case .snapshot, .position, .changed, .folding, .reset, .disconnected, .resumed: return nil
        }
        return self.violation(
            .reliable,
            "at \(awaited.revision) received the window position \(awaited.window!), which was never true"
        )
    }

    /// Checks a report that the state is exact at `revision`.
    private mutating func reached(_ revision: Revision, _ back: Rule, _ replay: inout Replay) -> Violation? {
        guard let state = self.state else { return self.violation(back, "received \(revision) without a state") }
        guard revision >= state.revision else {
            return self.violation(back, "was at \(state.revision) and received \(revision)")
        }
        self.state?.revision = revision
        // A request with another spelling of the same view gets no difference.
        let wasChanging = self.isChanging
        self.isChanging = self.isChanging && self.isReset
        if self.isChanging { return nil }
        if !wasChanging, self.queries.allSatisfy({ replay.isStill($0, since: state.revision) }) { return nil }
        return self.difference(state, &replay, checksPosition: false).map {
            self.violation(.bookmarkable, "at \(state.revision) is reported as exact at \(revision): \($0.message)")
        }
    }

    private mutating func take(_ snapshot: SectionedSnapshot, _ replay: inout Replay) -> Violation? {
        if let held = self.state {
            guard self.isReset else {
                return self.violation(
                    self.isConnected ? .unique : .resumable,
                    "got a snapshot at \(snapshot.revision) without a reset"
                )
            }
            guard snapshot.revision >= held.revision else {
                return self.violation(.ordered, "was at \(held.revision) and got a snapshot at \(snapshot.revision)")
            }
        }
        let (held, wasChanging) = (self.state, self.isChanging)
        (self.isConnected, self.isReset, self.isFresh, self.isChanging) = (true, false, false, false)
        self.state = snapshot
        if let lost = self.lostAnchor(wasChanging ? nil : held, snapshot, replay) { return lost }
        return self.compare(&replay, "snapshot")
    }

    private mutating func take(_ diff: ResultsDiff, _ replay: inout Replay) -> Violation? {
        defer { self.isFresh = false }
        let what = "received a diff from \(diff.from) to \(diff.to)"
        guard self.isConnected else { return self.violation(.resumable, "\(what) while disconnected") }
        guard var state = self.state, !self.isReset else {
            return self.violation(.reliable, "\(what), without a state")
        }
        let mayStay = self.isChanging || self.query.kind == .outline
        guard diff.to > state.revision || mayStay && diff.to == state.revision else {
            return self.violation(diff.to == state.revision ? .unique : .ordered, "\(what) at \(state.revision)")
        }
        guard diff.from <= state.revision else {
            return self.violation(self.isFresh ? .resumable : .reliable, "\(what) at \(state.revision)")
        }
        let held = state
        do throws(DiffMismatch) {
            try state.apply(diff)
        } catch {
            return self.violation(.reliable, "\(what), which does not apply: \(error)")
        }
        self.state = state
        let wasChanging = self.isChanging
        self.isChanging = false
        if !wasChanging, let repeated = Self.repetition(in: diff, from: held, to: state) {
            return self.violation(.unique, "\(what): \(repeated)")
        }
        if let lost = self.lostAnchor(wasChanging ? nil : held, state, replay) { return lost }
        return self.compare(&replay, what)
    }

    /// The anchor may change only when the previous anchor has left the result. `held`: the previous state of the same
    /// query.
    private func lostAnchor(_ held: SectionedSnapshot?, _ state: SectionedSnapshot, _ replay: Replay) -> Violation? {
        guard case .around(let first, _, _) = self.query.window else { return nil }
        let (anchor, since) = held.map { ($0.window?.anchor, $0.revision) } ?? (first, state.revision)
        guard let anchor, state.window?.anchor != anchor,
            self.queries.allSatisfy({ replay.isPresent(anchor, in: $0, since: since) })
        else { return nil }
        let now = state.window?.anchor.map { "\($0)" } ?? "no object"
        return self.violation(
            .reliable,
            "had the anchor \(anchor) at \(since) and \(now) at \(state.revision); the first has not left"
        )
    }

    /// Returns a change of the diff that the previous state already contained.
    private static func repetition(
        in diff: ResultsDiff,
        from held: SectionedSnapshot,
        to state: SectionedSnapshot
    ) -> String? {
        // A lagging client may get only the window's position, even if it is unchanged.
        if diff.isEmpty { return diff.window == nil ? "it changes nothing" : nil }
        guard !diff.insertedRows.isEmpty || !diff.updates.isEmpty else { return nil }
        let before = Dictionary(held.sections.flatMap { $0.rows.map { ($0.id, $0.values) } }) { $1 }
        if let again = diff.insertedRows.first(where: { before[$0.row.id] != nil }) {
            return "object \(again.row.id) is inserted although it was there"
        }
        for update in diff.updates {
            let id = state[update.path].id
            for (property, value) in update.values {
                guard let slot = held.projection.firstIndex(of: property), before[id]?[slot] == value else { continue }
                return "object \(id) is updated to its old value"
            }
        }
        return nil
    }

    /// Returns the difference to the last query's state, unless the state is that of one of the queries.
    private func difference(_ state: SectionedSnapshot, _ replay: inout Replay, checksPosition: Bool)
        -> Replay.Difference?
    {
        var first: Replay.Difference?
        for query in self.queries {
            guard let difference = replay.difference(state, query, checksPosition: checksPosition) else { return nil }
            first = first ?? difference
        }
        return first
    }

    private func compare(_ replay: inout Replay, _ what: String) -> Violation? {
        guard let state = self.state else { return nil }
        guard state.projection == self.query.projection else {
            return self.violation(.reliable, "\(what): has the wrong projection \(state.projection)")
        }
        if self.query.window?.isAround == true, state.window?.anchor == nil,
            self.queries.allSatisfy({ replay.hasRows($0) })
        {
            return self.violation(.reliable, "\(what): has no anchor at \(state.revision), but there are rows")
        }
        guard let difference = self.difference(state, &replay, checksPosition: self.query.window != nil) else {
            return nil
        }
        return self.violation(
            difference.isPartial ? .atomic : .reliable,
            "\(what): at \(state.revision) \(difference.message)"
        )
    }
}

extension SubscriptionRecord.Event {
    /// The revision after the event.
    fileprivate var revision: Revision? {
        switch self {
        case .snapshot(let snapshot): snapshot.revision
        case .diff(let diff): diff.to
        case .progress(let revision), .resumed(let revision): revision
        case .reset, .disconnected, .position, .changed, .folding: nil
        }
    }

    fileprivate var brief: String {
        switch self {
        case .snapshot(let snapshot): "a snapshot at \(snapshot.revision)"
        case .diff(let diff): "a diff from \(diff.from) to \(diff.to)"
        case .progress(let revision): "progress to \(revision)"
        case .resumed(let revision): "a resume at \(revision)"
        case .reset: "a reset"
        case .position(let position): "a window at \(position.start.row) of \(position.total)"
        case .changed(let query): "a change to \(query)"
        case .folding(_, let states):
            "folds \(states.map { "\($0.object) \($0.isExpanded ? "unfolded" : "folded")" }.joined(separator: ", "))"
        case .disconnected: "a disconnection"
        }
    }
}
