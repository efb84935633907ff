import NestModel

/// The objects that deletions reach in a model, computed once from the delete rules.
struct CascadeShape {
    private let tables: [EntityLayout]
    /// By table: the tables of its to-many relationships, one for each relationship.
    private let below: [[Int]]

    /// `indexes`: the index in `tables` by entity number.
    init(_ tables: [EntityLayout], _ indexes: [Int]) {
        self.tables = tables
        self.below = tables.map { table in table.toMany.map { indexes[Int($0.destination.rawValue)] } }
    }

    /// By table: whether the objects reached from one of its objects always form a tree, and nothing else changes.
    var trees: [Bool] { self.tables.indices.map(self.isTree) }

    private func isTree(_ top: Int) -> Bool {
        var reached: Set<Int> = [top]
        var waiting = [top]
        // The number of relationships to each table: by a second one an object could be reached twice.
        var ways: [Int: Int] = [:]
        while let table = waiting.popLast() {
            guard self.isPlain(self.tables[table]) else { return false }
            for next in self.below[table] {
                ways[next, default: 0] += 1
                guard ways[next] == 1 else { return false }
                // A relationship of the top to itself is a hierarchy and has no cycles; one back to the top from
                // another table may have.
                guard next != top || table == top else { return false }
                if reached.insert(next).inserted { waiting.append(next) }
            }
        }
        return true
    }

    /// Whether deleting an object of the table deletes everything that it owns, and changes no other object.
    private func isPlain(_ table: EntityLayout) -> Bool {
        // Each large value that a deletion frees is a change too.
        guard !table.isJoin, table.largeSlots.isEmpty, table.manyToMany.isEmpty,
            table.partnerSlots.allSatisfy({ $0 < 0 })
        else { return false }
        let keepsOthers = table.slots.allSatisfy { slot in
            if case .toOne(let relationship, _) = slot { relationship.deleteRule == .nullify } else { true }
        }
        return keepsOthers && table.toMany.allSatisfy { $0.relationship.deleteRule == .cascade }
    }
}
