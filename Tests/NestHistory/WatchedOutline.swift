import NestModel

/// The fold states and the filter of a watched outline.
public struct WatchedOutline: Hashable, Sendable {
    /// The state of the objects that are no exceptions.
    public var isUnfolded: Bool
    public var exceptions: Set<ObjectID>
    /// Whether done rows are hidden, with all that is below them.
    public var hidesDone: Bool

    public init(isUnfolded: Bool = true, exceptions: Set<ObjectID> = [], hidesDone: Bool = false) {
        self.isUnfolded = isUnfolded
        self.exceptions = exceptions
        self.hidesDone = hidesDone
    }

    public var fetch: FetchOutline { FetchOutline(self.isUnfolded ? .all : .none, exceptions: Array(self.exceptions)) }

    public var predicate: FetchPredicate {
        let done = PropertyPath(leaf: .attribute(ListModel.done))
        return self.hidesDone
            ? FetchPredicate(Comparison(path: done, operator: .equal, values: [.boolean(false)])) : .everything
    }

    public mutating func set(_ states: [ExpandedState]) {
        for state in states {
            if state.isExpanded == self.isUnfolded {
                self.exceptions.remove(state.object)
            } else {
                self.exceptions.insert(state.object)
            }
        }
    }

    /// Returns all rows below an object, found by walking down from it.
    func rows(below source: ObjectID, in world: ListWorld) -> [Row] {
        func admitted(_ parent: ObjectID) -> [ObjectID] {
            (world.children[parent] ?? []).filter { !self.hidesDone || world.items[$0]?.isDone == false }
        }
        var rows: [Row] = []
        var stack = admitted(source).reversed().map { (id: $0, depth: 0) }
        while let (id, depth) = stack.popLast() {
            let below = admitted(id)
            let isUnfolded = self.isUnfolded != self.exceptions.contains(id)
            rows.append(
                Row(
                    id: id,
                    values: [
                        .string(world.title(of: id)), .integer(Int64(isUnfolded ? below.count : -1 - below.count)),
                        .integer(Int64(depth)),
                    ]
                )
            )
            if isUnfolded { stack += below.reversed().map { ($0, depth + 1) } }
        }
        return rows
    }
}
