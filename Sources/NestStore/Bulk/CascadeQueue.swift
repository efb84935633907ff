import NestModel
import NestSchema

/// The objects that a cascade still has to delete, in groups of siblings: the last group first, each group from its
/// first sibling to its last. Memory is bounded: beyond the bound each object takes eight bytes in a file.
final class CascadeQueue {
    struct Next {
        /// The index of its table in the graph.
        var table: Int
        var id: ObjectID
        /// The ordered relationship by which the cascade reached the object together with all its siblings, and its
        /// neighbours among them.
        var reached: (place: Int, neighbours: Neighbours)?
    }

    /// For each group its ids, the first id on top, and on top of them a header: their count, the sibling before them,
    /// the ordered relationship and the table.
    private let stack: SpilledStack
    private static let noSibling: Int64 = 0
    private static let noPlace: Int64 = -1

    init(_ memory: BulkMemory) {
        self.stack = SpilledStack(memory)
    }

    func push(_ id: ObjectID, table: Int) throws(StoreError) {
        try self.stack.push(id.rawValue)
        try self.pushHeader(count: 1, previous: Self.noSibling, place: Self.noPlace, table: Int64(table))
    }

    /// Adds siblings. `forEachReversed` calls its body with them from the last to the first. `place`: the ordered
    /// relationship, if they are all of its objects.
    func push(
        table: Int,
        place: Int?,
        forEachReversed: ((ObjectID) throws(StoreError) -> Void) throws(StoreError) -> Void
    ) throws(StoreError) {
        var count: Int64 = 0
        try forEachReversed { (id) throws(StoreError) in
            try self.stack.push(id.rawValue)
            count += 1
        }
        guard count > 0 else { return }
        try self.pushHeader(
            count: count,
            previous: Self.noSibling,
            place: place.map(Int64.init) ?? Self.noPlace,
            table: Int64(table)
        )
    }

    private func pushHeader(count: Int64, previous: Int64, place: Int64, table: Int64) throws(StoreError) {
        for number in [table, place, previous, count] { try self.stack.push(number) }
    }

    func pop() throws(StoreError) -> Next? {
        guard let count = try self.stack.pop(), let previous = try self.stack.pop(), let place = try self.stack.pop(),
            let table = try self.stack.pop(), let id = try self.stack.pop()
        else { return nil }
        var next: Int64?
        if count > 1 {
            next = try self.stack.pop()
            if let next { try self.stack.push(next) }
            try self.pushHeader(count: count - 1, previous: id, place: place, table: table)
        }
        var popped = Next(table: Int(table), id: ObjectID(id))
        if place != Self.noPlace {
            let neighbours = Neighbours(
                left: previous == Self.noSibling ? nil : ObjectID(previous),
                right: next.map { ObjectID($0) }
            )
            popped.reached = (Int(place), neighbours)
        }
        return popped
    }
}
