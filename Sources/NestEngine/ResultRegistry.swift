import NestLiveQuery
import NestModel
import NestStore

/// All live results, and which of them a change can concern.
struct ResultRegistry {
    final class Entry {
        let key: ResultKey
        let result: LiveResult
        /// Counts results as they come: an order to go through them in.
        let number: UInt64
        var views: [UInt32: View] = [:]
        /// It is being read; its result is not there yet.
        var loading: LoadingResult?
        /// Reads beside the engine that are for it: while there is one, it is kept.
        var readCount = 0
        /// Since when nobody has subscribed.
        var unusedSince: Int64?
        /// Ways to other objects that it reads.
        let watched: Set<CompiledPath>
        /// Changes that it was looked at for, and that changed it.
        var evaluations = 0
        var changes = 0

        fileprivate init(key: ResultKey, result: LiveResult, number: UInt64, now: Int64) {
            self.key = key
            self.result = result
            self.number = number
            self.unusedSince = now
            self.watched = Set(key.source.relatedValues.map(\.watched))
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
    private var routes: [Route: [Entry]] = [:]
    /// Slots that any result reads, by table: what a change is looked up by.
    private var slots: [EntityNumber: [Int: Int]] = [:]
    /// Results of all objects, by table.
    private var whole: [EntityNumber: [Entry]] = [:]
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

    mutating func insert(_ key: ResultKey, _ result: LiveResult, now: Int64) -> Entry {
        self.lastNumber += 1
        let entry = Entry(key: key, result: result, number: self.lastNumber, now: now)
        self.entries[key] = entry
        if let route = Self.route(key.source) {
            self.routes[route, default: []].append(entry)
            self.slots[route.table, default: [:]][route.slot, default: 0] += 1
        } else {
            self.whole[key.source.table, default: []].append(entry)
        }
        if key.source.isPaired {
            self.paired[key.source.table, default: 0] += 1
            for id in result.members { self.hold(id, entry) }
            if key.source.filter != nil { self.pairedByValue[key.source.table, default: []].append(entry) }
        }
        for path in entry.watched { self.watchers[path, default: []].append(entry) }
        for subtree in key.source.filter?.subtrees ?? [] { self.subtreeWatchers[subtree, default: []].append(entry) }
        self.countTables(of: entry, 1)
        return entry
    }

    /// A result that is being read; changes are remembered for it.
    mutating func insertLoading(_ key: ResultKey, _ loading: LoadingResult, now: Int64) {
        let empty = LiveResult(source: key.source, sorted: ResultRows(), revision: Revision(0))
        let entry = self.insert(key, empty, now: now)
        entry.loading = loading
        // Which objects are its rows is not known yet: any may be.
        if key.source.isPaired, key.source.filter == nil {
            self.pairedByValue[key.source.table, default: []].append(entry)
        }
    }

    /// Its result is there.
    mutating func finishLoading(_ entry: Entry) {
        entry.loading = nil
        guard entry.key.source.isPaired else { return }
        if entry.key.source.filter == nil {
            self.pairedByValue[entry.key.source.table]?.removeAll { $0 === entry }
        }
        for id in entry.result.members { self.hold(id, entry) }
    }

    private mutating func countTables(of entry: Entry, _ difference: Int) {
        var tables = entry.watched.flatMap { path in [path.table] + path.steps.map(\.table) }
        tables += entry.key.source.filter?.subtrees.map(\.table) ?? []
        for table in Set(tables) {
            let count = self.watchedTables[table, default: 0] + difference
            self.watchedTables[table] = count > 0 ? count : nil
        }
    }

    mutating func remove(_ key: ResultKey) {
        guard let entry = self.entries.removeValue(forKey: key) else { return }
        if let route = Self.route(key.source) {
            self.routes[route]?.removeAll { $0 === entry }
            if self.routes[route]?.isEmpty ?? false { self.routes[route] = nil }
            let left = (self.slots[route.table]?[route.slot] ?? 1) - 1
            self.slots[route.table]?[route.slot] = left > 0 ? left : nil
        } else {
            self.whole[key.source.table]?.removeAll { $0 === entry }
        }
        if key.source.isPaired {
            self.paired[key.source.table, default: 1] -= 1
            for id in entry.result.members { self.release(id, entry) }
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
        !(self.slots[table]?.isEmpty ?? true) || !(self.whole[table]?.isEmpty ?? true) || self.hasPaired(table)
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

    /// Calls `body` with each result that a row of a table, an object or a pair, was in or is in by its own values. O(1) in
    /// the number of results that it is not.
    func forEachCandidate(_ object: TouchedObject, _ table: EntityNumber, _ body: (Entry) -> Void) {
        for entry in self.whole[table] ?? [] { body(entry) }
        guard let slots = self.slots[table] else { return }
        for slot in slots.keys {
            let before = object.before?.values[slot] ?? .null
            let after = object.after?.values[slot] ?? .null
            if !before.isNull { self.forEach(table, slot, before, body) }
            if !after.isNull, after != before { self.forEach(table, slot, after, body) }
        }
    }

    func forEach(_ table: EntityNumber, _ slot: Int, _ value: AttributeValue, _ body: (Entry) -> Void) {
        for entry in self.routes[Route(table: table, slot: slot, value: value)] ?? [] { body(entry) }
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

    /// Whether any result reads objects of this table beside its rows.
    func watches(_ table: EntityNumber) -> Bool { self.watchedTables[table] != nil }

    var watchesAny: Bool { !self.watchedTables.isEmpty }

    var watchedPaths: some Collection<CompiledPath> { self.watchers.keys }

    func watchers(of path: CompiledPath) -> [Entry] { self.watchers[path] ?? [] }

    func watchers(of subtree: SubtreeKey) -> [Entry] { self.subtreeWatchers[subtree] ?? [] }

    /// Every result that reads objects beside its rows.
    var watching: some Collection<Entry> {
        self.entries.values.filter { !$0.watched.isEmpty || !($0.key.source.filter?.subtrees.isEmpty ?? true) }
    }

    /// Calls `body` with each paired result that an object of a table may be a row of by its values.
    func forEachPairedByValue(_ table: EntityNumber, _ body: (Entry) -> Void) {
        for entry in self.pairedByValue[table] ?? [] { body(entry) }
    }

    // MARK: Rows of paired results

    /// Takes that a paired result has begun anew. `members`: its rows before.
    mutating func reloaded(_ entry: Entry, from members: [ObjectID]) {
        guard entry.key.source.isPaired else { return }
        for id in members { self.release(id, entry) }
        for id in entry.result.members { self.hold(id, entry) }
    }

    /// Takes what has been applied to a paired result.
    mutating func note(_ changes: [RowChange], of entry: Entry) {
        for change in changes {
            switch (change.before, change.after) {
            case (nil, _?): self.hold(change.id, entry)
            case (_?, nil): self.release(change.id, entry)
            default: break
            }
        }
    }

    private mutating func hold(_ id: ObjectID, _ entry: Entry) {
        switch self.holders[id] {
        case nil: self.holders[id] = .one(entry)
        case .one(let other): self.holders[id] = .several([other, entry])
        case .several(let entries): self.holders[id] = .several(entries + [entry])
        }
    }

    private mutating func release(_ id: ObjectID, _ entry: Entry) {
        switch self.holders[id] {
        case nil: break
        case .one: self.holders[id] = nil
        case .several(var entries):
            entries.removeAll { $0 === entry }
            self.holders[id] = entries.count == 1 ? .one(entries[0]) : .several(entries)
        }
    }
}
