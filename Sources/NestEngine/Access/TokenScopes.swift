import DequeModule
import NestModel
import NestStore
import NestSchema

/// The members of all token scopes in use, and of the sub-trees that live results read. All connections of a scope
/// share one set.
///
/// Until all members of a scope are known, its requests wait. So the engine refuses none of them, and other clients do
/// not wait for walks through deep trees.
package final class TokenScopes {
    private struct Entry {
        let members: ScopeMembers
        var connections = 0
        /// The number of results that read the sub-tree and of requests that wait for it.
        var uses = 0
        /// The time when the last connection left.
        var unusedSince: Int64?
        /// Waiting requests, in the order of arrival.
        var held: [EngineInput] = []
    }

    private let store: Store
    /// The rows that one turn of the engine may read, and that one group may read to follow its changes. With 0 the
    /// engine keeps no members, and each request walks the tree.
    private let rowsPerTurn: Int
    private var entries: [SubtreeKey: Entry] = [:]
    /// Scopes that are being read, in the order of their turns.
    private var unread: Deque<SubtreeKey> = []
    /// Requests that no longer wait for their scope; the next turn runs them.
    private var released: [EngineInput] = []
    private var turnRowsLeft = 0

    package init(_ store: Store, rowsPerTurn: Int) {
        self.store = store
        self.rowsPerTurn = rowsPerTurn
    }

    private func key(_ scope: AuthorisationScope) -> SubtreeKey? {
        guard case .subtree(let grant) = scope else { return nil }
        return self.store.layout.subtree(grant)
    }

    /// Returns the known members of a scope; `nil` if none are kept.
    func members(_ grant: AccessConfinement) -> ScopeMembers? {
        guard !self.entries.isEmpty else { return nil }
        return self.store.layout.subtree(grant).flatMap { self.entries[$0]?.members }
    }

    /// Returns all members of a sub-tree; `nil` until they are all known.
    func members(_ key: SubtreeKey) -> ObjectBitmap? {
        guard let members = self.entries[key]?.members, members.isComplete else { return nil }
        return members.members
    }

    /// Whether the members of a sub-tree are still being read.
    func awaits(_ key: SubtreeKey) -> Bool { self.entries[key].map { !$0.members.isComplete } ?? false }

    /// Whether the engine keeps members and reads them in turns.
    var isReading: Bool { self.rowsPerTurn > 0 }

    var count: Int { self.entries.count }
    var memberCount: Int { self.entries.values.reduce(0) { $0 + $1.members.members.count } }
    var byteCount: Int { self.entries.values.reduce(0) { $0 + $1.members.byteCount } }
    var heldCount: Int { self.entries.values.reduce(self.released.count) { $0 + $1.held.count } }

    // MARK: Connections

    func retain(_ scope: AuthorisationScope) {
        guard self.rowsPerTurn > 0, let key = self.key(scope) else { return }
        self.open(key)
        self.entries[key]?.connections += 1
    }

    private func open(_ key: SubtreeKey) {
        if self.entries[key] == nil {
            self.entries[key] = Entry(members: ScopeMembers(key, self.store.objects))
            self.unread.append(key)
        }
        self.entries[key]?.unusedSince = nil
    }

    /// Releases the scope of a connection. Complete members are kept for a while, because most clients reconnect;
    /// incomplete ones are dropped.
    func release(_ scope: AuthorisationScope, _ connection: ConnectionID, now: Int64) {
        guard let key = self.key(scope), var entry = self.entries.removeValue(forKey: key) else { return }
        entry.connections -= 1
        entry.held.removeAll { if case .request(connection, _, _) = $0 { true } else { false } }
        if entry.connections <= 0, entry.uses == 0 {
            guard entry.members.isComplete else { return self.unread.removeAll { $0 == key } }
            entry.unusedSince = now
        }
        self.entries[key] = entry
    }

    /// Retains a sub-tree for a result or a waiting request.
    func retain(_ key: SubtreeKey) {
        guard self.rowsPerTurn > 0 else { return }
        self.open(key)
        self.entries[key]?.uses += 1
    }

    func release(_ key: SubtreeKey) {
        guard var entry = self.entries.removeValue(forKey: key) else { return }
        entry.uses = max(0, entry.uses - 1)
        guard entry.uses > 0 || entry.connections > 0 || entry.unusedSince != nil else {
            return self.unread.removeAll { $0 == key }
        }
        self.entries[key] = entry
    }

    /// Drops the members of scopes that had no connection since `time`.
    func dropUnused(before time: Int64) {
        self.entries = self.entries.filter { $0.value.unusedSince.map { $0 >= time } ?? true }
    }

    // MARK: Turns

    /// Whether the next turn has work to do.
    var hasBacklog: Bool { !self.unread.isEmpty || self.isReleased }
    /// Whether there are members to read and this turn may read more rows.
    var isUnread: Bool { !self.unread.isEmpty && self.turnRowsLeft > 0 }
    /// Whether there are requests that no longer wait.
    var isReleased: Bool { !self.released.isEmpty }

    func beginTurn() { self.turnRowsLeft = self.rowsPerTurn }

    /// Returns and clears the requests that no longer wait.
    func takeReleased() -> [EngineInput] {
        defer { self.released = [] }
        return self.released
    }

    /// Holds a request back if its scope is not completely known. Returns whether it did.
    func hold(_ scope: AuthorisationScope, _ input: EngineInput) -> Bool {
        guard !self.unread.isEmpty, let key = self.key(scope), let members = self.entries[key]?.members,
            !members.isComplete
        else { return false }
        self.entries[key]?.held.append(input)
        return true
    }

    /// Reads members, one scope after another, up to the row limit of this turn.
    func read() throws(StoreError) {
        while self.turnRowsLeft > 0, let key = self.unread.popFirst() {
            guard let members = self.entries[key]?.members else { continue }
            do {
                self.turnRowsLeft -= try members.read(rowsMax: self.turnRowsLeft)
            } catch {
                // Drops the members of the scope: its requests walk the tree instead, and report the failure
                // themselves.
                self.released += self.entries.removeValue(forKey: key)?.held ?? []
                throw error
            }
            guard members.isComplete else {
                self.unread.append(key)
                continue
            }
            self.released += self.entries[key]?.held ?? []
            self.entries[key]?.held = []
        }
    }

    // MARK: Changes

    func beginGroup() {
        for entry in self.entries.values { entry.members.beginGroup(rowsMax: self.rowsPerTurn) }
    }

    func endGroup() {
        guard !self.entries.isEmpty else { return }
        var keys: [SubtreeKey] = []
        for (key, entry) in self.entries {
            entry.members.endGroup()
            if !entry.members.isComplete, !self.unread.contains(key) { keys.append(key) }
        }
        // Sorted, so that the order is the same in every run.
        for key in keys.sorted(by: { ($0.root.rawValue, $0.slot) < ($1.root.rawValue, $1.slot) }) {
            // No request waits for a scope without connections.
            if self.entries[key]?.unusedSince == nil { self.unread.append(key) } else { self.entries[key] = nil }
        }
    }

    func rollBackGroup() {
        for entry in self.entries.values { entry.members.rollBackGroup() }
    }

    /// Applies the results of a request of the open group: one transaction, or several for an undo.
    func take(_ results: [WriteResult], of request: WriteRequest) {
        guard !self.entries.isEmpty else { return }
        let all = self.entries.values.map(\.members)
        // A block contains any number of changes.
        let isAlone =
            results.count == 1 && results[0].changes.changedRows.count == 1 && results[0].changes.blockCount == 0
        for members in all { members.beginRequest(isAlone: isAlone) }
        do {
            for result in results { try self.take(result, of: request, all) }
        } catch {
            for members in all { members.lose() }
        }
        for members in all { members.endRequest() }
    }

    private func take(_ result: WriteResult, of request: WriteRequest, _ all: [ScopeMembers]) throws(StoreError) {
        guard let run = self.importedRun(result, request) else { return try self.take(result.changes, all) }
        for members in all where members.key.table == run.table && members.key.slot == run.slot {
            members.take(inserted: run.ids, below: run.owner)
        }
        self.take(repositions: result.changes, all)
    }

    /// Applies the changes of a record of another node. The store already contains all of them, so that they are one
    /// request here.
    func take(applied changes: [ChangeSet]) {
        guard !self.entries.isEmpty, !changes.isEmpty else { return }
        self.beginGroup()
        let all = self.entries.values.map(\.members)
        let isAlone = changes.count == 1 && changes[0].changedRows.count == 1 && changes[0].blockCount == 0
        for members in all { members.beginRequest(isAlone: isAlone) }
        do {
            for changes in changes { try self.take(changes, all) }
        } catch {
            for members in all { members.lose() }
        }
        for members in all { members.endRequest() }
        self.endGroup()
    }

    private func take(_ changes: ChangeSet, _ all: [ScopeMembers]) throws(StoreError) {
        let prepared = changes.prepared
        for members in all { members.take(prepared: prepared, isDeletion: changes.deletedCount > 0) }
        for object in changes.changedRows {
            guard let layout = self.store.layout[object.entity] else { continue }
            for members in all where members.key.table == layout.number {
                let owner = object.after?.values[members.key.slot]
                // An object with the same owner as before matters only while children are read in part: its position
                // may have changed.
                if let before = object.before, before.values[members.key.slot] == owner, !members.isPartlyRead {
                    continue
                }
                members.take(
                    object.id,
                    // There are objects below the topmost ones of a prepared write.
                    wasThere: object.before != nil || prepared.contains(object.id),
                    isThere: object.after != nil,
                    owner: owner?.referenceValue
                )
            }
        }
        // Of a prepared write only the topmost objects have other owners than objects of the same write.
        try self.store.forEachStreamed(changes, from: changes.preparedBlockCount) { change in
            guard let layout = self.store.layout[change.entity] else { return }
            for members in all where members.key.table == layout.number {
                members.take(
                    change.id,
                    wasThere: change.kind != .insert || prepared.contains(change.id),
                    isThere: change.kind != .delete,
                    owner: change.kind == .delete ? nil : change.owner(members.key.slot, layout)
                )
            }
        }
        self.take(repositions: changes, all)
    }

    private func take(repositions changes: ChangeSet, _ all: [ScopeMembers]) {
        for reposition in changes.repositions {
            guard let layout = self.store.layout[reposition.entity] else { continue }
            for members in all where members.key.table == layout.number {
                guard layout.slot(of: reposition.property) == members.key.slot else { continue }
                members.take(repositioned: reposition.id, below: reposition.owner)
            }
        }
    }

    private typealias ImportedRun = (ids: ClosedRange<Int64>, owner: ObjectID, table: EntityNumber, slot: Int)

    /// Returns the ids of an import. They are consecutive, and all objects are below the owner of the import, so they
    /// need not be checked one by one.
    private func importedRun(_ result: WriteResult, _ request: WriteRequest) -> ImportedRun? {
        guard case .importSubtree(let staged) = request.operation, let run = result.header.results.first,
            result.changes.insertedCount == run.count, run.count > 0, result.changes.updatedCount == 0,
            result.changes.deletedCount == 0, staged.request.placement.owner.rawValue > 0,
            let layout = self.store.layout[staged.request.entity],
            let slot = layout.slot(of: staged.request.placement.relationship)
        else { return nil }
        let first = run.first.rawValue
        let owner = ObjectID(staged.request.placement.owner.rawValue)
        return (first...(first + Int64(run.count) - 1), owner, layout.number, slot)
    }
}
