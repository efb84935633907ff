import NestModel

/// The rows that an outline shows, at one revision: a value that later changes do not touch.
public struct OutlineState: Hashable, Sendable {
    /// A row of an outline.
    public struct Row: Hashable, Sendable, Identifiable {
        public let id: ObjectID
        /// The values of `OutlineState.projection`.
        public let values: [AttributeValue]
        /// 0 for the children of the object that the outline is below.
        public let depth: Int
        /// The number of children that the outline's predicate admits, shown or not.
        public let childCount: Int
        /// Whether its children are shown. A row without children has this state too: it counts when children come.
        public let isExpanded: Bool

        public var hasChildren: Bool { self.childCount > 0 }

        public init(id: ObjectID, values: [AttributeValue], depth: Int, childCount: Int, isExpanded: Bool) {
            self.id = id
            self.values = values
            self.depth = depth
            self.childCount = childCount
            self.isExpanded = isExpanded
        }
    }

    public let revision: Revision
    /// The properties of the rows' values. Depth and number of children are not among them.
    public let projection: [PropertyNumber]
    /// The rows of the window, from the top of the screen to the bottom.
    public let rows: [Row]
    /// The rows of the whole outline as it is unfolded now.
    public let total: Int
    /// The number of rows before the first of `rows`.
    public let start: Int
    /// The object that a window around an object follows now; `nil`: none, or a window by rows.
    public let anchor: ObjectID?

    /// The state before the first snapshot.
    static let empty = OutlineState(
        revision: Revision(0),
        projection: [],
        rows: [],
        total: 0,
        start: 0,
        anchor: nil
    )

    private init(
        revision: Revision,
        projection: [PropertyNumber],
        rows: [Row],
        total: Int,
        start: Int,
        anchor: ObjectID?
    ) {
        self.revision = revision
        self.projection = projection
        self.rows = rows
        self.total = total
        self.start = start
        self.anchor = anchor
    }

    /// `nil`: the state is none of an outline.
    public init?(_ state: SectionedSnapshot) {
        guard let window = state.window, let depth = state.projection.firstIndex(of: .outlineDepth),
            let children = state.projection.firstIndex(of: .outlineChildren)
        else { return nil }
        let kept = state.projection.indices.filter { $0 != depth && $0 != children }
        var rows: [Row] = []
        rows.reserveCapacity(state.total)
        for row in state.sections.flatMap(\.rows) {
            guard case .integer(let level) = row.values[depth], case .integer(let count) = row.values[children],
                level >= 0, let level = Int(exactly: level)
            else { return nil }
            rows.append(
                Row(
                    id: row.id,
                    values: kept.map { row.values[$0] },
                    depth: level,
                    childCount: Int(count < 0 ? -1 - count : count),
                    isExpanded: count >= 0
                )
            )
        }
        self.init(
            revision: state.revision,
            projection: kept.map { state.projection[$0] },
            rows: rows,
            total: window.total,
            start: window.start.row,
            anchor: window.anchor
        )
    }

    /// Returns the index in `rows` of an object: O(n).
    public func index(of id: ObjectID) -> Int? { self.rows.firstIndex { $0.id == id } }

    /// Returns the indexes of the rows below a row, as far as they are in the window: O(n).
    public func descendants(ofRowAt index: Int) -> Range<Int> {
        let depth = self.rows[index].depth
        let end = self.rows[(index + 1)...].firstIndex { $0.depth <= depth } ?? self.rows.endIndex
        return index + 1..<end
    }

    /// Returns the index of the row's parent: O(n). `nil` if the row has depth 0, or its parent is before the window.
    public func parentIndex(ofRowAt index: Int) -> Int? {
        let depth = self.rows[index].depth
        return self.rows[..<index].lastIndex { $0.depth == depth - 1 }
    }
}
