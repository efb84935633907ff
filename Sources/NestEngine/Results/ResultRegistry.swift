import NestLiveQuery
import NestModel
import NestStore
import NestSchema

/// All live results, and which of them a change can concern.
final class ResultRegistry {
    final class Entry {
        let key: ResultKey
        let result: LiveResult
        /// Counts results as they come: an order to go through them in.
        let number: UInt64
        var views: [UInt32: View] = [:]
        /// It is being read; its result is not there yet.
        var loading: LoadingResult?
        /// Background reads for it: while there is one, it is kept.
        var readCount = 0
        /// Since when nobody has subscribed.
        var unusedSince: Int64?
        /// Ways to other objects that it reads.
        let watched: Set<CompiledPath>
        /// Changes that it was looked at for, and that changed it.
        var evaluations = 0
        var changes = 0
        /// What one changed object costs it.
        let cost: EvaluationCost
        /// It no longer follows the commits: its rows are of an earlier revision until it has been read anew.
        var isLagging = false
        /// Nobody follows it, and it would have cost something: it is forgotten when the batch is over.
        var isAbandoned = false
        /// Where it is among those that changes are looked up by; `nil` while changes pass it by.
        fileprivate(set) var bucket: Bucket?
        /// It lags, and its sub-trees are followed all the same.
        fileprivate var followsSubtrees = false
        /// Changes are looked up for it.
        fileprivate(set) var isFollowing = false

        private let sourceBytes: Int
        /// About what it takes.
        var byteCount: Int { self.sourceBytes + self.result.byteCount }

        /// Its rows are of the store's head.
        var isCurrent: Bool { self.loading == nil && !self.isLagging }
        /// It is worth keeping without subscribers: the engine finds positions that are given by an index in it, and it costs next to
        /// nothing.
        var isKeptUnused: Bool {
            self.key.source.filter == nil && !self.key.source.isComputed && self.key.source.owner != nil
        }
        var isUnused: Bool { self.views.isEmpty && self.readCount == 0 && self.loading == nil }

        fileprivate init(key: ResultKey, result: LiveResult, number: UInt64, now: Int64) {
            self.key = key
            self.result = result
            self.number = number
            self.unusedSince = now
            self.cost = key.source.cost
            self.sourceBytes = key.source.byteCount
            self.watched = Set(key.source.relatedValues.map(\.watched))
        }
    }

    /// Results that the same changes may concern. A class: a result leaves it in the middle of a batch.
    final class Bucket {
        fileprivate(set) var entries: [Entry] = []
        /// Of one changed object, for all of them.
        private(set) var cost = EvaluationCost(nanoseconds: 0)

        fileprivate func append(_ entry: Entry) {
            self.entries.append(entry)
            self.cost = self.cost + entry.cost
            entry.bucket = self
        }

        func remove(_ entry: Entry) {
            guard entry.bucket === self else { return }
            self.entries.removeAll { $0 === entry }
            self.cost = self.cost - entry.cost
            entry.bucket = nil
        }

        /// Takes out the dearest until one object costs no more than that; answers them. Results that are being read
        /// stay: what happens to them is only noted.
        func shed(to nanosecondsMax: Int, textBytes: Int) -> [Entry] {
            func nanoseconds(_ entry: Entry) -> Int { entry.cost.nanoseconds(textBytes: textBytes) }
            var kept = self.entries.filter { $0.loading != nil }
            var shed: [Entry] = []
            var sum = 0
            let byCost = self.entries.filter { $0.loading == nil }.sorted {
                (nanoseconds($0), $0.number) < (nanoseconds($1), $1.number)
            }
            for entry in byCost {
                sum += nanoseconds(entry)
                if sum <= nanosecondsMax { kept.append(entry) } else { shed.append(entry) }
            }
            guard !shed.isEmpty else { return [] }
            self.entries = kept.sorted { $0.number < $1.number }
            self.cost = kept.reduce(EvaluationCost(nanoseconds: 0)) { $0 + $1.cost }
            for entry in shed { entry.bucket = nil }
            return shed
        }
    }

    /// The part of a request that is constant: rows of a table, objects or pairs, whose slot holds this value.
    struct Route: Hashable {
        var table: EntityNumber
        var slot: Int
        var value: AttributeValue
    }

    /// Results that an object is a row of. Mostly one, which takes no array.
    private enum Holders {
        case one(Entry)
        case several([Entry])
    }

    private var entries: [ResultKey: Entry] = [:]
    private var lastNumber: UInt64 = 0
    private var routes: [Route: Bucket] = [:]
    /// Slots that any result reads, by table: what a change is looked up by.
    private var slots: [EntityNumber: [Int: Int]] = [:]
    /// Results of all objects, by table.
    private var whole: [EntityNumber: Bucket] = [:]
    /// Rows of paired results: what their objects say of themselves does not name a result.
    private var holders: [ObjectID: Holders] = [:]
    /// How many paired results have rows of a table.
    private var paired: [EntityNumber: Int] = [:]
    /// Paired results with a predicate, by the table of their rows: an object may enter by its values alone.
    private var pairedByValue: [EntityNumber: [Entry]] = [:]
    /// Who reads what is at the end of a path.
    private var watchers: [CompiledPath: [Entry]] = [:]
    /// How many of those paths and sub-trees go through a table.
    private var watchedTables: [EntityNumber: Int] = [:]
    private var subtreeWatchers: [SubtreeKey: [Entry]] = [:]

    var count: Int { self.entries.count }
    var all: some Collection<Entry> { self.entries.values }
    var isEmpty: Bool { self.entries.isEmpty }

    subscript(_ key: ResultKey) -> Entry? { self.entries[key] }

    func insert(_ key: ResultKey, _ result: LiveResult, now: Int64) -> Entry {
        self.lastNumber += 1
        let entry = Entry(key: key, result: result, number: self.lastNumber, now: now)
        self.entries[key] = entry
        self.follow(entry)
        return entry
    }

    /// Has changes find the result.
    private func follow(_ entry: Entry) {
        let key = entry.key
        entry.isFollowing = true
        if let route = Self.route(key.source) {
            let bucket = self.routes[route] ?? Bucket()
            self.routes[route] = bucket
            bucket.append(entry)
            self.slots[route.table, default: [:]][route.slot, default: 0] += 1
        } else {
            let bucket = self.whole[key.source.table] ?? Bucket()
            self.whole[key.source.table] = bucket
            bucket.append(entry)
        }
        if key.source.isPaired {
            self.paired[key.source.table, default: 0] += 1
            if entry.loading == nil { for id in entry.result.members { self.hold(id, entry) } }
            if key.source.filter != nil { self.pairedByValue[key.source.table, default: []].append(entry) }
        }
        for path in entry.watched { self.watchers[path, default: []].append(entry) }
        for subtree in key.source.filter?.subtrees ?? [] { self.subtreeWatchers[subtree, default: []].append(entry) }
        self.countTables(of: entry, 1)
    }

    /// Has changes pass the result by: it costs nothing, and its rows are of an earlier revision from the next change
    /// on.
    func lag(_ entry: Entry) {
        entry.isLagging = true
        self.unfollow(entry)
        self.countSubtrees(of: entry, 1)
    }

    /// What is in the sub-trees of a result that lags is followed on: to find it again takes long.
    private func countSubtrees(of entry: Entry, _ difference: Int) {
        let subtrees = entry.key.source.filter?.subtrees ?? []
        guard !subtrees.isEmpty, entry.followsSubtrees != (difference > 0) else { return }
        entry.followsSubtrees = difference > 0
        for table in Set(subtrees.map(\.table)) { self.count(table, difference) }
    }

    /// A result that lags is being read anew; changes are remembered for it.
    func beginLoading(_ entry: Entry, _ loading: LoadingResult) {
        self.countSubtrees(of: entry, -1)
        entry.loading = loading
        self.follow(entry)
        self.noteLoading(entry)
    }

    /// A result that is being read; changes are remembered for it.
    func insertLoading(_ key: ResultKey, _ loading: LoadingResult, now: Int64) {
        let empty = LiveResult(source: key.source, sorted: ResultRows(), revision: Revision(0))
        let entry = self.insert(key, empty, now: now)
        entry.loading = loading
        self.noteLoading(entry)
    }

    /// Which objects are its rows is not known yet: any may be.
    private func noteLoading(_ entry: Entry) {
        let source = entry.key.source
        if source.isPaired, source.filter == nil { self.pairedByValue[source.table, default: []].append(entry) }
    }

    /// Its result is there.
    func finishLoading(_ entry: Entry) {
        entry.loading = nil
        entry.isLagging = false
        guard entry.key.source.isPaired else { return }
        if entry.key.source.filter == nil {
            self.pairedByValue[entry.key.source.table]?.removeAll { $0 === entry }
        }
        for id in entry.result.members { self.hold(id, entry) }
    }

    private func countTables(of entry: Entry, _ difference: Int) {
        var tables = entry.watched.flatMap { path in [path.table] + path.steps.map(\.table) }
        tables += entry.key.source.filter?.subtrees.map(\.table) ?? []
        for table in Set(tables) { self.count(table, difference) }
    }

    private func count(_ table: EntityNumber, _ difference: Int) {
        let count = self.watchedTables[table, default: 0] + difference
        self.watchedTables[table] = count > 0 ? count : nil
    }

    func remove(_ key: ResultKey) {
        guard let entry = self.entries.removeValue(forKey: key) else { return }
        self.unfollow(entry)
        self.countSubtrees(of: entry, -1)
    }

    private func unfollow(_ entry: Entry) {
        guard entry.isFollowing else { return }
        entry.isFollowing = false
        let key = entry.key
        entry.bucket?.remove(entry)
        if let route = Self.route(key.source) {
            if self.routes[route]?.entries.isEmpty ?? false { self.routes[route] = nil }
            let left = (self.slots[route.table]?[route.slot] ?? 1) - 1
            self.slots[route.table]?[route.slot] = left > 0 ? left : nil
        } else if self.whole[key.source.table]?.entries.isEmpty ?? false {
            self.whole[key.source.table] = nil
        }
        if key.source.isPaired {
            self.paired[key.source.table, default: 1] -= 1
            if entry.loading == nil { for id in entry.result.members { self.release(id, entry) } }
            self.pairedByValue[key.source.table]?.removeAll { $0 === entry }
        }
        for path in entry.watched {
            self.watchers[path]?.removeAll { $0 === entry }
            if self.watchers[path]?.isEmpty ?? false { self.watchers[path] = nil }
        }
        for subtree in key.source.filter?.subtrees ?? [] {
            self.subtreeWatchers[subtree]?.removeAll { $0 === entry }
            if self.subtreeWatchers[subtree]?.isEmpty ?? false { self.subtreeWatchers[subtree] = nil }
        }
        self.countTables(of: entry, -1)
    }

    static func route(_ source: ResultSource) -> Route? {
        switch source.membership {
        case .all:
            // The references first: few objects hold one.
            (source.filter?.constants.first { $0.value.referenceValue != nil } ?? source.filter?.constants.first)
                .map { Route(table: source.table, slot: $0.slot, value: $0.value) }
        case .owned(let slot, _, let owner): Route(table: source.table, slot: slot, value: .reference(owner))
        case .paired(let join, let slot, _, _, let owner): Route(table: join, slot: slot, value: .reference(owner))
        }
    }

    // MARK: Which results a change concerns

    /// Whether any result has rows or pairs of this table.
    func concerns(_ table: EntityNumber) -> Bool {
        !(self.slots[table]?.isEmpty ?? true) || self.whole[table] != nil || self.hasPaired(table)
    }

    /// Whether what a change has done to an object means anything to any result.
    func isConcerned(_ object: TouchedObject, _ table: EntityNumber) -> Bool {
        if self.watches(table) { return true }
        guard self.concerns(table) else { return false }
        if !(self.pairedByValue[table]?.isEmpty ?? true) || self.holders[object.id] != nil { return true }
        var isCandidate = false
        self.forEachCandidate(object, table) { _ in isCandidate = true }
        return isCandidate
    }

    private func hasPaired(_ table: EntityNumber) -> Bool { self.paired[table, default: 0] > 0 }

    /// Calls `body` with each result that a row of a table, an object or a pair, was in or is in by its own values.
    /// O(1) in the number of results that it is not.
    func forEachCandidate(_ object: TouchedObject, _ table: EntityNumber, _ body: (Entry) -> Void) {
        self.forEachBucket(object, table) { for entry in $0.entries { body(entry) } }
    }

    /// The same by their buckets.
    func forEachBucket(_ object: TouchedObject, _ table: EntityNumber, _ body: (Bucket) -> Void) {
        if let bucket = self.whole[table] { body(bucket) }
        self.forEachRoutedBucket(object, table, body)
    }

    /// Those among them that are found by a value.
    func forEachRouted(_ object: TouchedObject, _ table: EntityNumber, _ body: (Entry) -> Void) {
        self.forEachRoutedBucket(object, table) { for entry in $0.entries { body(entry) } }
    }

    /// Results that any object of a table may concern: of all its objects, by what an object holds, or by other
    /// objects.
    func unrouted(_ table: EntityNumber) -> [Entry] {
        var all = (self.whole[table]?.entries ?? []) + (self.pairedByValue[table] ?? [])
        if self.watches(table) { all += self.watching }
        return all
    }

    private func forEachRoutedBucket(_ object: TouchedObject, _ table: EntityNumber, _ body: (Bucket) -> Void) {
        guard let slots = self.slots[table] else { return }
        for slot in slots.keys {
            let before = object.before?.values[slot] ?? .null
            let after = object.after?.values[slot] ?? .null
            if !before.isNull, let bucket = self.routes[Route(table: table, slot: slot, value: before)] { body(bucket) }
            guard !after.isNull, after != before else { continue }
            if let bucket = self.routes[Route(table: table, slot: slot, value: after)] { body(bucket) }
        }
    }

    func forEach(_ table: EntityNumber, _ slot: Int, _ value: AttributeValue, _ body: (Entry) -> Void) {
        for entry in self.routes[Route(table: table, slot: slot, value: value)]?.entries ?? [] { body(entry) }
    }

    /// Calls `body` with each paired result that an object is a row of.
    func forEachHolder(_ id: ObjectID, _ table: EntityNumber, _ body: (Entry) -> Void) {
        guard self.hasPaired(table) else { return }
        switch self.holders[id] {
        case nil: break
        case .one(let entry): body(entry)
        case .several(let entries): for entry in entries { body(entry) }
        }
    }

    // MARK: Results that read other objects

    /// Whether any result depends on objects of this table other than its rows.
    func watches(_ table: EntityNumber) -> Bool { self.watchedTables[table] != nil }

    var watchedPaths: some Collection<CompiledPath> { self.watchers.keys }

    func watchers(of path: CompiledPath) -> [Entry] { self.watchers[path] ?? [] }

    func watchers(of subtree: SubtreeKey) -> [Entry] { self.subtreeWatchers[subtree] ?? [] }

    /// Every result that depends on objects other than its rows.
    var watching: some Collection<Entry> {
        self.entries.values.filter { !$0.watched.isEmpty || !($0.key.source.filter?.subtrees.isEmpty ?? true) }
    }

    /// Calls `body` with each paired result that an object of a table may be a row of by its values.
    func forEachPairedByValue(_ table: EntityNumber, _ body: (Entry) -> Void) {
        for entry in self.pairedByValue[table] ?? [] { body(entry) }
    }

    // MARK: Rows of paired results

    /// Takes what has been applied to a paired result.
    func note(_ changes: [RowChange], of entry: Entry) {
        for change in changes {
            switch (change.before, change.after) {
            case (nil, _?): self.hold(change.id, entry)
            case (_?, nil): self.release(change.id, entry)
            default: break
            }
        }
    }

    private func hold(_ id: ObjectID, _ entry: Entry) {
        switch self.holders[id] {
        case nil: self.holders[id] = .one(entry)
        case .one(let other): self.holders[id] = .several([other, entry])
        case .several(let entries): self.holders[id] = .several(entries + [entry])
        }
    }

    private func release(_ id: ObjectID, _ entry: Entry) {
        switch self.holders[id] {
        case nil: break
        case .one: self.holders[id] = nil
        case .several(var entries):
            entries.removeAll { $0 === entry }
            self.holders[id] = entries.count == 1 ? .one(entries[0]) : .several(entries)
        }
    }
}
