import NestEngine
import NestModel
import NestProtocol
import NestSchema
import NestStore
import NestTestSupport
import Testing

/// Clients that follow outlines of a nested list, compared with outlines that are found by walking down the store.
final class OutlineWorld {
    let fixture: EngineFixture
    let writer: SimulatedClient
    let client: SimulatedClient
    /// The fold states of each subscription, by the request that the client knows it by.
    var folds: [ObjectFetchRequest: NaiveFolds] = [:]
    /// The anchors at the last check.
    private var anchors: [ObjectFetchRequest: ObjectID?] = [:]

    static let done = PropertyNumber(3)
    static let children = PropertyNumber(6)
    static let values: [PropertyNumber] = [EngineFixture.title, done, .outlineChildren, .outlineDepth]

    init(
        backgroundReadRowsMin: Int = 2_000,
        windowWorkMax: Int = 10_000,
        rowsMax: Int = Limits.outlineRowsMax,
        changesMax: Int = Limits.dependencyChangesMax,
        bytesMax: Int = Limits.liveResultBytesMax,
        scope: AuthorisationScope = .everything
    )
        throws
    {
        self.fixture = try EngineFixture(
            isVolatile: true,
            backgroundReadRowsMin: backgroundReadRowsMin,
            windowWorkMax: windowWorkMax,
            liveResultBytesMax: bytesMax,
            outlineRowsMax: rowsMax,
            dependencyChangesMax: changesMax
        )
        self.writer = try self.fixture.connect(session: 1)
        self.client = try self.fixture.connect(session: 2, scope: scope)
    }

    /// Makes a request for an outline. `predicate`: as nestc reads it.
    static func request(
        _ expansion: OutlineExpansion = .all,
        except exceptions: [ObjectID] = [],
        of root: ObjectID = EngineFixture.root,
        predicate: String = "",
        columns: [String] = [],
        window: FetchWindow = .range(offset: 0, limit: 100)
    ) throws -> ObjectFetchRequest {
        let model = ManagedObjectModel.nestedList
        let item = try #require(model.entity(EngineFixture.item))
        return ObjectFetchRequest(
            entity: EngineFixture.item,
            source: FetchSource(object: root, relationship: self.children),
            projection: self.values + columns.indices.map { .computed($0) },
            predicate: try FetchPredicate(predicate, of: item, in: model, dates: DateReading(now: 0)),
            columns: try columns.map { try PropertyPath($0, of: item, in: model) },
            window: window,
            outline: FetchOutline(expansion, exceptions: exceptions)
        )
    }

    /// The work for outlines so far.
    var work: OutlineWork { self.fixture.engine.outlineWork }

    static func done(_ id: ObjectID, _ isDone: Bool) -> Mutation {
        .update(.object(id), values: [PropertyAssignment(Self.done, .value(.boolean(isDone)))])
    }

    // MARK: What clients do

    @discardableResult
    func subscribe(_ request: ObjectFetchRequest) throws -> NestError? {
        let input = self.client.subscribe(request)
        self.folds[request] = NaiveFolds(try #require(request.outline))
        try self.perform([input])
        return self.client.subscriptions[request] == nil ? self.client.refusal : nil
    }

    /// Folds and unfolds; returns the answer.
    @discardableResult
    func set(_ states: [(ObjectID, Bool)], of request: ObjectFetchRequest) throws -> EngineReply? {
        let view = try #require(self.client.subscriptions[request]?.view)
        let states = states.map { ExpandedState($0.0, isExpanded: $0.1) }
        let (id, input) = self.client.request(.setExpanded(view: view, states))
        let items = try self.snapshot()
        try self.perform([input])
        if self.client.replies[id]?.error == nil { self.folds[request]?.set(states, items.value) }
        return self.client.replies[id]
    }

    /// Changes a subscription. Returns the form of the first state.
    @discardableResult
    func change(_ old: ObjectFetchRequest, to new: ObjectFetchRequest) throws -> EngineReply? {
        let input = try #require(self.client.change(old, to: new))
        try self.perform([input])
        guard let answer = self.client.changeAnswers.last, answer.new == new else { return nil }
        if answer.reply.error == nil {
            var folds = self.folds.removeValue(forKey: old) ?? NaiveFolds(FetchOutline())
            folds.resubscribe(try #require(new.outline))
            self.folds[new] = folds
            self.anchors[old] = nil
            self.anchors[new] = nil
        }
        return answer.reply
    }

    /// Performs inputs, and what they leave for later turns.
    func perform(_ inputs: [EngineInput]) throws {
        try self.fixture.perform(inputs)
        for _ in 0..<32 { try self.fixture.perform([]) }
        try self.fixture.perform([.positionTimer])
    }

    /// Performs the background reads that wait, and what follows.
    func finishReads() throws {
        self.fixture.holdsReads = false
        while !self.fixture.reads.isEmpty {
            let read = self.fixture.reads.removeFirst()
            try self.perform([.read(read.id, read.run(self.fixture.store.reader))])
        }
    }

    func undo(_ isUndo: Bool = true, by client: SimulatedClient? = nil) -> EngineInput {
        let client = client ?? self.writer
        return client.request(
            isUndo
                ? .undo(key: nil, UndoOptions(), expected: nil) : .redo(key: nil, UndoOptions(), expected: nil)
        ).input
    }

    func transaction(_ mutations: [Mutation], by client: SimulatedClient? = nil) -> EngineInput {
        (client ?? self.writer).request(.transaction(WriteTransaction(mutations: mutations))).input
    }

    func write(_ mutations: [Mutation]) throws {
        try self.fixture.write(self.writer, mutations)
        try self.perform([])
    }

    /// Inserts items, each below the one with its index, or below the root (-1). Returns their ids.
    @discardableResult
    func insert(_ rows: [(String, under: Int)]) throws -> [ObjectID] {
        var ids: [ObjectID] = []
        for (title, owner) in rows {
            let above = owner < 0 ? EngineFixture.root : ids[owner]
            let receipt = try self.fixture.write(self.writer, [EngineFixture.insert(title, under: above)])
            ids.append(try #require(receipt.results.first?.first))
        }
        try self.perform([])
        return ids
    }

    // MARK: Checks

    /// Reads all items from the store.
    func snapshot() throws -> NaiveSnapshot {
        var items: [ObjectID: NaiveSnapshot.Item] = [:]
        var next = [EngineFixture.root]
        let store = self.fixture.store
        try store.access {
            while let id = next.popLast() {
                guard let row = try store.row(EngineFixture.item, id) else { continue }
                var item = NaiveSnapshot.Item(position: row.places[0].position)
                if case .reference(let parent) = row.values[4] { item.parent = parent }
                for (slot, property) in [1, 2, 3, 4, 5].enumerated() {
                    item.values[PropertyNumber(UInt16(property))] = row.values[slot]
                }
                items[id] = item
                try store.forEach(try #require(store.layout[EngineFixture.item]).toMany[0], of: id) { child, _ in
                    next.append(child)
                }
            }
        }
        return NaiveSnapshot(items)
    }

    /// Returns all rows that a request shows.
    func rows(_ request: ObjectFetchRequest, _ items: NaiveSnapshot) throws -> NaiveShownRows {
        let text = request.predicate.text(of: ManagedObjectModel.nestedList.entities[0], in: .nestedList)
        return items.rows(below: try #require(request.source).object, self.folds[request]!) { item in
            switch text {
            case "", "TRUEPREDICATE": true
            case "done == NO": item.values[Self.done] == .boolean(false)
            case "parent.done == NO":
                item.parent.map { items.value($0, Self.done) == .boolean(false) } ?? false
            default: fatalError("no such predicate: \(text)")
            }
        }
    }

    /// Compares the state of a subscription with the store.
    func check(_ what: String = "") throws {
        guard !self.client.isBlocked else {
            // The anchor may leave and come back before the client sees it.
            self.anchors = [:]
            return
        }
        let items = try self.snapshot()
        for (request, subscription) in self.client.subscriptions where subscription.view != nil {
            let name = "\(what) \(request.window!) \(request.outline!.expansion)"
            let state = try #require(subscription.state, "\(name): no state")
            let shown = try self.rows(request, items).rows
            let ids = shown.map(\.id)
            let range: Range<Int>
            let window = try #require(state.window)
            switch request.window! {
            case .range(let offset, let limit):
                range = min(offset, ids.count)..<min(offset + limit, ids.count)
                #expect(window.anchor == nil, "\(name)")
            case .around(_, let before, let after):
                if let index = window.anchor.flatMap({ ids.firstIndex(of: $0) }) {
                    range = max(0, index - before)..<min(ids.count, index + after + 1)
                } else {
                    #expect(ids.isEmpty && window.anchor == nil, "\(name): the anchor is no row")
                    range = 0..<0
                }
                if let last = self.anchors[request], let last, ids.contains(last) {
                    #expect(window.anchor == last, "\(name): the window left its anchor")
                }
                self.anchors[request] = window.anchor
            }
            let expected = shown[range].map { row in
                Row(
                    id: row.id,
                    values: subscription.projection.map { property in
                        if let value = row.value(property) { return value }
                        switch property.column {
                        case nil: return items.value(row.id, property)
                        case 0?:
                            return items.items[row.id]!.parent.map { items.value($0, EngineFixture.title) } ?? .null
                        default:
                            let count = items.items.values.count { $0.parent == row.id }
                            return .integer(Int64(count))
                        }
                    }
                )
            }
            #expect(state.sections.flatMap(\.rows) == expected, "\(name)")
            #expect(state.digest == NaiveShownRows.digest(expected.map(\.id)).value, "\(name): digest")
            let start = WindowStart(row: range.lowerBound, section: 0, rowInSection: range.lowerBound)
            #expect(window.total == ids.count && window.start == start && window.sectionTotal == 1, "\(name): position")
        }
    }

    func ids(_ request: ObjectFetchRequest) -> [ObjectID] {
        self.client.subscriptions[request]?.state?.sections.flatMap(\.rows).map(\.id) ?? []
    }
}
