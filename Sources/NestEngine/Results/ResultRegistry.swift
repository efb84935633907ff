import NestLiveQuery
import NestModel
import NestStore
import NestSchema

/// All live results, and the look-up of those that a change can affect.
final class ResultRegistry {
    final class Entry {
        let key: ResultKey
        let result: LiveResult
        /// The sequence number of the result. Results are processed in this order.
        let number: UInt64
        var views: [UInt32: View] = [:]
        /// The changes since its background read began; `nil` when no read is running.
        var loading: LoadingResult?
        /// The number of background reads that retain the result.
        var readCount = 0
        /// The time since which the result has no subscribers.
        var unusedSince: Int64?
        /// The paths to other objects that the result reads.
        let watched: Set<CompiledPath>
        /// The number of changes that the result was evaluated for; `changes` counts the batches that changed it.
        var evaluations = 0
        var changes = 0
        /// The cost of evaluating one changed object.
        let cost: EvaluationCost
        /// Whether the result lags: it does not follow commits, and its rows are of an earlier revision until it is
        /// read anew.
        var isLagging = false
        /// Whether the result is abandoned: it has no subscribers, would have cost something, and is dropped at the end
        /// of the batch.
        var isAbandoned = false
        /// The bucket by which changes find the result; `nil` while it ignores changes.
        fileprivate(set) var bucket: Bucket?
        /// Whether the sub-trees of the result are followed although it lags.
        fileprivate var followsSubtrees = false
        /// Whether changes find the result.
        fileprivate(set) var isFollowing = false

        private let sourceBytes: Int
        /// The approximate size of the result.
        var byteCount: Int { self.sourceBytes + self.result.byteCount }

        /// Whether its rows are at the store's head.
        var isCurrent: Bool { self.loading == nil && !self.isLagging }
        /// Whether the result is kept without subscribers: the engine resolves places by index in it, and it costs
        /// almost nothing.
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
            // The changes of rows themselves reach the result as such.
            self.watched = Set(key.source.relatedValues.flatMap(\.watched).filter { !$0.isOwn })
        }
    }

    /// Results that the same changes may affect. A class, because a result may leave it in the middle of a batch.
    final class Bucket {
        fileprivate(set) var entries: [Entry] = []
        /// The cost of one changed object for all results of the bucket.
        private(set) var cost = EvaluationCost(nanoseconds: 0)

        func append(_ entry: Entry) {
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

        /// Removes the most expensive results, until one object costs at most `nanosecondsMax`, and returns them.
        /// Results that are being read stay, because their changes are only noted.
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

    /// The constant part of a request: it selects rows of a table (objects or pairs) whose slot holds this value.
    struct Route: Hashable {
        var table: EntityNumber
        var slot: Int
        var value: AttributeValue
    }

    /// The results that an object is a row of. Mostly one, which needs no array.
    private enum Holders {
        case one(Entry)
        case several([Entry])
    }

    private var entries: [ResultKey: Entry] = [:]
    private var lastNumber: UInt64 = 0
    /// The look-up by table. A table without results has none.
    private var tables: [EntityNumber: TableResults] = [:]
    /// The rows of paired results. The values of such an object do not lead to the result.
    private var holders: [ObjectID: Holders] = [:]
    /// The results that read each path.
    private var watchers: [CompiledPath: [Entry]] = [:]
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

    /// Registers a result, so that changes find it.
    private func follow(_ entry: Entry) {
        let key = entry.key
        entry.isFollowing = true
        let route = Self.route(key.source)
        self.change(route?.table ?? key.source.table) { $0.bucket(for: route).append(entry) }
        if key.source.isPaired {
            self.change(key.source.table) {
                $0.pairedCount += 1
                if key.source.filter != nil { $0.pairedByValue.append(entry) }
            }
            if entry.loading == nil { for id in entry.result.members { self.hold(id, entry) } }
        }
        for path in entry.watched { self.watchers[path, default: []].append(entry) }
        for subtree in key.source.filter?.subtrees ?? [] { self.subtreeWatchers[subtree, default: []].append(entry) }
        self.countTables(of: entry, 1)
    }

    /// Lets a result lag: changes no longer find it. It then costs nothing, and from the next change on its rows are of
    /// an earlier revision.
    func lag(_ entry: Entry) {
        entry.isLagging = true
        self.unfollow(entry)
        self.countSubtrees(of: entry, 1)
    }

    /// Keeps the sub-trees of a lagging result up to date, because finding their members again takes long.
    private func countSubtrees(of entry: Entry, _ difference: Int) {
        let subtrees = entry.key.source.filter?.subtrees ?? []
        guard !subtrees.isEmpty, entry.followsSubtrees != (difference > 0) else { return }
        entry.followsSubtrees = difference > 0
        for table in Set(subtrees.map(\.table)) { self.count(table, difference) }
    }

    /// Begins to remember changes for a lagging result that is being read anew.
    func beginLoading(_ entry: Entry, _ loading: LoadingResult) {
        self.countSubtrees(of: entry, -1)
        entry.loading = loading
        self.follow(entry)
        self.noteLoading(entry)
    }

    /// Adds a result that is being read, and begins to remember changes for it.
    func insertLoading(_ key: ResultKey, _ loading: LoadingResult, now: Int64) {
        let empty = LiveResult(source: key.source, sorted: ResultRows(), revision: Revision(0))
        let entry = self.insert(key, empty, now: now)
        entry.loading = loading
        self.noteLoading(entry)
    }

    /// Registers a result whose rows are not known yet for every object of its table.
    private func noteLoading(_ entry: Entry) {
        let source = entry.key.source
        if source.isPaired, source.filter == nil { self.change(source.table) { $0.pairedByValue.append(entry) } }
    }

    /// Makes a result current after its background read.
    func finishLoading(_ entry: Entry) {
        entry.loading = nil
        entry.isLagging = false
        guard entry.key.source.isPaired else { return }
        if entry.key.source.filter == nil {
            self.change(entry.key.source.table) { $0.pairedByValue.removeAll { $0 === entry } }
        }
        for id in entry.result.members { self.hold(id, entry) }
    }

    private func countTables(of entry: Entry, _ difference: Int) {
        var tables = entry.watched.flatMap { path in [path.table] + path.steps.map(\.table) }
        tables += entry.key.source.filter?.subtrees.map(\.table) ?? []
        for table in Set(tables) { self.count(table, difference) }
    }

    private func count(_ table: EntityNumber, _ difference: Int) {
        self.change(table) { $0.watcherCount += difference }
    }

    /// Changes the results of a table, and forgets the table if there are none left.
    private func change(_ number: EntityNumber, _ body: (TableResults) -> Void) {
        let table = self.tables[number] ?? TableResults(number)
        body(table)
        self.tables[number] = table.isEmpty ? nil : table
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
        let route = Self.route(key.source)
        self.change(route?.table ?? key.source.table) { $0.dropEmptyBucket(of: route) }
        if key.source.isPaired {
            self.change(key.source.table) {
                $0.pairedCount -= 1
                $0.pairedByValue.removeAll { $0 === entry }
            }
            if entry.loading == nil { for id in entry.result.members { self.release(id, entry) } }
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
            // References first: few objects hold the same one.
            (source.filter?.constants.first { $0.value.referenceValue != nil } ?? source.filter?.constants.first)
                .map { Route(table: source.table, slot: $0.slot, value: $0.value) }
        case .owned(let slot, _, let owner): Route(table: source.table, slot: slot, value: .reference(owner))
        case .paired(let join, let slot, _, _, let owner): Route(table: join, slot: slot, value: .reference(owner))
        }
    }

    // MARK: Results that a change affects

    /// The results of a table; `nil` if there are none.
    subscript(table number: EntityNumber) -> TableResults? { self.tables[number] }

    /// Whether a changed object may affect any result.
    func isConcerned(_ object: ChangedRow, _ number: EntityNumber) -> Bool {
        guard let table = self.tables[number] else { return false }
        if table.isWatched || !table.pairedByValue.isEmpty || self.holders[object.id] != nil { return true }
        var isCandidate = false
        table.forEachCandidate(object) { _ in isCandidate = true }
        return isCandidate
    }

    /// Returns the results that any object of a table may affect: those of all its objects, those that may contain it
    /// by its values, and those that read other objects.
    func unrouted(_ number: EntityNumber) -> [Entry] {
        guard let table = self.tables[number] else { return [] }
        return (table.whole?.entries ?? []) + table.pairedByValue + (table.isWatched ? Array(self.watching) : [])
    }

    /// Calls `body` with each paired result that an object of a table is a row of.
    func forEachHolder(_ id: ObjectID, _ table: TableResults, _ body: (Entry) -> Void) {
        guard table.pairedCount > 0 else { return }
        switch self.holders[id] {
        case nil: break
        case .one(let entry): body(entry)
        case .several(let entries): for entry in entries { body(entry) }
        }
    }

    // MARK: Results that read other objects

    /// Whether any result depends on objects of this table other than its rows.
    func watches(_ table: EntityNumber) -> Bool { self.tables[table]?.isWatched ?? false }

    var watchedPaths: some Collection<CompiledPath> { self.watchers.keys }

    func watchers(of path: CompiledPath) -> [Entry] { self.watchers[path] ?? [] }

    func watchers(of subtree: SubtreeKey) -> [Entry] { self.subtreeWatchers[subtree] ?? [] }

    /// Every result that depends on objects other than its rows.
    var watching: some Collection<Entry> {
        self.entries.values.filter { !$0.watched.isEmpty || !($0.key.source.filter?.subtrees.isEmpty ?? true) }
    }

    // MARK: Rows of paired results

    /// Updates the rows of a paired result after changes were applied to it.
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
