/// Sorts items that name their parents into preorder. Siblings keep their order.
///
/// Holds all items in memory until the last has arrived, up to two limits.
struct ParentOrder: Sendable {
    static let itemsMax = 1_000_000
    static let bytesMax = 256 << 20

    private struct Item: Sendable {
        var row: OutlineRow
        var parent: String?
        var line: Int
        /// Indexes of other items; -1 for none.
        var firstChild = -1
        var lastChild = -1
        var next = -1
    }

    private var items: [Item] = []
    private var indexes: [String: Int] = [:]
    private var byteCount = 0

    mutating func append(_ row: OutlineRow, id: String?, parent: String?, line: Int) throws(FormatError) {
        self.byteCount += row.title.utf8.count + (row.note?.utf8.count ?? 0) + (row.extra?.utf8.count ?? 0)
        guard self.items.count < Self.itemsMax, self.byteCount <= Self.bytesMax else {
            let limit = "\(Self.itemsMax) items or \(Self.bytesMax >> 20) MiB"
            throw FormatError(
                line: line,
                column: 1,
                "more than \(limit) that name their parents; use depths instead, which need no memory"
            )
        }
        if let id, self.indexes.updateValue(self.items.count, forKey: id) != nil {
            throw FormatError(line: line, column: 1, "a second item with the id \(id)")
        }
        self.items.append(Item(row: row, parent: parent?.isEmpty == true ? nil : parent, line: line))
    }

    consuming func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        let first = try self.link()
        var path: [Int] = []
        var next = first
        let start = rows.count
        while true {
            while next < 0, let last = path.popLast() { next = self.items[last].next }
            guard next >= 0 else { break }
            var row = self.items[next].row
            row.depth = path.count
            try row.check(at: TextLocation(line: self.items[next].line))
            rows.append(row)
            path.append(next)
            next = self.items[next].firstChild
        }
        guard rows.count - start < self.items.count else { return }
        // An item that is not below the top is in a cycle, or below one.
        throw FormatError(line: self.lineOfCycle(), column: 1, "the item is its own ancestor; correct its parent")
    }

    /// Links siblings and children; returns the first item at the top.
    private mutating func link() throws(FormatError) -> Int {
        var (first, last) = (-1, -1)
        for index in self.items.indices {
            guard let parent = self.items[index].parent else {
                if last >= 0 { self.items[last].next = index } else { first = index }
                last = index
                continue
            }
            guard let above = self.indexes[parent] else {
                throw FormatError(line: self.items[index].line, column: 1, "its parent \(parent) is not in the file")
            }
            let previous = self.items[above].lastChild
            if previous >= 0 { self.items[previous].next = index } else { self.items[above].firstChild = index }
            self.items[above].lastChild = index
        }
        return first
    }

    /// The line of an item that is its own ancestor.
    private func lineOfCycle() -> Int {
        // The number of the walk that visited each item; 0 for none.
        var walks = [Int](repeating: 0, count: self.items.count)
        for start in self.items.indices {
            var index = start
            while walks[index] == 0 {
                walks[index] = start + 1
                guard let parent = self.items[index].parent, let above = self.indexes[parent] else { break }
                index = above
                if walks[index] == start + 1 { return self.items[index].line }
            }
        }
        return 0
    }
}
