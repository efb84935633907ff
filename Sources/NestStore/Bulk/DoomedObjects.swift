import NestModel
import NestSchema

/// What a cascade has still to delete: groups of siblings, the last group first, each from its first sibling to its last.
/// Memory is bounded; for an object that is to go eight bytes may wait in a file.
final class DoomedObjects {
    struct Next {
        /// Which of the graph's tables it is in.
        var table: Int
        var id: ObjectID
        /// The place by which it was reached with all that stand there, and its neighbours among them.
        var reached: (place: Int, neighbours: Neighbours)?
    }

    /// For each group its ids, the first on top, and a header: how many there are, the one that went before them, the place
    /// and the table.
    private let stack: SpilledStack
    private static let nobody: Int64 = 0
    private static let noPlace: Int64 = -1

    init(_ memory: BulkMemory) {
        self.stack = SpilledStack(memory)
    }

    func push(_ id: ObjectID, table: Int) throws(StoreError) {
        try self.stack.push(id.rawValue)
        try self.pushHeader(count: 1, previous: Self.nobody, place: Self.noPlace, table: Int64(table))
    }

    /// Adds siblings. `forEachReversed` calls its body with them from the last to the first; `place`: when they are all that
    /// stand there.
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
            previous: Self.nobody,
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
                left: previous == Self.nobody ? nil : ObjectID(previous),
                right: next.map { ObjectID($0) }
            )
            popped.reached = (Int(place), neighbours)
        }
        return popped
    }
}
