import NestLiveQuery
import NestModel
import NestProtocol
import NestSchema
import NestStore

/// Reads rows of an outline from the store: all that is unfolded below an object. Not recursive, whatever the depth.
struct OutlineReader {
    let source: OutlineSource
    let objects: ObjectReader
    let related: RelatedState
    /// The objects that may still be examined; then the read is postponed.
    private(set) var budget: Int
    /// The rows that the outline may still get.
    private(set) var roomLeft: Int
    /// Called after some objects: throws when the read takes too long.
    var check: () throws(StoreError) -> Void = {}
    /// Called with the bytes that the rows have grown by, after some rows.
    var grow: (_ bytes: Int) throws(StoreError) -> Void = { _ in }

    private var pages: ChildReader?

    private struct Child {
        var id: ObjectID
        var isExpanded: Bool
    }

    /// `room`: the rows that the outline may still get; `nil`: as many as it may have.
    init(_ source: OutlineSource, _ objects: ObjectReader, _ related: RelatedState, budget: Int, room: Int? = nil) {
        self.source = source
        self.objects = objects
        self.related = related
        self.budget = budget
        self.roomLeft = room ?? source.rowsMax
    }

    /// Returns the rows below an object that is shown and unfolded, and the number of its children. `skips`: leaves out
    /// a row with everything below it.
    mutating func rows(
        below id: ObjectID,
        depth: Int,
        skips: (ObjectID) -> Bool = { _ in false }
    ) throws(StoreError) -> (rows: [FlatTree.Entry], childCount: Int) {
        let children = try self.children(of: id)
        return (try self.preorder(children, depth: depth, skips), children.count)
    }

    /// Returns the row of an object, and what is unfolded below it.
    mutating func rows(
        of id: ObjectID,
        _ row: ObjectRow,
        depth: Int,
        skips: (ObjectID) -> Bool
    ) throws(StoreError) -> [FlatTree.Entry] {
        try self.preorder([Child(id: id, isExpanded: self.source.folds.isExpanded(id, row))], depth: depth, skips)
    }

    /// Returns the number of an object's children that the filter admits.
    mutating func childCount(of id: ObjectID) throws(StoreError) -> Int {
        try self.spend(1)
        guard !self.source.admitsAll else {
            // Counting is much cheaper than reading. A count that reaches the limit spends the rest of the budget.
            let limit = self.budget > .max / Self.countedPerObject ? Int.max : self.budget * Self.countedPerObject
            let count = try self.objects.count(referringTo: id, self.source.table, self.source.slot, limit: limit)
            try self.spend(count / Self.countedPerObject)
            return count
        }
        return try self.children(of: id).count
    }

    private static let countedPerObject = 16

    private static let rowsBetweenGrowth = 4_096
    /// The memory that a row takes while it is held.
    private static let rowBytes = 40

    private mutating func preorder(
        _ first: [Child],
        depth: Int,
        _ skips: (ObjectID) -> Bool
    ) throws(StoreError) -> [FlatTree.Entry] {
        var rows: [FlatTree.Entry] = []
        /// The rest of the children on the way down, each list reversed.
        var stack: [(children: [Child], depth: Int)] = [(first.reversed(), depth)]
        // Takes each child in place: a copy of the last level would copy its children again for each of them.
        while let last = stack.indices.last {
            let level = stack[last].depth
            guard let child = stack[last].children.popLast() else {
                stack.removeLast()
                continue
            }
            // A chain of only children takes no more memory than its end.
            if stack[last].children.isEmpty { stack.removeLast() }
            if skips(child.id) { continue }
            guard self.roomLeft > 0 else { throw self.source.tooManyRows }
            self.roomLeft -= 1
            var entry = FlatTree.Entry(
                id: child.id,
                depth: level,
                childCount: 0,
                isExpanded: child.isExpanded
            )
            if child.isExpanded {
                let children = try self.children(of: child.id)
                entry.childCount = children.count
                if !children.isEmpty { stack.append((children.reversed(), level + 1)) }
            } else {
                entry.childCount = try self.childCount(of: child.id)
            }
            rows.append(entry)
            if rows.count.isMultiple(of: Self.rowsBetweenGrowth) {
                try self.grow(Self.rowsBetweenGrowth * Self.rowBytes)
            }
        }
        try self.grow(rows.count % Self.rowsBetweenGrowth * Self.rowBytes)
        return rows
    }

    /// Returns the children of an object that the filter admits, in their order.
    private mutating func children(of id: ObjectID) throws(StoreError) -> [Child] {
        var children: [Child] = []
        guard self.source.needsRows else {
            try self.spend(1)
            let folds = self.source.folds
            var position: Int64?
            repeat {
                let page = try self.page(of: id, after: position)
                try self.spend(page.count)
                for child in page {
                    let isExpanded = folds.isExpanded != folds.exceptions.contains(child.id)
                    children.append(Child(id: child.id, isExpanded: isExpanded))
                }
                if page.count == Self.pageRows { try self.grow(page.count * MemoryLayout<Child>.stride) }
                position = page.count == Self.pageRows ? page.last?.position : nil
            } while position != nil
            return children
        }
        try self.spend(1)
        var found: [(position: Int64, child: Child)] = []
        let (source, related, check) = (self.source, self.related, self.check)
        var left = self.budget
        try self.objects.forEachCandidate(of: source.children(of: id)) { (child, position, row) throws(StoreError) in
            left -= 1
            guard left > 0 else { throw StoreError.postponed(.resultTooExpensive) }
            if left.isMultiple(of: Self.objectsBetweenChecks) { try check() }
            guard try source.admits(child, row, related) else { return }
            found.append((position, Child(id: child, isExpanded: source.folds.isExpanded(child, row))))
        }
        self.budget = left
        try self.grow(found.count * MemoryLayout<Child>.stride)
        found.sort { ($0.position, $0.child.id) < ($1.position, $1.child.id) }
        return found.map(\.child)
    }

    private mutating func page(of id: ObjectID, after position: Int64?) throws(StoreError) -> [(
        id: ObjectID, position: Int64
    )] {
        if self.pages == nil {
            let key = SubtreeKey(table: self.source.table, slot: self.source.slot, root: self.source.root)
            self.pages = ChildReader(self.objects, key)
        }
        return try self.pages?.page(of: id, after: position, limit: Self.pageRows) ?? []
    }

    private static let pageRows = 256

    /// Counts objects that are examined. Throws if they are too many.
    mutating func spend(_ count: Int) throws(StoreError) {
        self.budget -= count
        guard self.budget > 0 else { throw StoreError.postponed(.resultTooExpensive) }
        try self.check()
    }

    private static let objectsBetweenChecks = 1_024
}
