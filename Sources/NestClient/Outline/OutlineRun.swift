import NestModel

/// Adjacent rows that were inserted, removed or moved together, such as a sub-tree: what an animation moves as one
/// block. No row is in two runs of a change.
public struct OutlineRun: Hashable, Sendable {
    public enum Kind: Sendable {
        /// The rows come in: they are new, unfolded, or scrolled into the window.
        case inserted
        /// The rows leave: they are deleted, folded, or scrolled out of the window.
        case removed
        /// The rows have another position, all by the same distance.
        case moved
    }

    public let kind: Kind
    /// The index of the first row before the change; `nil`: inserted.
    public let oldIndex: Int?
    /// The index of the first row after the change; `nil`: removed.
    public let newIndex: Int?
    public let count: Int

    /// The rows before the change.
    public var oldRows: Range<Int>? { self.oldIndex.map { $0..<$0 + self.count } }
    /// The rows after the change.
    public var newRows: Range<Int>? { self.newIndex.map { $0..<$0 + self.count } }

    init(_ kind: Kind, oldIndex: Int? = nil, newIndex: Int? = nil, count: Int = 1) {
        self.kind = kind
        self.oldIndex = oldIndex
        self.newIndex = newIndex
        self.count = count
    }

    /// Returns the runs of a diff: first the removed ones by old index, then the moved and the inserted ones by new
    /// index. O(changed rows).
    public static func runs(of diff: ResultsDiff) -> [OutlineRun] {
        let removed = diff.deletedRows.map { OutlineRun(.removed, oldIndex: $0.path.row) }
        let moved = diff.moves.map { OutlineRun(.moved, oldIndex: $0.from.row, newIndex: $0.to.row) }
        let inserted = diff.insertedRows.map { OutlineRun(.inserted, newIndex: $0.path.row) }
        return [removed, moved, inserted].flatMap(Self.joined)
    }

    /// Joins rows of one kind, which are ordered by their position.
    private static func joined(_ rows: [OutlineRun]) -> [OutlineRun] {
        var runs: [OutlineRun] = []
        for row in rows {
            if let last = runs.last, last.oldRows?.upperBound == row.oldIndex, last.newRows?.upperBound == row.newIndex
            {
                runs[runs.count - 1] = OutlineRun(
                    last.kind,
                    oldIndex: last.oldIndex,
                    newIndex: last.newIndex,
                    count: last.count + row.count
                )
            } else {
                runs.append(row)
            }
        }
        return runs
    }
}
