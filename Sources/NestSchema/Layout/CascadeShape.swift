import NestModel

/// What deletions reach in a model: found once, from the delete rules alone.
struct CascadeShape {
    private let tables: [EntityLayout]
    /// By table: the tables that its to-many relationships lead to, one for each relationship.
    private let below: [[Int]]

    /// `indexes`: by entity number, which of `tables`.
    init(_ tables: [EntityLayout], _ indexes: [Int]) {
        self.tables = tables
        self.below = tables.map { table in table.toMany.map { indexes[Int($0.destination.rawValue)] } }
    }

    /// By table: whether what is reached from one of its objects is always a tree, and nothing else changes.
    var trees: [Bool] { self.tables.indices.map(self.isTree) }

    private func isTree(_ top: Int) -> Bool {
        var reached: Set<Int> = [top]
        var waiting = [top]
        // Relationships that lead to each table: by a second one an object could be reached twice.
        var ways: [Int: Int] = [:]
        while let table = waiting.popLast() {
            guard self.isPlain(self.tables[table]) else { return false }
            for next in self.below[table] {
                ways[next, default: 0] += 1
                guard ways[next] == 1 else { return false }
                // To itself: a hierarchy, which never runs in circles. Back to the top by others, it might.
                guard next != top || table == top else { return false }
                if reached.insert(next).inserted { waiting.append(next) }
            }
        }
        return true
    }

    /// Everything that its objects own goes with them, and nobody else notices.
    private func isPlain(_ table: EntityLayout) -> Bool {
        guard !table.isJoin, table.manyToMany.isEmpty, table.partnerSlots.allSatisfy({ $0 < 0 }) else { return false }
        let keepsOthers = table.slots.allSatisfy { slot in
            if case .toOne(let relationship, _) = slot { relationship.deleteRule == .nullify } else { true }
        }
        return keepsOthers && table.toMany.allSatisfy { $0.relationship.deleteRule == .cascade }
    }
}
