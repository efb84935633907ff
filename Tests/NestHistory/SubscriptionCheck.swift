import NestModel

/// Applies what a subscription was told and compares every state with the true one, as the replay comes by.
struct SubscriptionCheck {
    private var record: SubscriptionRecord
    private var query: WatchedQuery
    private var next = 0
    private var state: SectionedSnapshot?
    /// It is of another query now, and what leads there has not come.
    private var isChanging = false
    /// Where the window was said to be, of the rows held; it must come true before anything else comes.
    private var awaited: SectionedSnapshot?
    private var isConnected = true
    /// The server said that a snapshot follows.
    private var isReset = false
    /// Nothing has come since the connection came back.
    private var isFresh = false
    /// What follows a mistake would only repeat it.
    private var isOver = false
    /// Events that are told with a mistake.
    private static let trailCount = 12

    init(_ record: SubscriptionRecord) {
        self.record = record
        self.query = record.query
    }

    /// The next piece of the same.
    mutating func goOn(_ record: SubscriptionRecord) {
        self.record = record
        self.next = 0
    }

    /// That it was there at the end of the piece, and may go on.
    var isComplete: Bool { self.record.isComplete }
    var name: String { self.record.name }

    /// Takes the events up to the replay's revision.
    mutating func advance(_ replay: inout Replay) -> [Violation] {
        while !self.isOver, self.next < self.record.events.count {
            let event = self.record.events[self.next]
            if let awaited, replay.isPosition(awaited, self.query) { self.awaited = nil }
            if let revision = event.revision, revision > replay.revision { return [] }
            self.next += 1
            if let violation = self.unplaced(before: event) {
                self.isOver = true
                return [violation]
            }
            if var violation = self.take(event, &replay) {
                self.isOver = true
                let trail = self.record.events[..<self.next].suffix(Self.trailCount).map(\.brief)
                violation.message += "; at last it was told of \(trail.joined(separator: ", "))"
                return [violation]
            }
        }
        return []
    }

    /// The replay is at the end of the piece.
    mutating func finish(_ timeline: Timeline) -> [Violation] {
        guard !self.isOver else { return [] }
        self.isOver = true
        if self.next < self.record.events.count {
            return [self.violation(.durable, "was told \(self.record.events[self.next].brief), which is gone")]
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
            return isMismatch ? self.violation(.reliable, "did not fit: \(message)") : nil
        case .resumed(let revision):
            (self.isConnected, self.isFresh) = (true, true)
            return self.reached(revision, .resumable, &replay)
        case .progress(let revision):
            guard self.isConnected else { return self.violation(.resumable, "had progress while disconnected") }
            return self.reached(revision, .ordered, &replay)
        case .snapshot(let snapshot): return self.take(snapshot, &replay)
        case .diff(let diff): return self.take(diff, &replay)
        case .changed(let query):
            (self.query, self.isChanging) = (query, true)
            return nil
        case .position(let position):
            guard self.state != nil else { return self.violation(.ordered, "was told \(position) and holds nothing") }
            self.isChanging = self.isChanging && self.isReset
            guard self.query.window != nil, !self.isChanging else {
                return self.violation(.reliable, "was told \(position) and has no such window")
            }
            let anchor = self.state?.window?.anchor
            guard position.anchor == anchor else {
                return self.violation(.reliable, "followed \(anchor as Any) and follows \(position) without a diff")
            }
            self.state?.window = position
            self.awaited = self.state
            return nil
        }
    }

    /// What was said of the window's place was true at no revision that it can be of.
    private mutating func unplaced(before event: SubscriptionRecord.Event) -> Violation? {
        guard let awaited = self.awaited else { return nil }
        self.awaited = nil
        switch event {
        case .diff, .progress: break
        // They are of no revision, or of one before: nothing tells by when it was true.
        case .snapshot, .position, .changed, .reset, .disconnected, .resumed: return nil
        }
        return self.violation(
            .reliable,
            "at \(awaited.revision) was told of a window at \(awaited.window!), where it never was"
        )
    }

    /// What is held is exact at this revision, said the server.
    private mutating func reached(_ revision: Revision, _ back: Rule, _ replay: inout Replay) -> Violation? {
        guard let state = self.state else { return self.violation(back, "holds nothing and was told \(revision)") }
        guard revision >= state.revision else {
            return self.violation(back, "was at \(state.revision) and was told \(revision)")
        }
        self.state?.revision = revision
        // Another spelling of the same: nothing leads there.
        let wasChanging = self.isChanging
        self.isChanging = self.isChanging && self.isReset
        if self.isChanging || !wasChanging && replay.isStill(self.query, since: state.revision) { return nil }
        return replay.difference(state, self.query, isPlaced: false).map {
            self.violation(.bookmarkable, "at \(state.revision) is said to be exact at \(revision): \($0.message)")
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
        let what = "was told a diff from \(diff.from) to \(diff.to)"
        guard self.isConnected else { return self.violation(.resumable, "\(what) while disconnected") }
        guard var state = self.state, !self.isReset else {
            return self.violation(.reliable, "\(what), and holds nothing")
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
            return self.violation(.reliable, "\(what), which does not fit: \(error)")
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

    /// Another object is followed only when the one before has left. `held`: before, of the same query.
    private func lostAnchor(_ held: SectionedSnapshot?, _ state: SectionedSnapshot, _ replay: Replay) -> Violation? {
        guard case .around(let first, _, _) = self.query.window else { return nil }
        let (anchor, since) = held.map { ($0.window?.anchor, $0.revision) } ?? (first, state.revision)
        guard let anchor, state.window?.anchor != anchor, replay.isPresent(anchor, in: self.query, since: since) else {
            return nil
        }
        let now = state.window?.anchor.map { "\($0)" } ?? "nothing"
        return self.violation(
            .reliable,
            "followed \(anchor) at \(since) and \(now) at \(state.revision); the first has never left"
        )
    }

    /// A change in the diff that the state shows already.
    private static func repetition(
        in diff: ResultsDiff,
        from held: SectionedSnapshot,
        to state: SectionedSnapshot
    ) -> String? {
        // Where a window is may be all that there is to tell a client that was behind, though it has heard that before.
        if diff.isEmpty { return diff.window == nil ? "it changes nothing" : nil }
        guard !diff.insertedRows.isEmpty || !diff.updates.isEmpty else { return nil }
        let before = Dictionary(held.sections.flatMap { $0.rows.map { ($0.id, $0.values) } }) { $1 }
        if let again = diff.insertedRows.first(where: { before[$0.row.id] != nil }) {
            return "object \(again.row.id) is inserted and was there"
        }
        for update in diff.updates {
            let id = state[update.path].id
            for (property, value) in update.values {
                guard let slot = held.projection.firstIndex(of: property), before[id]?[slot] == value else { continue }
                return "object \(id) is updated to what it was"
            }
        }
        return nil
    }

    private func compare(_ replay: inout Replay, _ what: String) -> Violation? {
        guard let state = self.state else { return nil }
        guard state.projection == self.query.projection else {
            return self.violation(.reliable, "\(what): has the properties \(state.projection)")
        }
        if self.query.window?.isAround == true, state.window?.anchor == nil, replay.hasRows(self.query) {
            return self.violation(.reliable, "\(what): follows nothing at \(state.revision), where there are rows")
        }
        guard let difference = replay.difference(state, self.query, isPlaced: self.query.window != nil) else {
            return nil
        }
        return self.violation(
            difference.isPartial ? .atomic : .reliable,
            "\(what): at \(state.revision) \(difference.message)"
        )
    }
}

extension SubscriptionRecord.Event {
    /// That it leads to.
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
        case .resumed(let revision): "that it goes on at \(revision)"
        case .reset: "a reset"
        case .position(let position): "a window at \(position.start.row) of \(position.total)"
        case .changed(let query): "that it is of \(query)"
        case .disconnected: "that it is disconnected"
        }
    }
}
