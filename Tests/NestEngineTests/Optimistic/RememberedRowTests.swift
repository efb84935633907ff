import NestModel
import NestOverlay
import NestProtocol
import NestTestSupport
import Testing

/// Rows that one pending write takes out of a list, and a later one puts back.
@Suite struct RememberedRowTests {
    private let model: ManagedObjectModel
    private let node: EntityDescription
    private let root = ObjectID(1)
    private let view = OptimisticViews.ID(1)

    init() throws {
        self.model = try ModelDraft.tree.compile()
        self.node = try #require(self.model.entities.first { $0.name == "Node" })
    }

    private func number(_ name: String) -> PropertyNumber { self.node.propertyNumber(named: name)! }

    private var children: FetchSource { FetchSource(object: self.root, relationship: self.number("children")) }

    /// The children of the root that are not done.
    private func list(
        sort: [OrderingTerm] = [],
        section: SectionKey? = nil,
        window: FetchWindow? = nil
    ) throws -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: self.node.number,
            source: self.children,
            projection: [self.number("title")],
            sort: sort,
            predicate: try FetchPredicate("done == FALSE", of: self.node, in: self.model),
            section: section,
            window: window
        ).canonical(in: self.model).widened(in: self.model)
    }

    /// The orders that a list may have.
    enum Order: CaseIterable {
        case ofTheOwner
        case sorted
        /// In a section for each first letter.
        case sections
        /// By a count that the rows do not have: the client does not know it.
        case unknown
    }

    private func list(_ order: Order, window: FetchWindow? = nil) throws -> ObjectFetchRequest {
        let title = OrderingTerm(self.number("title"))
        switch order {
        case .ofTheOwner: return try self.list(window: window)
        case .sorted: return try self.list(sort: [title], window: window)
        case .sections:
            let section = SectionKey(.firstCharacter, of: self.number("title"))
            return try self.list(sort: [title], section: section, window: window)
        case .unknown:
            let count = PropertyPath(leaf: .count(self.number("children")))
            return try self.list(sort: [OrderingTerm(key: .path(count))], window: window)
        }
    }

    private var outline: ObjectFetchRequest {
        ObjectFetchRequest(
            entity: self.node.number,
            source: self.children,
            projection: [self.number("title")],
            window: .range(offset: 0, limit: 100),
            outline: FetchOutline(.all, exceptions: [ObjectID(3)])
        ).canonical(in: self.model).widened(in: self.model)
    }

    private struct Node {
        let id: Int64
        var title: String
        var parent: Int64 = 1
        var depth: Int64 = 0
        var children: Int64 = 0

        init(_ id: Int64, _ title: String, parent: Int64 = 1, depth: Int64 = 0, children: Int64 = 0) {
            self.id = id
            self.title = title
            self.parent = parent
            self.depth = depth
            self.children = children
        }
    }

    /// `total`, `start`: of the whole result, and the first row of the window in it.
    private func state(
        _ request: ObjectFetchRequest,
        at revision: UInt64,
        _ nodes: [Node],
        total: Int? = nil,
        start: Int = 0
    ) -> OverlayView {
        let rows = nodes.map { node in
            let values = request.projection.map { property -> AttributeValue in
                switch property {
                case .outlineChildren: .integer(node.children)
                case .outlineDepth: .integer(node.depth)
                case self.number("title"): .string(node.title)
                case self.number("parent"): .reference(ObjectID(node.parent))
                default: .boolean(false)
                }
            }
            return Row(id: ObjectID(node.id), values: values)
        }
        let window = WindowPosition(
            total: total ?? rows.count,
            sectionTotal: 1,
            start: WindowStart(row: start, section: 0, rowInSection: start)
        )
        let sections =
            request.section == nil
            ? [ResultsSection(key: .string(""), rows: rows)]
            : zip(nodes, rows).map { ResultsSection(key: .string(String($0.title.prefix(1))), rows: [$1]) }
        let state = SectionedSnapshot(
            revision: Revision(revision),
            projection: request.projection,
            sections: sections,
            window: request.window == nil ? nil : window
        )
        return OverlayView(request: request, state: state)
    }

    private func set(_ id: Int64, _ values: [String: AttributeValue]) -> Mutation {
        .update(
            .object(ObjectID(id)),
            values: values.sorted { $0.key < $1.key }.map { PropertyAssignment(self.number($0.key), .value($0.value)) }
        )
    }

    private func move(_ id: Int64, below owner: Int64, _ place: Place) -> Mutation {
        let placement = Placement(
            relationship: self.number("parent"),
            owner: .object(ObjectID(owner)),
            place: place
        )
        return .move(.object(ObjectID(id)), placement)
    }

    private func write(_ views: inout OptimisticViews, _ mutation: Mutation) -> PendingWrites.ID {
        views.pending.add(UnconfirmedTransaction([mutation], time: 0))
    }

    private func texts(_ views: OptimisticViews) throws -> [String] {
        let state = try #require(views.shown(self.view)).state
        let slot = try #require(state.projection.firstIndex(of: self.number("title")))
        return state.sections.flatMap(\.rows).map { row in
            guard case .string(let title) = row.values[slot] else { return "?" }
            return title
        }
    }

    private func sections(_ views: OptimisticViews) -> [AttributeValue] {
        views.shown(self.view)?.state.sections.map(\.key) ?? []
    }

    /// Sets `done` of a row and takes it back, and confirms the first of the two writes.
    private func halfConfirmed(
        _ request: ObjectFetchRequest
    ) throws -> (views: OptimisticViews, second: PendingWrites.ID) {
        var views = OptimisticViews(model: self.model)
        views.took(self.view, self.state(request, at: 1, [Node(2, "a"), Node(3, "b"), Node(4, "c")]))
        let first = self.write(&views, self.set(3, ["done": .boolean(true), "title": .string("bb")]))
        let second = self.write(&views, self.set(3, ["done": .boolean(false)]))
        _ = views.publish()
        #expect(try self.texts(views) == ["a", "bb", "c"])
        #expect(views.shown(self.view)?.isDecided == true)
        views.pending.answered(first, revision: Revision(2), isChanged: true)
        views.took(self.view, self.state(request, at: 2, [Node(2, "a"), Node(4, "c")]))
        _ = views.publish()
        return (views, second)
    }

    @Test(arguments: Order.allCases, [false, true])
    func rowStaysUntilTheSecondWriteIsConfirmed(in order: Order, hasWindow: Bool) throws {
        let request = try self.list(order, window: hasWindow ? .range(offset: 0, limit: 10) : nil)
        var (views, second) = try self.halfConfirmed(request)
        let letters: [AttributeValue] = [.string("a"), .string("b"), .string("c")]
        let sections = order == .sections ? letters : [.string("")]
        #expect(try self.texts(views) == ["a", "bb", "c"])
        #expect(self.sections(views) == sections)
        #expect(views.shown(self.view)?.state.window?.total == (hasWindow ? 3 : nil))
        // Others may have changed it.
        #expect(views.shown(self.view)?.isDecided == false)
        views.pending.answered(second, revision: Revision(3), isChanged: true)
        views.took(self.view, self.state(request, at: 3, [Node(2, "a"), Node(3, "bb"), Node(4, "c")]))
        _ = views.publish()
        #expect(try self.texts(views) == ["a", "bb", "c"])
        #expect(self.sections(views) == sections)
        #expect(views.shown(self.view)?.state.window?.total == (hasWindow ? 3 : nil))
        #expect(views.shown(self.view)?.isDecided == true)
    }

    /// Of ten rows the window shows the third to the fifth. When the row goes, the sixth moves up.
    @Test(arguments: Order.allCases)
    func rowStaysInAWindowInTheMiddle(of order: Order) throws {
        let request = try self.list(order, window: .range(offset: 2, limit: 3))
        var views = OptimisticViews(model: self.model)
        views.took(
            self.view,
            self.state(request, at: 1, [Node(2, "a"), Node(3, "b"), Node(4, "c")], total: 10, start: 2)
        )
        let first = self.write(&views, self.set(3, ["done": .boolean(true)]))
        let second = self.write(&views, self.set(3, ["done": .boolean(false)]))
        _ = views.publish()
        #expect(try self.texts(views) == ["a", "b", "c"])
        views.pending.answered(first, revision: Revision(2), isChanged: true)
        views.took(
            self.view,
            self.state(request, at: 2, [Node(2, "a"), Node(4, "c"), Node(5, "d")], total: 9, start: 2)
        )
        _ = views.publish()
        #expect(try self.texts(views) == ["a", "b", "c", "d"])
        #expect(views.shown(self.view)?.isDecided == false)
        views.pending.answered(second, revision: Revision(3), isChanged: true)
        views.took(
            self.view,
            self.state(request, at: 3, [Node(2, "a"), Node(3, "b"), Node(4, "c")], total: 10, start: 2)
        )
        _ = views.publish()
        #expect(try self.texts(views) == ["a", "b", "c"])
        #expect(views.shown(self.view)?.state.window?.total == 10)
        #expect(views.shown(self.view)?.isDecided == true)
    }

    @Test func rowGoesWhenTheSecondWriteIsRefused() throws {
        var (views, second) = try self.halfConfirmed(try self.list())
        _ = views.pending.refused(second)
        _ = views.publish()
        #expect(try self.texts(views) == ["a", "c"])
        #expect(views.shown(self.view)?.isDecided == true)
    }

    @Test func rowGoesWhenTheServerDoesNotBringItBack() throws {
        let request = try self.list()
        var (views, second) = try self.halfConfirmed(request)
        _ = self.write(&views, self.set(3, ["title": .string("b3")]))
        views.pending.answered(second, revision: Revision(3), isChanged: true)
        // Another has deleted it.
        views.took(self.view, self.state(request, at: 3, [Node(2, "a"), Node(4, "c")]))
        _ = views.publish()
        #expect(try self.texts(views) == ["a", "c"])
    }

    @Test func rowThatOthersTakeOutGoes() throws {
        let request = try self.list()
        var views = OptimisticViews(model: self.model)
        views.took(self.view, self.state(request, at: 1, [Node(2, "a"), Node(3, "b")]))
        let first = self.write(&views, self.set(2, ["title": .string("aa")]))
        _ = self.write(&views, self.set(3, ["title": .string("bb")]))
        _ = views.publish()
        views.pending.answered(first, revision: Revision(3), isChanged: true)
        views.took(self.view, self.state(request, at: 3, [Node(2, "aa")]))
        _ = views.publish()
        #expect(try self.texts(views) == ["aa"])
    }

    private var outlineBefore: [Node] {
        [
            Node(2, "a"), Node(3, "folded", children: -2), Node(5, "b", children: 1),
            Node(6, "below", parent: 5, depth: 1),
        ]
    }

    /// With the rows below it.
    @Test func rowOfAnOutlineStaysThatWasBelowAFoldedRow() throws {
        let request = self.outline
        let before = self.outlineBefore
        var views = OptimisticViews(model: self.model)
        views.took(self.view, self.state(request, at: 1, before))
        let first = self.write(&views, self.move(5, below: 3, .last))
        let second = self.write(&views, self.move(5, below: 1, .first))
        _ = views.publish()
        #expect(try self.texts(views) == ["b", "below", "a", "folded"])
        let shown = views.shown(self.view)?.state
        views.pending.answered(first, revision: Revision(2), isChanged: true)
        views.took(self.view, self.state(request, at: 2, [Node(2, "a"), Node(3, "folded", children: -3)]))
        _ = views.publish()
        #expect(views.shown(self.view)?.state.sections == shown?.sections)
        #expect(views.shown(self.view)?.state.window == shown?.window)
        #expect(views.shown(self.view)?.isDecided == false)
        views.pending.answered(second, revision: Revision(3), isChanged: true)
        views.took(
            self.view,
            self.state(request, at: 3, [before[2], before[3], Node(2, "a"), Node(3, "folded", children: -2)])
        )
        _ = views.publish()
        #expect(views.shown(self.view)?.state.sections == shown?.sections)
        #expect(views.shown(self.view)?.isDecided == true)
    }
}

// MARK: Traces for clients in other languages

/// A client that does what a script says, and notes it.
private struct ScriptedClient {
    private(set) var trace: OptimisticTrace
    private var views: OptimisticViews
    private let view = OptimisticViews.ID(1)

    init(_ model: ManagedObjectModel) {
        self.trace = OptimisticTrace(model, now: 0)
        self.views = OptimisticViews(model: model)
    }

    mutating func write(_ mutation: Mutation) -> PendingWrites.ID {
        let id = self.views.pending.add(UnconfirmedTransaction([mutation], time: 0))
        self.trace.write(id, [mutation])
        return id
    }

    mutating func confirm(_ write: PendingWrites.ID, at revision: UInt64) {
        self.views.pending.answered(write, revision: Revision(revision), isChanged: true)
        self.trace.event("receipt", write, Revision(revision))
    }

    /// Takes a state of the server, and shows what there is to show.
    mutating func show(_ state: OverlayView? = nil) {
        if let state {
            self.views.took(self.view, state)
            self.trace.state(self.view, state.request, state.state)
        }
        _ = self.views.publish()
        if let shown = self.views.shown(self.view) { self.trace.shown([self.view: shown]) }
    }
}

extension RememberedRowTests {
    /// Traces of rows that go and come back: random histories rarely have them.
    static func traces() throws -> [JSONValue] {
        let tests = try RememberedRowTests()
        return try Order.allCases.map { try tests.listTrace($0) } + [tests.outlineTrace()]
            + Order.allCases.map { try tests.listTrace($0, window: .range(offset: 0, limit: 10)) }
    }

    private func listTrace(_ order: Order, window: FetchWindow? = nil) throws -> JSONValue {
        let request = try self.list(order, window: window)
        var client = ScriptedClient(self.model)
        client.show(self.state(request, at: 1, [Node(2, "a"), Node(3, "b"), Node(4, "c")]))
        let first = client.write(self.set(3, ["done": .boolean(true), "title": .string("bb")]))
        let second = client.write(self.set(3, ["done": .boolean(false)]))
        client.show()
        client.confirm(first, at: 2)
        client.show(self.state(request, at: 2, [Node(2, "a"), Node(4, "c")]))
        // A write of another.
        client.show(self.state(request, at: 3, [Node(2, "aa"), Node(4, "c")]))
        client.confirm(second, at: 4)
        client.show(self.state(request, at: 4, [Node(2, "aa"), Node(3, "bb"), Node(4, "c")]))
        return client.trace.json
    }

    private func outlineTrace() -> JSONValue {
        let (request, before) = (self.outline, self.outlineBefore)
        var client = ScriptedClient(self.model)
        client.show(self.state(request, at: 1, before))
        let first = client.write(self.move(5, below: 3, .last))
        let second = client.write(self.move(5, below: 1, .first))
        client.show()
        client.confirm(first, at: 2)
        client.show(self.state(request, at: 2, [Node(2, "a"), Node(3, "folded", children: -3)]))
        client.confirm(second, at: 3)
        client.show(self.state(request, at: 3, [before[2], before[3], before[0], before[1]]))
        return client.trace.json
    }
}
