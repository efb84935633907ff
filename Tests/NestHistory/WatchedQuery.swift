import NestModel

/// A fetch request of the runs, with a naive computation of its result.
public struct WatchedQuery: Hashable, Sendable, CustomStringConvertible {
    public enum Kind: String, Sendable, CaseIterable {
        /// All rows in list order.
        case whole
        /// The done rows, sorted by title.
        case filtered
        /// All rows, sorted by title, in sections by first letter.
        case sectioned
        /// All rows, sorted by title, with the title of the list in every row.
        case related
        /// All rows in list order with their notes, which may be long.
        case bulky
        /// Everything below the list, as an outline.
        case outline
    }

    public var kind: Kind
    public var list: ObjectID
    /// The window, or `nil` for all rows. For a window around an object, the first anchor.
    public var window: FetchWindow?
    /// The fold states and the filter; only of an outline.
    public var outline = WatchedOutline()
    /// The number of the last change of fold states that `outline` includes.
    public var foldNumber = 0

    /// An outline without a window has the window with its first 1,000 rows.
    public init(_ kind: Kind, of list: ObjectID, window: FetchWindow? = nil) {
        self.kind = kind
        self.list = list
        self.window = window
        if kind == .outline, window == nil { self.window = .range(offset: 0, limit: Limits.outlineWindowRowsMax) }
    }

    public var description: String {
        var text = "\(self.kind) \(self.list)\(self.window.map { " \($0)" } ?? "")"
        guard self.kind == .outline else { return text }
        text += self.outline.isUnfolded ? " unfolded" : " folded"
        if !self.outline.exceptions.isEmpty { text += " except \(self.outline.exceptions.sorted())" }
        return self.outline.hidesDone ? text + " without done rows" : text
    }

    /// The same query without a window.
    public var whole: WatchedQuery {
        var whole = self
        (whole.window, whole.foldNumber) = (nil, 0)
        return whole
    }

    public var request: ObjectFetchRequest {
        var request = self.wholeRequest
        request.window = self.window
        return request
    }

    private var wholeRequest: ObjectFetchRequest {
        let children = FetchSource(object: self.list, relationship: ListModel.children)
        let byTitle = [OrderingTerm(ListModel.title)]
        let parent = PropertyPath(steps: [ListModel.parent], leaf: .object)
        let isChild = FetchPredicate(Comparison(path: parent, operator: .equal, values: [.reference(self.list)]))
        switch self.kind {
        case .whole, .bulky:
            return ObjectFetchRequest(entity: ListModel.entity, source: children, projection: self.projection)
        case .filtered:
            let done = PropertyPath(leaf: .attribute(ListModel.done))
            let isDone = FetchPredicate(Comparison(path: done, operator: .equal, values: [.boolean(true)]))
            return ObjectFetchRequest(
                entity: ListModel.entity,
                projection: self.projection,
                sort: byTitle,
                predicate: isChild && isDone
            )
        case .sectioned:
            return ObjectFetchRequest(
                entity: ListModel.entity,
                source: children,
                projection: self.projection,
                sort: byTitle,
                section: SectionKey(.firstCharacter, of: ListModel.title)
            )
        case .related:
            return ObjectFetchRequest(
                entity: ListModel.entity,
                projection: self.projection,
                sort: byTitle,
                predicate: isChild,
                columns: [PropertyPath(steps: [ListModel.parent], leaf: .attribute(ListModel.title))]
            )
        case .outline:
            return ObjectFetchRequest(
                entity: ListModel.entity,
                source: children,
                projection: self.projection,
                predicate: self.outline.predicate,
                outline: self.outline.fetch
            )
        }
    }

    public var projection: [PropertyNumber] {
        switch self.kind {
        case .whole: [ListModel.title, ListModel.done, ListModel.parent]
        case .filtered: [ListModel.title]
        case .sectioned: [ListModel.title, ListModel.done]
        case .related: [ListModel.title, .computed(0)]
        case .bulky: [ListModel.title, ListModel.note]
        case .outline: [ListModel.title, .outlineChildren, .outlineDepth]
        }
    }

    /// Returns the complete result, without the window.
    public func sections(in world: ListWorld) -> [ResultsSection] {
        guard self.kind != .outline else {
            return [ResultsSection(key: .string(""), rows: self.outline.rows(below: self.list, in: world))]
        }
        let order = world.children[self.list] ?? []
        var found = order.compactMap { id in world.items[id].map { (id: id, item: $0) } }
        if self.kind == .filtered { found.removeAll { !$0.item.isDone } }
        if self.kind != .whole, self.kind != .bulky {
            found.sort { a, b in
                let order = a.item.title.byteOrder(to: b.item.title)
                return order == 0 ? a.id < b.id : order < 0
            }
        }
        let rows = found.map { Row(id: $0.id, values: self.values($0.item, world)) }
        guard self.kind == .sectioned else { return [ResultsSection(key: .string(""), rows: rows)] }
        var sections: [ResultsSection] = []
        for (row, found) in zip(rows, found) {
            let key = AttributeValue.string(String(found.item.title.unicodeScalars.prefix(1)))
            if sections.last?.key != key { sections.append(ResultsSection(key: key, rows: [])) }
            sections[sections.count - 1].rows.append(row)
        }
        return sections
    }

    private func values(_ item: ListWorld.Item, _ world: ListWorld) -> [AttributeValue] {
        switch self.kind {
        case .whole: [.string(item.title), .boolean(item.isDone), .reference(item.parent)]
        case .filtered: [.string(item.title)]
        case .sectioned: [.string(item.title), .boolean(item.isDone)]
        case .related: [.string(item.title), .string(world.title(of: self.list))]
        case .bulky, .outline: [.string(item.title), item.note.map { .string($0) } ?? .null]
        }
    }
}
