import NestLiveQuery
import NestModel
import NestStore
import NestProtocol
import NestSchema

/// The state of objects other than their rows that live results read. Objects are read from the store as it is now.
/// Relationship counts, aggregates and sub-trees are kept up to date for all results that use them, so that a list of a
/// million objects is not counted again for each change of one of them.
final class RelatedState: RelatedObjects {
    private struct Counted {
        var uses = 0
        /// The counts of the owners that were requested.
        var counts: [ObjectID: Int] = [:]
    }

    private struct Below {
        var uses = 0
        /// The members, also while the root is outside the key's limit.
        var members: ObjectBitmap
        /// Whether the root is within the key's limit.
        var isWithin: Bool
    }

    private let objects: ObjectReader
    /// The members that are shared with token scopes; `nil`: every sub-tree is walked, whatever its size.
    private let scopes: TokenScopes?
    private var relationshipCounts: [RelationshipCount: Counted] = [:]
    private let aggregates: RelatedAggregates
    private var subtrees: [SubtreeKey: Below] = [:]

    /// The values of related objects that functions may read in one turn.
    private let aggregatedRowsMax: Int

    init(
        _ objects: ObjectReader,
        _ scopes: TokenScopes? = nil,
        aggregatedRowsMax: Int = .max,
        aggregateBytesMax: Int = Limits.aggregateBytesMax,
        aggregatedFewMax: Int = RelatedAggregates.fewMax
    ) {
        self.objects = objects
        self.scopes = scopes
        self.aggregates = RelatedAggregates(
            objects,
            isTransient: scopes == nil,
            bytesMax: aggregateBytesMax,
            fewMax: aggregatedFewMax
        )
        self.aggregatedRowsMax = aggregatedRowsMax
    }

    /// Begins work that delays commits: until `endTurn`, functions that read more values than a turn may throw
    /// `postponed(.resultTooExpensive)`.
    func beginTurn(rowsMax: Int? = nil) { self.aggregates.beginTurn(rowsMax: rowsMax ?? self.aggregatedRowsMax) }

    func endTurn() { self.aggregates.endTurn() }

    /// The maximum number of rows that one request may walk through between two commits.
    static let walkedRowsMax = 1_024
    /// The sub-trees that must be read before the last postponed request can run.
    private var unread: [SubtreeKey] = []

    private func postpone(_ keys: [SubtreeKey]) -> StoreError {
        self.unread = keys
        return .postponed(.unreadSubtrees)
    }

    /// Returns and clears the sub-trees of the last `postponed(.unreadSubtrees)`.
    func takeUnread() -> [SubtreeKey] {
        defer { self.unread = [] }
        return self.unread
    }

    /// Begins to keep the counts and sub-trees that a source reads. Returns the number of rows that were read for it.
    ///
    /// Throws `postponed(.unreadSubtrees)` if a sub-tree has many members that are not known yet.
    @discardableResult
    func retain(_ source: ResultSource) throws(StoreError) -> Int {
        let keys = source.filter?.subtrees ?? []
        var new: [SubtreeKey: ObjectBitmap] = [:]
        var unread: [SubtreeKey] = []
        let rowsMax = self.scopes?.isReading == true ? Self.walkedRowsMax : Int.max
        var rows = 0
        for key in keys where self.subtrees[key] == nil && new[key] == nil {
            if let members = try self.members(key, rowsMax: rowsMax, &rows) {
                new[key] = members
            } else {
                unread.append(key)
            }
        }
        guard unread.isEmpty else { throw self.postpone(unread) }
        self.retainCounts(of: source)
        for (key, members) in new {
            self.subtrees[key] = Below(members: members, isWithin: try self.isWithin(key))
            self.scopes?.retain(key.unlimited)
        }
        for key in keys { self.subtrees[key]?.uses += 1 }
        guard new.isEmpty || self.subtreeMemberCount <= Limits.subtreeMembersMax else {
            self.release(source)
            throw StoreError.refused(
                .limitExceeded,
                "the sub-trees of all subscriptions together would have over \(Limits.subtreeMembersMax) objects"
            )
        }
        return rows
    }

    func release(_ source: ResultSource) {
        self.releaseCounts(of: source)
        self.releaseSubtrees(of: source)
    }

    /// Releases the counts and aggregates of a source that does not follow changes for a while: without changes they
    /// would become wrong.
    func releaseCounts(of source: ResultSource) {
        self.aggregates.release(source)
        for count in source.relatedValues.flatMap(\.relationshipCounts) {
            self.relationshipCounts[count]?.uses -= 1
            if self.relationshipCounts[count]?.uses == 0 { self.relationshipCounts[count] = nil }
        }
    }

    func retainCounts(of source: ResultSource) {
        self.aggregates.retain(source)
        for count in source.relatedValues.flatMap(\.relationshipCounts) {
            self.relationshipCounts[count, default: Counted()].uses += 1
        }
    }

    func releaseSubtrees(of source: ResultSource) {
        for key in source.filter?.subtrees ?? [] {
            self.subtrees[key]?.uses -= 1
            guard self.subtrees[key]?.uses == 0 else { continue }
            self.subtrees[key] = nil
            self.scopes?.release(key.unlimited)
        }
    }

    // MARK: Reading

    func row(_ table: EntityNumber, _ id: ObjectID) throws(StoreError) -> ObjectRow? { try self.objects.row(table, id) }

    func pair(_ join: EntityNumber, _ slots: [(slot: Int, id: ObjectID)]) throws(StoreError) -> ObjectRow? {
        try self.objects.pair(join, slots)
    }

    func count(_ relationshipCount: RelationshipCount, of owner: ObjectID) throws(StoreError) -> Int {
        if let known = self.relationshipCounts[relationshipCount]?.counts[owner] { return known }
        guard case .toMany(let slot, let table)? = relationshipCount.path.steps.first else {
            preconditionFailure("a relationship count begins with a to-many step")
        }
        let count: Int
        if relationshipCount.countsAll {
            count = try self.objects.count(referringTo: owner, table, slot)
        } else {
            count = try self.objects.ids(referringTo: owner, table, slot).count { (id) throws(StoreError) in
                guard let row = try self.objects.row(table, id) else { return false }
                return try relationshipCount.counts(id, row, self)
            }
        }
        self.relationshipCounts[relationshipCount]?.counts[owner] = count
        return count
    }

    func value(_ aggregate: RelatedAggregate, of owner: ObjectID) throws(StoreError) -> AttributeValue {
        try self.aggregates.value(aggregate, of: owner)
    }

    func contains(_ subtree: SubtreeKey, _ id: ObjectID) throws(StoreError) -> Bool {
        // Every source is retained before it is evaluated: by `LiveResults`, `FetchRequests` and `BackgroundRead`.
        guard let below = self.subtrees[subtree] else { preconditionFailure("the sub-tree is retained") }
        return below.isWithin && below.members.contains(id)
    }

    /// Whether the root is within the key's limit, as it is now. O(1) while the members of the limit are known,
    /// O(depth) otherwise.
    private func isWithin(_ key: SubtreeKey) throws(StoreError) -> Bool {
        guard let limit = key.limit else { return true }
        if let known = self.scopes?.members(SubtreeKey(table: key.table, slot: key.slot, root: limit)) {
            return known.contains(key.root)
        }
        var next = key.root
        while let above = try self.objects.row(key.table, next)?.values.reference(key.slot) {
            if above == limit { return true }
            next = above
        }
        return false
    }

    /// Returns the number of objects of a sub-tree; `nil` if no result reads it.
    func memberCount(_ subtree: SubtreeKey) -> Int? { self.subtrees[subtree]?.members.count }

    /// The number of objects of all retained sub-trees. An object in several sub-trees is counted several times.
    var subtreeMemberCount: Int { self.subtrees.values.reduce(0) { $0 + $1.members.count } }
    var countedOwnerCount: Int { self.relationshipCounts.values.reduce(0) { $0 + $1.counts.count } }
    var aggregatedOwnerCount: Int { self.aggregates.ownerCount }

    /// The approximate size of the kept state.
    var byteCount: Int { 24 * self.subtreeMemberCount + 48 * self.countedOwnerCount + self.aggregates.byteCount }

    /// Returns all objects below the root; `nil` if they are not known and there are more of them than the rows that
    /// are left.
    private func members(_ key: SubtreeKey, rowsMax: Int, _ rows: inout Int) throws(StoreError) -> ObjectBitmap? {
        if let known = self.scopes?.members(key.unlimited) { return known }
        guard rows < rowsMax else { return nil }
        var members = ObjectBitmap()
        let isWhole = try self.forEachBelow(key.root, key) { id in
            members.insert(id)
            rows += 1
            return rows < rowsMax
        }
        return isWhole ? members : nil
    }

    /// Calls `body` with each object below `id`, until it returns `false`. If the root is among them, it is skipped
    /// with everything below it. Returns whether all objects were visited. Not recursive, whatever the depth.
    private func forEachBelow(_ id: ObjectID, _ key: SubtreeKey, _ body: (ObjectID) -> Bool) throws(StoreError) -> Bool
    {
        let children = ChildReader(self.objects, key)
        var next = [id]
        while let id = next.popLast() {
            var position: Int64?
            repeat {
                let page = try children.page(of: id, after: position, limit: Self.pageRows)
                for child in page where child.id != key.root {
                    guard body(child.id) else { return false }
                    next.append(child.id)
                }
                position = page.count == Self.pageRows ? page.last?.position : nil
            } while position != nil
        }
        return true
    }

    private static let pageRows = 256

    // MARK: Changes

    /// Forgets all counts and aggregates, after changes that were not followed one by one.
    func forgetCounts() {
        for count in self.relationshipCounts.keys { self.relationshipCounts[count]?.counts = [:] }
        self.aggregates.forget()
    }

    /// Forgets all counts and walks the sub-trees again, after more changes than can be followed.
    func reload() throws(StoreError) {
        self.forgetCounts()
        for key in self.subtrees.keys { self.subtrees[key]?.members.removeAll() }
        for key in self.subtrees.keys {
            var rows = 0
            guard let members = try self.members(key, rowsMax: .max, &rows) else {
                preconditionFailure("a walk without a row limit is complete")
            }
            self.subtrees[key]?.members = members
            self.subtrees[key]?.isWithin = try self.isWithin(key)
        }
    }

    /// Applies the changes of a batch. Returns the objects that have entered or left each sub-tree.
    func take(_ changes: DependencyChanges) throws(StoreError) -> [SubtreeKey: [ObjectID]] {
        for count in self.relationshipCounts.keys { try self.update(count, changes) }
        try self.aggregates.take(changes)
        var flipped: [SubtreeKey: [ObjectID]] = [:]
        for key in self.subtrees.keys {
            let ids = key.limit == nil ? try self.update(key, changes) : try self.updateLimited(key, changes)
            if !ids.isEmpty { flipped[key] = ids }
        }
        return flipped
    }

    /// Updates a sub-tree whose key has a limit. All its members enter or leave together when its root crosses the
    /// limit.
    private func updateLimited(_ key: SubtreeKey, _ changes: DependencyChanges) throws(StoreError) -> [ObjectID] {
        guard let before = self.subtrees[key] else { return [] }
        let changed = try self.update(key, changes)
        let isWithin = try self.isWithin(key)
        self.subtrees[key]?.isWithin = isWithin
        switch (before.isWithin, isWithin) {
        case (true, true): return changed
        case (false, false): return []
        case (true, false): return before.members.ids
        case (false, true): return self.subtrees[key]?.members.ids ?? []
        }
    }

    private func update(_ relationshipCount: RelationshipCount, _ changes: DependencyChanges) throws(StoreError) {
        guard var counted = self.relationshipCounts.removeValue(forKey: relationshipCount) else { return }
        defer { self.relationshipCounts[relationshipCount] = counted }
        for (id, change) in changes[relationshipCount.path.table] where change.after == nil { counted.counts[id] = nil }
        guard case .toMany(let slot, let table)? = relationshipCount.path.steps.first,
            relationshipCount.isDirect || relationshipCount.countsAll
        else {
            for path in relationshipCount.watched {
                for owner in try changes.roots(of: path, self.objects) { counted.counts[owner] = nil }
            }
            return
        }
        for (id, change) in changes[table] {
            for (row, sign) in [(change.before, -1), (change.after, 1)] {
                guard let row, let owner = row.values.reference(slot), let count = counted.counts[owner],
                    try relationshipCount.counts(id, row, self)
                else { continue }
                counted.counts[owner] = count + sign
            }
        }
    }

    /// Updates a sub-tree and returns the objects that have entered or left it. Insertions and deletions cost O(1)
    /// each; an object that was moved in or out takes the objects below it along.
    private func update(_ key: SubtreeKey, _ changes: DependencyChanges) throws(StoreError) -> [ObjectID] {
        guard var below = self.subtrees.removeValue(forKey: key) else { return [] }
        defer { self.subtrees[key] = below }
        let moved = changes[key.table].filter {
            $0.value.before?.values[key.slot] != $0.value.after?.values[key.slot]
        }
        let carried = moved.filter { $0.value.before != nil && $0.value.after != nil }
        // Objects that were not moved stay in or out, unless a moved object takes them along.
        var (flipped, isBelow) = try self.flipped(key, below.members, of: moved, isSettled: true)
        if moved.count > 1, flipped.contains(where: { carried[$0] != nil }) {
            (flipped, isBelow) = try self.flipped(key, below.members, of: moved, isSettled: false)
        }
        var changed: [ObjectID] = []
        for id in flipped {
            let isNow = isBelow[id] ?? false
            func flip(_ id: ObjectID) -> Bool {
                if isNow ? below.members.insert(id) : below.members.remove(id) { changed.append(id) }
                return true
            }
            _ = flip(id)
            // Below an inserted object are only objects that were moved or inserted too.
            if carried[id] != nil { _ = try self.forEachBelow(id, key, flip) }
        }
        return changed
    }

    /// Returns the moved objects that have entered or left, and which objects are in the sub-tree now. `isSettled`:
    /// objects that were not moved have stayed in or out.
    private func flipped(
        _ key: SubtreeKey,
        _ members: ObjectBitmap,
        of moved: [ObjectID: DependencyChanges.Change],
        isSettled: Bool
    ) throws(StoreError) -> (flipped: [ObjectID], isBelow: [ObjectID: Bool]) {
        var isBelow: [ObjectID: Bool] = [:]
        var flipped: [ObjectID] = []
        for (id, change) in moved {
            var isNow = false
            if change.after != nil {
                isNow = try self.isBelow(id, key, isSettled ? members : nil, moved, &isBelow)
            }
            if members.contains(id) != isNow { flipped.append(id) }
        }
        return (flipped, isBelow)
    }

    /// Whether an object is below the root now. Walks up until the root, the top, or an object whose answer is known.
    /// `members`: the members before the batch, if objects that were not moved have stayed in or out; otherwise `nil`.
    private func isBelow(
        _ id: ObjectID,
        _ key: SubtreeKey,
        _ members: ObjectBitmap?,
        _ moved: [ObjectID: DependencyChanges.Change],
        _ known: inout [ObjectID: Bool]
    ) throws(StoreError) -> Bool {
        var way: [ObjectID] = []
        var next = id
        var answer = false
        while true {
            if let found = known[next] {
                answer = found
                break
            }
            if let members, moved[next] == nil {
                answer = members.contains(next)
                break
            }
            way.append(next)
            guard let above = try self.objects.row(key.table, next)?.values.reference(key.slot) else { break }
            if above == key.root {
                answer = true
                break
            }
            next = above
        }
        for id in way { known[id] = answer }
        return answer
    }
}
