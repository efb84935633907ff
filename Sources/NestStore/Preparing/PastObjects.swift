import NestModel
import NestProtocol
import NestSchema

/// The objects that a past transaction inserted, or those that it deleted, found part by part.
///
/// Only a transaction that did nothing else, with objects in plain trees, can be taken back by a prepared write.
struct PastObjects {
    private let past: PastTransaction
    private let kind: ObjectChange.Kind
    private let layout: ModelLayout
    private var part = 0
    private var hasIDs = false
    private(set) var ids = IDRuns()
    /// The objects that are not below others of the transaction.
    private(set) var tops: [ObjectChange] = []
    private(set) var topIDs: Set<ObjectID> = []
    /// The objects read in the second pass, and those that others referred to before: these must be topmost ones, which
    /// are restored first.
    private var seen = IDRuns()
    private var awaited: Set<ObjectID> = []

    init(_ past: PastTransaction, _ kind: ObjectChange.Kind, _ layout: ModelLayout) {
        self.past = past
        self.kind = kind
        self.layout = layout
    }

    /// Reads the next part, first of the ids, then of the topmost objects: they may be in any part.
    mutating func read(_ check: (ObjectChange) throws(StoreError) -> Bool) throws(StoreError) -> Preparation.State {
        guard let changes = try self.past.part(self.part) else {
            guard self.hasIDs else {
                (self.hasIDs, self.part) = (true, 0)
                return .open
            }
            return self.tops.isEmpty || !self.awaited.isSubset(of: self.topIDs) ? .impossible : .done
        }
        self.part += 1
        for change in changes {
            guard change.kind == self.kind else { return .impossible }
            if self.hasIDs {
                guard self.noteTop(change) else { return .impossible }
            } else {
                guard try check(change), self.isInTree(change), self.ids.insert(change.id) else { return .impossible }
            }
        }
        return .open
    }

    private func isInTree(_ change: ObjectChange) -> Bool {
        guard let index = self.layout.index(of: change.entity) else { return false }
        return self.layout.cascadesAsTree[index] && self.layout.entities[index].uniquenesses.isEmpty
    }

    /// Notes an object if it is not below others. Returns `false` if the transaction must be taken back as one piece.
    private mutating func noteTop(_ change: ObjectChange) -> Bool {
        let references = self.references(change)
        let insideCount = references.count { self.ids.contains($0) }
        guard insideCount == 0 else {
            if self.kind == .delete { for id in references where !self.seen.contains(id) { self.awaited.insert(id) } }
            _ = self.seen.insert(change.id)
            guard max(self.awaited.count, self.seen.runs.count) <= Limits.preparedTopsMax else { return false }
            // An object refers to older ones only: so the rows can be removed from the greatest id to the least.
            return insideCount == references.count && references.allSatisfy { $0 < change.id }
        }
        guard self.tops.count < Limits.preparedTopsMax else { return false }
        self.tops.append(change)
        self.topIDs.insert(change.id)
        return true
    }

    private func references(_ change: ObjectChange) -> [ObjectID] {
        let isInsert = change.kind == .insert
        let values = change.values.compactMap { (isInsert ? $0.after : $0.before).referenceValue }
        return values + change.placings.compactMap { (isInsert ? $0.after : $0.before)?.owner }
    }
}
