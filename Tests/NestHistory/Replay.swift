import NestModel

/// The states of a timeline, one after the other.
struct Replay {
    /// How a state that was told differs from the true one.
    struct Difference {
        /// Only some objects of one transaction are as they were before it, or as they are after it.
        var isPartial: Bool
        var message: String
    }

    let timeline: Timeline
    private(set) var revision = Revision(0)
    private var world = ListWorld()
    private var results: [WatchedQuery: (sections: [Section], at: Revision, since: Revision)] = [:]
    private var isBroken = false

    init(_ timeline: Timeline) {
        self.timeline = timeline
    }

    /// Goes on to the next revision, and compares what was touched with what the write asked for.
    mutating func next(_ writes: [String: Write]) -> [Violation] {
        self.revision = self.revision.next
        guard !self.isBroken, let entry = self.timeline[self.revision] else { return [] }
        guard let write = writes[entry.name] else {
            self.isBroken = true
            return [Violation(.atMostOnce, "revision \(self.revision) is '\(entry.name)', which nobody wrote")]
        }
        let ids = { (kind: ChangedObject.Kind) in entry.objects.filter { $0.kind == kind }.map(\.id).sorted() }
        let effects: ListWorld.Effects
        do throws(ListWorld.Impossible) {
            effects = try self.world.apply(write.mutations, inserted: ids(.inserted))
        } catch {
            self.isBroken = true
            return [Violation(.atomic, "revision \(self.revision), '\(entry.name)', cannot have happened: \(error)")]
        }
        let updated = Set(ids(.updated)).subtracting(effects.replaced)
        let isWhole =
            Set(ids(.inserted)) == effects.inserted && Set(ids(.deleted)) == effects.deleted
            && updated == effects.updated && Set(entry.objects.map(\.id)).count == entry.objects.count
        if isWhole { return [] }
        return [
            Violation(.atomic, "revision \(self.revision), '\(entry.name)', touched \(entry.objects), not \(effects)")
        ]
    }

    /// The true result, and the revision since which it is the same as far as anybody looked.
    private mutating func result(_ query: WatchedQuery) -> (sections: [Section], at: Revision, since: Revision) {
        var result = self.results[query] ?? ([], self.revision, Revision(0))
        guard self.results[query] == nil || result.at < self.revision else { return result }
        let sections = query.sections(in: self.world)
        if sections != result.sections { (result.sections, result.since) = (sections, self.revision) }
        result.at = self.revision
        self.results[query] = result
        return result
    }

    /// Whether a state that was true at a revision still is.
    mutating func isStill(_ query: WatchedQuery, since revision: Revision) -> Bool {
        self.isBroken || self.result(query).since <= revision
    }

    /// `nil`: the state is that of the revision.
    mutating func difference(_ told: [Section], _ query: WatchedQuery) -> Difference? {
        guard !self.isBroken else { return nil }
        let expected = self.result(query).sections
        guard told != expected else { return nil }
        let (a, b) = (Self.rows(told), Self.rows(expected))
        let ids = Set(a.keys).union(b.keys).filter { a[$0] != b[$0] }
        let isPartial = [self.revision, self.revision.next].contains { revision in
            guard !ids.isEmpty, let entry = self.timeline[revision] else { return false }
            return ids.isStrictSubset(of: entry.objects.map(\.id))
        }
        let list = ids.isEmpty ? "the order" : "objects \(ids.sorted().prefix(8))"
        return Difference(
            isPartial: isPartial,
            message: "\(list) differ; told \(Self.brief(told)), true \(Self.brief(expected))"
        )
    }

    private struct Place: Hashable {
        var key: AttributeValue
        var row: Row
    }

    private static func rows(_ sections: [Section]) -> [ObjectID: Place] {
        Dictionary(sections.flatMap { section in section.rows.map { ($0.id, Place(key: section.key, row: $0)) } }) {
            $1
        }
    }

    private static func brief(_ sections: [Section]) -> String {
        let texts = sections.map { section in
            "[\(section.rows.map { "\($0.id) \($0.values.first?.stringValue ?? "")" }.joined(separator: ", "))]"
        }
        return String(texts.joined().prefix(600))
    }
}
