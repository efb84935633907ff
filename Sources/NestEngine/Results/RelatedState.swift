import NestLiveQuery
import NestModel
import NestStore
import NestProtocol
import NestSchema

/// What live results read of objects other than their rows: from the store as it is now, and from what is counted along
/// for all who ask for it, so that a list of a million is not counted for each change of one of its objects.
final class RelatedState: RelatedObjects {
    private struct Counted {
        var uses = 0
        /// Of owners that have been asked for.
        var counts: [ObjectID: Int] = [:]
    }

    private struct Below {
        var uses = 0
        /// Wherever the root is.
        var members: ObjectBitmap
        /// The root is within the key's limit.
        var isWithin: Bool
    }

    private let objects: ObjectReader
    /// Members that are kept for others too; `nil`: a sub-tree is walked, whatever its size.
    private let scopes: TokenScopes?
    private var tallies: [Tally: Counted] = [:]
    private var subtrees: [SubtreeKey: Below] = [:]

    init(_ objects: ObjectReader, _ scopes: TokenScopes? = nil) {
        self.objects = objects
        self.scopes = scopes
    }

    /// Rows that one request may walk through between two commits.
    static let walkedRowsMax = 1_024
    /// The sub-trees that must be read before what was asked last can be done.
    private var unread: [SubtreeKey] = []

    private func postpone(_ keys: [SubtreeKey]) -> StoreError {
        self.unread = keys
        return .postponed(.unreadSubtrees)
    }

    /// Returns the sub-trees that the last `postponed(.unreadSubtrees)` is about.
    func takeUnread() -> [SubtreeKey] {
        defer { self.unread = [] }
        return self.unread
    }

    /// Begins to count what a source reads. Returns how many rows were read for it.
    ///
    /// Throws `postponed(.unreadSubtrees)` if the members of a sub-tree are many, and not known yet.
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
        for tally in source.relatedValues.flatMap(\.tallies) { self.tallies[tally, default: Counted()].uses += 1 }
        for (key, members) in new {
            self.subtrees[key] = Below(members: members, isWithin: try self.isWithin(key))
            self.scopes?.retain(key.unlimited)
        }
        for key in keys { self.subtrees[key]?.uses += 1 }
        guard new.isEmpty || self.subtreeMemberCount <= Limits.subtreeMembersMax else {
            self.release(source)
            throw StoreError.refused(
                .limitExceeded,
                "the sub-trees that subscriptions are about would have over \(Limits.subtreeMembersMax) objects"
            )
        }
        return rows
    }

    func release(_ source: ResultSource) {
        self.releaseTallies(of: source)
        self.releaseSubtrees(of: source)
    }

    /// Nobody follows the source for a while: what is counted for it alone would grow wrong.
    func releaseTallies(of source: ResultSource) {
        for tally in source.relatedValues.flatMap(\.tallies) {
            self.tallies[tally]?.uses -= 1
            if self.tallies[tally]?.uses == 0 { self.tallies[tally] = nil }
        }
    }

    func retainTallies(of source: ResultSource) {
        for tally in source.relatedValues.flatMap(\.tallies) { self.tallies[tally, default: Counted()].uses += 1 }
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

    func count(_ tally: Tally, of owner: ObjectID) throws(StoreError) -> Int {
        if let known = self.tallies[tally]?.counts[owner] { return known }
        guard case .toMany(let slot, let table)? = tally.path.steps.first else {
            preconditionFailure("a tally begins with a step to many")
        }
        let count: Int
        if tally.countsAll {
            count = try self.objects.count(referringTo: owner, table, slot)
        } else {
            count = try self.objects.ids(referringTo: owner, table, slot).count { (id) throws(StoreError) in
                guard let row = try self.objects.row(table, id) else { return false }
                return try tally.counts(id, row, self)
            }
        }
        self.tallies[tally]?.counts[owner] = count
        return count
    }

    func contains(_ subtree: SubtreeKey, _ id: ObjectID) throws(StoreError) -> Bool {
        // Everybody who evaluates a source retains it first: `result`, `fetch`, side reads.
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
        while let above = try self.objects.row(key.table, next)?.values[key.slot].referenceValue {
            if above == limit { return true }
            next = above
        }
        return false
    }

    /// Objects of a sub-tree; `nil` when no result asks for it.
    func memberCount(_ subtree: SubtreeKey) -> Int? { self.subtrees[subtree]?.members.count }

    /// Objects of all retained sub-trees, each as often as it is in one.
    var subtreeMemberCount: Int { self.subtrees.values.reduce(0) { $0 + $1.members.count } }
    var tallyCount: Int { self.tallies.values.reduce(0) { $0 + $1.counts.count } }

    /// About what is kept.
    var byteCount: Int { 24 * self.subtreeMemberCount + 48 * self.tallyCount }

    /// All objects below the root; `nil`: they are not known, and more than the rows that are left.
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

    /// The objects below one, as they are now, but for those below the root when it is among them, as long as `body`
    /// wants more. Returns whether these are all. No recursion, however deep.
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

    /// Forgets what was counted, and walks the sub-trees again: more has changed than can be followed.
    func reload() throws(StoreError) {
        for tally in self.tallies.keys { self.tallies[tally]?.counts = [:] }
        for key in self.subtrees.keys { self.subtrees[key]?.members.removeAll() }
        for key in self.subtrees.keys {
            var rows = 0
            guard let members = try self.members(key, rowsMax: .max, &rows) else {
                preconditionFailure("no row is too many")
            }
            self.subtrees[key]?.members = members
            self.subtrees[key]?.isWithin = try self.isWithin(key)
        }
    }

    /// Takes what a batch did to objects, and answers which of them are in or out of a sub-tree since.
    func take(_ changes: DependencyChanges) throws(StoreError) -> [SubtreeKey: [ObjectID]] {
        for tally in self.tallies.keys { try self.update(tally, changes) }
        var flipped: [SubtreeKey: [ObjectID]] = [:]
        for key in self.subtrees.keys {
            let ids = key.limit == nil ? try self.update(key, changes) : try self.updateLimited(key, changes)
            if !ids.isEmpty { flipped[key] = ids }
        }
        return flipped
    }

    /// All members of a sub-tree come in or go out together when its root passes the key's limit.
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

    private func update(_ tally: Tally, _ changes: DependencyChanges) throws(StoreError) {
        guard var counted = self.tallies.removeValue(forKey: tally) else { return }
        defer { self.tallies[tally] = counted }
        for (id, change) in changes[tally.path.table] where change.after == nil { counted.counts[id] = nil }
        guard case .toMany(let slot, let table)? = tally.path.steps.first, tally.isDirect || tally.countsAll else {
            for owner in try changes.roots(of: tally.path, self.objects) { counted.counts[owner] = nil }
            return
        }
        for (id, change) in changes[table] {
            for (row, sign) in [(change.before, -1), (change.after, 1)] {
                guard let row, let owner = row.values[slot].referenceValue, let count = counted.counts[owner],
                    try tally.counts(id, row, self)
                else { continue }
                counted.counts[owner] = count + sign
            }
        }
    }

    /// Insertions and deletions cost O(1) each; an object that was moved in or out takes what is below it along.
    private func update(_ key: SubtreeKey, _ changes: DependencyChanges) throws(StoreError) -> [ObjectID] {
        guard var below = self.subtrees.removeValue(forKey: key) else { return [] }
        defer { self.subtrees[key] = below }
        let moved = changes[key.table].filter {
            $0.value.before?.values[key.slot] != $0.value.after?.values[key.slot]
        }
        let carried = moved.filter { $0.value.before != nil && $0.value.after != nil }
        // Objects that were not moved stay in or out, unless one that was takes them along.
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
            // What was inserted has only what was moved or inserted too below it.
            if carried[id] != nil { _ = try self.forEachBelow(id, key, flip) }
        }
        return changed
    }

    /// The moved objects that have come in or gone out, and which are in now. `isSettled`: all that were not moved have
    /// stayed.
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

    /// Up from an object that has another above it than before: until the root, the top, or an object that is known.
    /// `members`: those before the batch, when it left everything that was not moved where it was; otherwise `nil`.
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
            guard let above = try self.objects.row(key.table, next)?.values[key.slot].referenceValue else { break }
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
