import NestModel

/// The rows of an outline, found by walking down from its source through all children.
struct NaiveShownRows {
    struct ShownRow: Hashable {
        var id: ObjectID
        var depth: Int
        /// The number of children that the predicate admits.
        var childCount: Int
        var isUnfolded: Bool

        /// The values of the two properties that only rows of outlines have.
        func value(_ property: PropertyNumber) -> AttributeValue? {
            switch property {
            case .outlineDepth: .integer(Int64(self.depth))
            case .outlineChildren: .integer(Int64(self.isUnfolded ? self.childCount : -1 - self.childCount))
            default: nil
            }
        }
    }

    let rows: [ShownRow]

    /// `children`: those of an object in the order of the relationship, whether they are admitted or not.
    init(
        below source: ObjectID,
        children: (ObjectID) -> [ObjectID],
        isAdmitted: (ObjectID) -> Bool,
        isUnfolded: (ObjectID) -> Bool
    ) {
        func admitted(_ id: ObjectID) -> [ObjectID] { children(id).filter(isAdmitted) }
        var rows: [ShownRow] = []
        // A stack, because the outline may be deeper than the thread's.
        var stack: [(id: ObjectID, depth: Int)] = admitted(source).reversed().map { ($0, 0) }
        while let (id, depth) = stack.popLast() {
            let below = admitted(id)
            rows.append(
                ShownRow(id: id, depth: depth, childCount: below.count, isUnfolded: isUnfolded(id))
            )
            if isUnfolded(id) { stack += below.reversed().map { ($0, depth + 1) } }
        }
        self.rows = rows
    }

    static func digest(_ rows: some Sequence<ObjectID>) -> ResultsDigest {
        let hash = ResultsDigest.sectionHash(.string(""))
        return rows.reduce(into: .empty) { $0.append(sectionHash: hash, object: $1) }
    }
}

/// The fold states of a view: those of the request, and what SET_EXPANDED has changed.
struct NaiveFolds {
    private(set) var expansion: OutlineExpansion
    private(set) var exceptions: Set<ObjectID>

    init(_ outline: FetchOutline) {
        self.expansion = outline.expansion
        self.exceptions = Set(outline.exceptions)
    }

    /// A subscription that RESUBSCRIBE changes may keep its states.
    mutating func resubscribe(_ outline: FetchOutline) {
        if outline.expansion != .asBefore { self = NaiveFolds(outline) }
    }

    /// `value`: the value of an object's attribute; null if there is no such object.
    func isUnfolded(_ id: ObjectID, _ value: (ObjectID, PropertyNumber) -> AttributeValue) -> Bool {
        self.isUnfoldedByDefault(id, value) != self.exceptions.contains(id)
    }

    private func isUnfoldedByDefault(
        _ id: ObjectID,
        _ value: (ObjectID, PropertyNumber) -> AttributeValue
    ) -> Bool {
        switch self.expansion {
        case .none, .asBefore: false
        case .all: true
        case .attribute(let property): value(id, property) == .boolean(true)
        }
    }

    mutating func set(_ states: [ExpandedState], _ value: (ObjectID, PropertyNumber) -> AttributeValue) {
        for state in states {
            if self.isUnfoldedByDefault(state.object, value) == state.isExpanded {
                self.exceptions.remove(state.object)
            } else {
                self.exceptions.insert(state.object)
            }
        }
    }
}
