import NestModel

/// Applies the events of a subscription and compares every state with the replayed one.
struct SubscriptionCheck {
    private var record: SubscriptionRecord
    private var query: WatchedQuery
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

    /// Checks the events up to the replay's revision.
    mutating func advance(_ replay: inout Replay) -> [Violation] {
        while !self.isOver, self.next < self.record.events.count {
            let event = self.record.events[self.next]
            if let awaited, replay.isPosition(awaited, self.query) { self.awaited = nil }
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
        case .changed(let query):
            (self.query, self.isChanging) = (query, true)
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
        case .snapshot, .position, .changed, .reset, .disconnected, .resumed: return nil
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
        if self.isChanging || !wasChanging && replay.isStill(self.query, since: state.revision) { return nil }
        return replay.difference(state, self.query, checksPosition: false).map {
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
        guard diff.to > state.revision || self.isChanging && diff.to == state.revision else {
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
        guard let anchor, state.window?.anchor != anchor, replay.isPresent(anchor, in: self.query, since: since) else {
            return nil
        }
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

    private func compare(_ replay: inout Replay, _ what: String) -> Violation? {
        guard let state = self.state else { return nil }
        guard state.projection == self.query.projection else {
            return self.violation(.reliable, "\(what): has the wrong projection \(state.projection)")
        }
        if self.query.window?.isAround == true, state.window?.anchor == nil, replay.hasRows(self.query) {
            return self.violation(.reliable, "\(what): has no anchor at \(state.revision), but there are rows")
        }
        guard let difference = replay.difference(state, self.query, checksPosition: self.query.window != nil) else {
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
        case .reset, .disconnected, .position, .changed: nil
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
        case .disconnected: "a disconnection"
        }
    }
}
