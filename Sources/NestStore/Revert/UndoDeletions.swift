import NestModel
import NestSchema

/// All objects that a forced undo will delete, found before the first write: those that its entry inserted, and those
/// that delete rules now reach from there. The undo restores nothing under them.
///
/// The rules are followed in the current graph, without the objects that the undo moves out. An object that would go
/// back to an owner that is deleted stays where it is; if a rule reaches it there, it is deleted too.
final class UndoDeletions {
    /// The owner that an object had in one relationship before a transaction of the entry; `nil`: none.
    struct Move {
        /// The index of the transaction, counted from the newest.
        var order: Int
        var owner: ObjectID?
        var table: EntityTable
        var past: PastTransaction
    }

    /// An object that a delete rule leads to.
    struct Edge {
        var table: EntityTable
        var id: ObjectID
        /// Its slot that holds the relationship; `nil`: another object holds it.
        var slot: Int?
        /// The transaction whose revert follows the rule.
        var order: Int
    }

    /// The objects that the entry inserted.
    let inserted: ObjectIDSet
    /// The objects that the entry deleted: they are restored.
    let deleted: ObjectIDSet
    private let reached: ObjectIDSet
    let queue: CascadeQueue
    private var moves: [RevertPlan.SlotKey: [Move]] = [:]
    /// Objects that the undo moves to an owner that stays, by this owner.
    private var leaving: [ObjectID: [Edge]] = [:]
    /// Objects whose new owner turned out to be deleted: they are examined again.
    private var open: [Edge] = []
    /// The transactions whose revert moves an object, in one relationship, to an owner that stays, or to none.
    private var possibleMoves: [RevertPlan.SlotKey: [Int]] = [:]
    /// The objects that the revert of each transaction deletes.
    private let byTransaction: [ObjectIDSet]
    private let revisions: [Revision]

    init(_ transactions: [PastTransaction], _ memory: BulkMemory) {
        self.revisions = transactions.map(\.revision)
        self.byTransaction = transactions.map { _ in ObjectIDSet(memory) }
        self.inserted = ObjectIDSet(memory)
        self.deleted = ObjectIDSet(memory)
        self.reached = ObjectIDSet(memory)
        self.queue = CascadeQueue(memory)
    }

    func contains(_ id: ObjectID) throws(StoreError) -> Bool {
        if try self.inserted.contains(id) { return true }
        return try self.reached.contains(id)
    }

    func addMove(_ key: RevertPlan.SlotKey, _ move: Move) { self.moves[key, default: []].append(move) }

    /// Returns the moves of an object, the newest transaction first, up to the transaction `order`.
    func moves(_ key: RevertPlan.SlotKey, upTo order: Int) -> [Move] {
        self.moves[key]?.filter { $0.order <= order } ?? []
    }

    func addLeaving(_ edge: Edge, to owner: ObjectID) { self.leaving[owner, default: []].append(edge) }

    func insert(_ id: ObjectID, order: Int) throws(StoreError) {
        try self.inserted.insert(id)
        try self.byTransaction[order].insert(id)
    }

    func reach(_ edge: Edge, table: Int) throws(StoreError) {
        let id = edge.id
        guard try !self.contains(id) else { return }
        try self.reached.insert(id)
        try self.byTransaction[edge.order].insert(id)
        try self.queue.push(id, table: table)
        self.open += self.leaving.removeValue(forKey: id) ?? []
    }

    func nextOpen() -> Edge? { self.open.popLast() }

    /// Whether the undo moves an object away from an owner that it deletes: after it has reverted the transaction
    /// `revision`, and before it deletes the owner.
    func moves(_ key: RevertPlan.SlotKey, awayFrom owner: ObjectID, after revision: Revision) throws(StoreError) -> Bool
    {
        guard let moves = self.possibleMoves[key], let order = self.revisions.firstIndex(of: revision) else {
            return false
        }
        for (last, deleted) in self.byTransaction.enumerated() where try deleted.contains(owner) {
            return moves.contains { $0 > order && $0 <= last }
        }
        return false
    }

    /// Ends the search. `isPossible`: whether a move leads to an owner that stays.
    func finish(_ isPossible: (RevertPlan.SlotKey, Move) throws(StoreError) -> Bool) throws(StoreError) {
        for (key, moves) in self.moves {
            var orders: [Int] = []
            for move in moves where try isPossible(key, move) { orders.append(move.order) }
            self.possibleMoves[key] = orders
        }
        (self.moves, self.leaving) = ([:], [:])
    }

    func discard() throws(StoreError) {
        for set in [self.inserted, self.deleted, self.reached] + self.byTransaction { try set.discard() }
    }
}

extension ObjectGraph {
    /// Finds the objects that a forced undo of these transactions, the newest first, will delete. Call it before the
    /// first of them is reverted. O(changed objects and objects that delete rules reach). Does nothing for an entry
    /// that only inserted objects, because its undo restores nothing.
    package func prepare(_ transactions: [PastTransaction], _ context: UndoContext) throws(StoreError) {
        guard !context.isPrepared else { return }
        context.isPrepared = true
        guard context.options.policy == .force else { return }
        var (inserts, changes) = (false, false)
        for transaction in transactions where !inserts || !changes {
            try transaction.forEach { (change) throws(StoreError) in
                if change.kind != .insert {
                    changes = true
                } else if try !self.table(change.entity).layout.isJoin {
                    inserts = true
                }
            }
        }
        guard inserts, changes else { return }
        let deletions = UndoDeletions(transactions, self.memory)
        for (order, transaction) in transactions.enumerated() {
            try transaction.forEach { (change) throws(StoreError) in
                try self.survey(change, transaction, order, deletions)
            }
        }
        for (order, transaction) in transactions.enumerated() {
            try transaction.forEach { (change) throws(StoreError) in
                guard change.kind == .insert else { return }
                let table = try self.table(change.entity)
                guard !table.layout.isJoin, let row = try table.row(change.id) else { return }
                let rehomes = context.options.rehomes
                try deletions.queue.push(change.id, table: self.index(of: table))
                for slot in self.reassigned(change, row, table.layout) {
                    try self.follow(slot, of: row, table, order, deletions, rehomes: rehomes)
                }
                try self.follow(deletions, order, rehomes: rehomes)
            }
        }
        let rehomes = context.options.rehomes
        try deletions.finish { (key, move) throws(StoreError) in
            guard let owner = move.owner else { return true }
            return try self.owner(owner, move.table, key.slot, move.past, deletions, rehomes: rehomes) != nil
        }
        context.deletions = deletions
    }

    private func survey(
        _ change: ObjectChange,
        _ past: PastTransaction,
        _ order: Int,
        _ deletions: UndoDeletions
    ) throws(StoreError) {
        let table = try self.table(change.entity)
        let layout = table.layout
        switch change.kind {
        case .insert: try deletions.insert(change.id, order: order)
        case .delete: try deletions.deleted.insert(change.id)
        case .update:
            guard !layout.isJoin else { return }
            func add(_ slot: Int, _ owner: ObjectID?) {
                let move = UndoDeletions.Move(order: order, owner: owner, table: table, past: past)
                deletions.addMove(.init(id: change.id, slot: slot), move)
            }
            for value in change.values {
                if case .toOne = layout.slots[value.slot] { add(value.slot, value.before.referenceValue) }
            }
            for placing in change.placings { add(layout.placedSlots[placing.place], placing.before?.owner) }
        }
    }

    /// Follows the delete rules from the objects in the queue.
    private func follow(_ deletions: UndoDeletions, _ order: Int, rehomes: Bool) throws(StoreError) {
        while true {
            if let edge = deletions.nextOpen() {
                try self.follow(edge, deletions, rehomes: rehomes)
                continue
            }
            guard let next = try deletions.queue.pop() else { return }
            let table = self.tables[next.table]
            guard let row = try table.row(next.id) else { continue }
            func follow(_ table: EntityTable, _ id: ObjectID, _ slot: Int?) throws(StoreError) {
                let edge = UndoDeletions.Edge(table: table, id: id, slot: slot, order: order)
                try self.follow(edge, deletions, rehomes: rehomes)
            }
            for toMany in table.layout.toMany where toMany.relationship.deleteRule == .cascade {
                let destination = try self.table(toMany.destination)
                try destination.forEach(ofOwner: next.id, slot: toMany.inverseSlot) { (id, _) throws(StoreError) in
                    try follow(destination, id, toMany.inverseSlot)
                }
            }
            for pairs in table.layout.manyToMany where pairs.relationship.deleteRule == .cascade {
                let join = try self.table(pairs.join)
                let destination = try self.table(pairs.destination)
                try join.forEach(ofOwner: next.id, slot: pairs.ownerSlot) { (pair, _) throws(StoreError) in
                    guard try !deletions.inserted.contains(pair),
                        let target = try join.row(pair)?.values.reference(pairs.targetSlot)
                    else { return }
                    try follow(destination, target, nil)
                }
            }
            // Targets that the entry gave to an inserted object are not followed.
            guard try !deletions.inserted.contains(next.id) else { continue }
            for slot in table.layout.slots.indices {
                try self.follow(slot, of: row, table, order, deletions, rehomes: rehomes)
            }
        }
    }

    /// Follows the rule of a to-one slot.
    private func follow(
        _ slot: Int,
        of row: ObjectRow,
        _ table: EntityTable,
        _ order: Int,
        _ deletions: UndoDeletions,
        rehomes: Bool
    ) throws(StoreError) {
        guard case .toOne(let relationship, _) = table.layout.slots[slot], relationship.deleteRule == .cascade,
            let target = row.values.reference(slot)
        else { return }
        let partnerSlot = table.layout.partnerSlots[slot]
        let edge = UndoDeletions.Edge(
            table: try self.table(relationship.destination),
            id: target,
            slot: partnerSlot >= 0 ? partnerSlot : nil,
            order: order
        )
        try self.follow(edge, deletions, rehomes: rehomes)
    }

    /// Adds the object, unless the undo moves it to an owner that stays.
    private func follow(_ edge: UndoDeletions.Edge, _ deletions: UndoDeletions, rehomes: Bool) throws(StoreError) {
        guard try !deletions.contains(edge.id) else { return }
        if let slot = edge.slot {
            let key = RevertPlan.SlotKey(id: edge.id, slot: slot)
            // The oldest transaction is reverted last.
            for move in deletions.moves(key, upTo: edge.order).reversed() {
                guard let owner = move.owner else { return }
                guard let stays = try self.owner(owner, edge.table, slot, move.past, deletions, rehomes: rehomes) else {
                    continue
                }
                return deletions.addLeaving(edge, to: stays)
            }
        }
        try deletions.reach(edge, table: self.index(of: edge.table))
    }

    /// Returns the owner to which an object goes back: its old owner if that stays, otherwise the nearest object above
    /// it that stays.
    private func owner(
        _ owner: ObjectID,
        _ table: EntityTable,
        _ slot: Int,
        _ past: PastTransaction,
        _ deletions: UndoDeletions,
        rehomes: Bool
    ) throws(StoreError) -> ObjectID? {
        guard case .toOne(let relationship, _) = table.layout.slots[slot] else { return nil }
        let owners = try self.table(relationship.destination)
        func stays(_ id: ObjectID) throws(StoreError) -> Bool {
            if try deletions.contains(id) { return false }
            if try deletions.deleted.contains(id) { return true }
            return try owners.exists(id)
        }
        if try stays(owner) { return owner }
        guard rehomes, self.isHierarchy(table, slot) else { return nil }
        return try self.owner(above: owner, table, slot, past, stays)
    }
}
