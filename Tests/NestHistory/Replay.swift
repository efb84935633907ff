import NestModel

/// Replays the states of the store revision by revision, piece by piece.
struct Replay {
    /// The difference between a received state and the replayed one.
    struct Difference {
        /// Whether the state contains only a part of a transaction's changes.
        var isPartial: Bool
        var message: String
    }

    /// The result of a query in each possible world.
    private struct Result {
        var worlds: [[ResultsSection]]
        var at: Revision
        /// The revision since which all computed results are the same.
        var since: Revision
    }

    /// Above this number of possible worlds the replay stops checking.
    private static let worldsMax = 5_000

    private var timeline: Timeline
    private(set) var revision = Revision(0)
    private var worlds = [PossibleWorld()]
    private var results: [WatchedQuery: Result] = [:]
    /// For queries of windows around objects: the revision since which each object is a row.
    private var presence: [WatchedQuery: [ObjectID: Revision]] = [:]
    private var isBroken = false

    /// Creates the replay of an empty store.
    init() {
        var none: [Violation] = []
        self.timeline = Timeline([], after: self.revision, &none)
    }

    /// Begins a piece. `followed`: the queries of windows around objects.
    mutating func begin(_ timeline: Timeline, following followed: Set<WatchedQuery>) {
        self.timeline = timeline
        // Sessions end with their piece: no later undo reverts a revision before it.
        for index in self.worlds.indices { self.worlds[index].forgetPast() }
        // Outlines have many fold states, and most are not needed again.
        self.presence = self.presence.filter { $0.key.kind != .outline || followed.contains($0.key) }
        self.results = self.results.filter { $0.key.kind != .outline }
        for query in followed where self.presence[query] == nil { self.notePresence(query) }
    }

    /// Advances to the next revision and compares the changed objects with the write's mutations.
    mutating func next(_ writes: [String: Write]) -> [Violation] {
        self.revision = self.revision.next
        guard !self.isBroken, let entry = self.timeline[self.revision] else { return [] }
        let violations = entry.reverted.map { self.revert($0, entry) } ?? self.apply(entry, writes)
        if self.worlds.count > Self.worldsMax { self.isBroken = true }
        for query in self.presence.keys { self.notePresence(query) }
        return violations
    }

    private mutating func apply(_ entry: Timeline.Entry, _ writes: [String: Write]) -> [Violation] {
        guard let write = writes[entry.name] else {
            return self.broken(.atMostOnce, "has no matching write", entry)
        }
        let ids = { (kind: ChangedObject.Kind) in entry.objects.filter { $0.kind == kind }.map(\.id).sorted() }
        let isReverted = self.timeline.reverted.contains(self.revision)
        var (whole, others): ([PossibleWorld], [PossibleWorld]) = ([], [])
        var message = ""
        for var world in self.worlds {
            let effects: ListWorld.Effects
            do throws(ListWorld.Impossible) {
                effects = try world.apply(
                    write.mutations,
                    inserted: ids(.inserted),
                    at: self.revision,
                    isReverted: isReverted
                )
            } catch {
                message = "cannot have happened: \(error)"
                continue
            }
            let updated = Set(ids(.updated)).subtracting(effects.unmoved)
            let isWhole =
                Set(ids(.inserted)) == effects.inserted && Set(ids(.deleted)) == effects.deleted
                && updated == effects.updated && Set(entry.objects.map(\.id)).count == entry.objects.count
            if isWhole {
                whole.append(world)
            } else {
                others.append(world)
                message = "changed \(entry.objects), not \(effects)"
            }
        }
        self.worlds = whole.isEmpty ? others : whole
        if self.worlds.isEmpty { return self.broken(.atomic, message, entry) }
        return whole.isEmpty ? [self.violation(.atomic, message, entry)] : []
    }

    private mutating func revert(_ reverted: Revision, _ entry: Timeline.Entry) -> [Violation] {
        guard let before = self.timeline[reverted], reverted < self.revision, before.session == entry.session else {
            return self.broken(.reversible, "reverts \(reverted), which its session did not write", entry)
        }
        let isReverted = self.timeline.reverted.contains(self.revision)
        var possible: [PossibleWorld] = []
        var failure: PossibleWorld.Impossible?
        for world in self.worlds {
            do throws(PossibleWorld.Impossible) {
                possible += try world.reverting(
                    reverted,
                    entry.objects,
                    at: self.revision,
                    isReverted: isReverted
                )
            } catch {
                failure = error
            }
        }
        if possible.isEmpty, let failure { return self.broken(failure.rule, failure.message, entry) }
        self.worlds = possible
        return []
    }

    private func violation(_ rule: Rule, _ message: String, _ entry: Timeline.Entry) -> Violation {
        Violation(rule, "revision \(self.revision), \(entry.kind) '\(entry.name)', \(message)")
    }

    /// Records a violation after which nothing can be checked.
    private mutating func broken(_ rule: Rule, _ message: String, _ entry: Timeline.Entry) -> [Violation] {
        self.isBroken = true
        return [self.violation(rule, message, entry)]
    }

    // MARK: Results

    /// Returns the complete result in every possible world.
    private mutating func result(_ query: WatchedQuery) -> Result {
        var result = self.results[query] ?? Result(worlds: [], at: self.revision, since: Revision(0))
        guard self.results[query] == nil || result.at < self.revision else { return result }
        let worlds = self.worlds.map { query.sections(in: $0.now) }
        let isSame = worlds.count == result.worlds.count && zip(worlds, result.worlds).allSatisfy { $0.isSame(as: $1) }
        if !isSame { (result.worlds, result.since) = (worlds, self.revision) }
        result.at = self.revision
        self.results[query] = result
        return result
    }

    private mutating func notePresence(_ query: WatchedQuery) {
        let rows = Set(self.result(query).worlds.first?.flatMap { $0.rows.map(\.id) } ?? [])
        let before = self.presence[query] ?? [:]
        self.presence[query] = Dictionary(uniqueKeysWithValues: rows.map { ($0, before[$0] ?? self.revision) })
    }

    /// Whether an object has been a row at every revision since `revision`.
    func isPresent(_ id: ObjectID, in query: WatchedQuery, since revision: Revision) -> Bool {
        self.isBroken || self.presence[query.whole]?[id].map { $0 <= revision } ?? false
    }

    /// Whether a state that was correct at `revision` is still correct.
    mutating func isStill(_ query: WatchedQuery, since revision: Revision) -> Bool {
        self.isBroken || self.result(query.whole).since <= revision
    }

    /// Returns `nil` if the rows are correct at this revision and, with `checksPosition`, so is the window's position.
    /// Discards the worlds in which they are not.
    mutating func difference(
        _ received: SectionedSnapshot,
        _ query: WatchedQuery,
        checksPosition: Bool
    ) -> Difference? {
        guard !self.isBroken else { return nil }
        let worlds = self.result(query.whole).worlds
        let expected = worlds.map { Self.shown(received, query, $0) }
        let right = expected.map {
            $0.sections.isSame(as: received.sections) && (!checksPosition || $0.position == received.window)
        }
        if right.contains(true) {
            self.keep(right)
            return nil
        }
        let first = expected[0]
        guard !first.sections.isSame(as: received.sections) else {
            return Difference(
                isPartial: false,
                message: "the window is reported at \(received.window as Any) and is at \(first.position as Any)"
            )
        }
        let (a, b) = (Self.rows(received.sections), Self.rows(first.sections))
        let ids = Set(a.keys).union(b.keys).filter { a[$0] != b[$0] }
        let isPartial = [self.revision, self.revision.next].contains { revision in
            guard !ids.isEmpty, query.window == nil, let entry = self.timeline[revision] else { return false }
            return ids.isStrictSubset(of: entry.objects.map(\.id))
        }
        let list = ids.isEmpty ? "the order" : "objects \(ids.sorted().prefix(8))"
        return Difference(
            isPartial: isPartial,
            message: "\(list) differ; received \(Self.brief(received.sections)), expected \(Self.brief(first.sections))"
        )
    }

    /// Whether a window with these rows has the reported position in a possible world.
    mutating func isPosition(_ received: SectionedSnapshot, _ query: WatchedQuery) -> Bool {
        guard !self.isBroken else { return true }
        return self.result(query.whole).worlds.contains { Self.shown(received, query, $0).position == received.window }
    }

    /// Whether the result has a row that can be an anchor.
    mutating func hasRows(_ query: WatchedQuery) -> Bool {
        self.isBroken || self.result(query.whole).worlds.contains { $0.contains { !$0.rows.isEmpty } }
    }

    private mutating func keep(_ right: [Bool]) {
        guard right.contains(false) else { return }
        self.worlds = zip(self.worlds, right).filter(\.1).map(\.0)
        self.results = [:]
    }

    private static func shown(
        _ received: SectionedSnapshot,
        _ query: WatchedQuery,
        _ whole: [ResultsSection]
    ) -> (sections: [ResultsSection], position: WindowPosition?) {
        guard let window = query.window else { return (whole, nil) }
        let cut = WindowCut(window, anchor: received.window?.anchor, of: whole, isSectioned: query.kind == .sectioned)
        return (cut.sections, cut.position)
    }

    private struct KeyedRow: Hashable {
        var key: AttributeValue
        var row: Row
    }

    private static func rows(_ sections: [ResultsSection]) -> [ObjectID: KeyedRow] {
        Dictionary(sections.flatMap { section in section.rows.map { ($0.id, KeyedRow(key: section.key, row: $0)) } }) {
            $1
        }
    }

    private static func brief(_ sections: [ResultsSection]) -> String {
        let texts = sections.map { section in
            "[\(section.rows.map { "\($0.id) \($0.values.first?.stringValue ?? "")" }.joined(separator: ", "))]"
        }
        return String(texts.joined().prefix(600))
    }
}
