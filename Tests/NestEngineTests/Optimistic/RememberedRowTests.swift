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
    private func list(sort: [OrderingTerm] = []) throws -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: self.node.number,
            source: self.children,
            projection: [self.number("title")],
            sort: sort,
            predicate: try FetchPredicate("done == FALSE", of: self.node, in: self.model)
        ).canonical(in: self.model).widened(in: self.model)
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

    private func state(_ request: ObjectFetchRequest, at revision: UInt64, _ nodes: [Node]) -> OverlayView {
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
            total: rows.count,
            sectionTotal: 1,
            start: WindowStart(row: 0, section: 0, rowInSection: 0)
        )
        let state = SectionedSnapshot(
            revision: Revision(revision),
            projection: request.projection,
            sections: [ResultsSection(key: .string(""), rows: rows)],
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

    @Test(arguments: [false, true]) func rowStaysUntilTheSecondWriteIsConfirmed(isSorted: Bool) throws {
        let title = OrderingTerm(self.number("title"))
        let request = try self.list(sort: isSorted ? [title] : [])
        var (views, second) = try self.halfConfirmed(request)
        #expect(try self.texts(views) == ["a", "bb", "c"])
        // Others may have changed it.
        #expect(views.shown(self.view)?.isDecided == false)
        views.pending.answered(second, revision: Revision(3), isChanged: true)
        views.took(self.view, self.state(request, at: 3, [Node(2, "a"), Node(3, "bb"), Node(4, "c")]))
        _ = views.publish()
        #expect(try self.texts(views) == ["a", "bb", "c"])
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
        return [try tests.listTrace(sort: []), try tests.listTrace(sort: [OrderingTerm(tests.number("title"))])]
            + [tests.outlineTrace()]
    }

    private func listTrace(sort: [OrderingTerm]) throws -> JSONValue {
        let request = try self.list(sort: sort)
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
