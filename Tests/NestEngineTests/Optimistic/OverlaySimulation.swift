import NestEngine
import NestModel
import NestOverlay
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// Compares what the overlay predicts with what the engine then does, over a random history by seed. Each step takes
/// random views of the store, lays random transactions over them, commits those that the engine accepts, and searches
/// the store naively.
final class OverlaySimulation {
    private let seed: UInt64
    private var random: SeededRandom
    private let directory = TemporaryDirectory()
    private let model: ManagedObjectModel
    private let store: Store
    private let engine: Engine
    private var scene: Scene
    private let client: SimulatedClient
    private var reserved: [ObjectID] = []
    private var now: Int64 = 1_000_000
    private var step = 0
    /// Called with each overlay that was compared.
    var onLaid: ((OverlayCase) -> Void)?
    /// What was compared.
    private(set) var counts: [String: Int] = [:]

    private var what: String { "seed \(self.seed), step \(self.step)" }

    init(seed: UInt64) throws {
        self.seed = seed
        self.random = SeededRandom(seed: seed)
        self.model =
            switch seed % 6 {
            case 4, 5: try ModelDraft.tree.compile()
            case 0: try ModelDraft.club.compile()
            case 1: try ResultsSimulation.looseModel(&self.random)
            default: try ModelDraft.workshop.compile()
            }
        let configuration = Store.Configuration(
            location: .file(self.directory.path + "/nest.sqlite"),
            model: self.model
        )
        self.store = try Store(configuration, newHistoryID: Identifier128.random(using: &self.random))
        self.engine = try Engine(store: self.store)
        self.scene = Scene(model: self.model, naive: try NaiveResults(self.store), &self.random)
        self.scene.hasSubqueries = true
        self.client = SimulatedClient(
            session: Identifier128.random(using: &self.random),
            connection: ConnectionID(1)
        )
        try self.perform(self.client.connect(as: ConnectionID(1)))
        for _ in 0..<(seed % 6 > 3 ? 30 : 12) { try self.commit(self.random.transaction(self.scene)) }
    }

    private func perform(_ input: EngineInput) throws {
        for effect in self.engine.perform([input], now: self.now) { try self.client.take(effect, self.what) }
        #expect(self.engine.failure == nil, "\(self.what)")
    }

    /// Returns whether the engine has accepted the transaction.
    @discardableResult private func commit(_ mutations: [Mutation]) throws -> Bool {
        guard !mutations.isEmpty else { return false }
        let (id, input) = self.client.request(.transaction(WriteTransaction(mutations: mutations)))
        try self.perform(input)
        self.scene.naive = try NaiveResults(self.store)
        if case .receipt = self.client.replies[id] { return true }
        return false
    }

    func run(steps: Int) throws {
        for _ in 0..<steps {
            self.step += 1
            self.now += 1_000_000
            if self.random.oneIn(2) { try self.commit(self.random.transaction(self.scene)) }
            try self.predict()
        }
        try self.engine.close()
    }

    // MARK: One prediction

    private struct Watched {
        var asked: ObjectFetchRequest
        let request: ObjectFetchRequest
        var view: OverlayView
        /// The request before fold states were asked for that the server has not confirmed: it gives the view's rows.
        let confirmed: ObjectFetchRequest
    }

    private func predict() throws {
        let watched = self.views()
        guard !watched.isEmpty else { return }
        var transactions: [[Mutation]] = []
        let views = watched.map(\.view)
        let shown = Set(views.flatMap { $0.state.sections.flatMap { $0.rows.map(\.id) } })
            .union(watched.compactMap { $0.request.source?.object })
        for _ in 0...self.random.below(3) { transactions.append(try self.transaction(on: shown)) }
        let whole = self.laid(over: views, transactions)
        var accepted: [[Mutation]] = []
        for (index, mutations) in transactions.enumerated() {
            let isAccepted = try self.commit(mutations)
            if isAccepted { accepted.append(mutations) }
            // A transaction that is predicted to be refused is refused, if those before it were not.
            if accepted.count == index + 1, whole.refused.contains(index) {
                Issue.record("\(self.what): \(mutations.map(\.brief)) was accepted, but predicted to be refused")
            }
        }
        self.counts["accepted", default: 0] += accepted.count
        let laid = self.laid(over: views, accepted)
        self.onLaid?(OverlayCase(model: self.model, views: views, transactions: accepted, now: self.now, laid: laid))
        let after = self.scene.naive
        for (each, view) in zip(watched, laid.views) {
            // Without transactions an overlay shows the server's rows.
            let asked = accepted.isEmpty ? each.confirmed : each.asked
            let expected = self.rows(asked, each.request, after)
            let check = PredictionCheck(base: each.view, laid: view, expected: expected)
            let faults = check.faults
            if let fault = faults.first {
                Issue.record(
                    "\(self.what): \(fault) in \(self.text(each.asked)) after \(accepted.map { $0.map(\.brief) })"
                )
            }
            self.count(check, view)
        }
        if accepted.count == transactions.count { self.expectIdempotence(watched, accepted) }
    }

    /// Laying transactions over a state that has them changes nothing.
    private func expectIdempotence(_ watched: [Watched], _ transactions: [[Mutation]]) {
        let views = watched.map { each in
            OverlayView(request: each.view.request, state: self.state(each.asked, each.request))
        }
        let laid = self.laid(over: views, transactions)
        for (view, result) in zip(views, laid.views)
        where result.isDecided && Self.hasAll(view, transactions) {
            let rows = (view.state.sections.flatMap(\.rows), result.state.sections.flatMap(\.rows))
            if rows.0 != rows.1 {
                Issue.record(
                    "\(self.what): \(transactions.map { $0.map(\.brief) }) again: \(rows.1) instead of \(rows.0) in \(view.request)"
                )
            }
            self.counts["idempotent", default: 0] += 1
        }
    }

    /// Whether a view shows all rows, and all objects that the transactions insert: the others could be new.
    private static func hasAll(_ view: OverlayView, _ transactions: [[Mutation]]) -> Bool {
        guard let window = view.state.window else { return true }
        let rows = Set(view.state.sections.flatMap { $0.rows.map(\.id) })
        guard view.request.outline != nil, view.request.beginsAtFirst, rows.count == window.total else { return false }
        return transactions.joined().allSatisfy { mutation in
            if case .insertAs(let id, _, _, _) = mutation { rows.contains(id) } else { true }
        }
    }

    private func text(_ request: ObjectFetchRequest) -> String {
        let entity = self.model.entity(request.entity)!
        let predicate =
            request.predicate.nodes.isEmpty ? "" : " where \(request.predicate.text(of: entity, in: self.model))"
        let sort = request.sort.map { "\($0.key)".prefix(80) }
        return
            "\(entity.name) \(request.source.map { "\($0)" } ?? "")\(predicate) by \(sort) \(request.section.map { "\($0)" } ?? "") \(request.window.map { "\($0)" } ?? "") \(request.outline.map { "\($0)" } ?? "")"
    }

    private func laid(over views: [OverlayView], _ transactions: [[Mutation]]) -> Overlaid {
        Overlay.laid(over: views, transactions.map { UnconfirmedTransaction($0, time: self.now) }, in: self.model)
    }

    private func count(_ check: PredictionCheck, _ view: OverlaidView) {
        self.counts["views", default: 0] += 1
        guard !view.pending.isEmpty || check.changesRows else { return }
        self.counts["changed", default: 0] += 1
        if view.isDecided { self.counts["decided", default: 0] += 1 }
        if view.isDecided, check.changesRows { self.counts["decided with other rows", default: 0] += 1 }
        if view.isDecided, check.isOutline, check.changesRows { self.counts["decided outlines", default: 0] += 1 }
        if check.isOutline { self.counts["outlines", default: 0] += 1 }
        if view.isDecided, check.isWindow { self.counts["decided windows", default: 0] += 1 }
        if view.isDecided, view.state.sections.count > 1 { self.counts["decided sections", default: 0] += 1 }
    }

    // MARK: Material

    private func views() -> [Watched] {
        var watched: [Watched] = []
        for _ in 0..<2 + self.random.below(6) {
            let isOutline = self.random.oneIn(3)
            let found = isOutline ? self.random.outline(self.scene) : self.random.request(self.scene)
            guard var asked = found else { continue }
            asked.totals = []
            if isOutline {
                let ids = self.rows(asked, asked, self.scene.naive).flatMap { $0.rows.map(\.id) }
                asked.window = self.random.oneIn(3) ? .range(offset: 0, limit: 1_000) : self.random.window(ids)
            } else if self.random.oneIn(2) {
                asked.window = self.random.window(self.scene.naive.order(asked))
            }
            let request = asked.canonical(in: self.model).widened(in: self.model)
            asked.projection = request.projection
            let view = OverlayView(request: request, state: self.state(asked, request))
            var each = Watched(asked: asked, request: request, view: view, confirmed: asked)
            if isOutline, self.random.oneIn(2) { self.askForFolds(&each) }
            watched.append(each)
        }
        return watched
    }

    /// Folds and unfolds rows without children. The server's rows do not have that yet.
    private func askForFolds(_ each: inout Watched) {
        guard var outline = each.asked.outline, outline.expansion == .all || outline.expansion == .none,
            let slot = each.request.projection.firstIndex(of: .outlineChildren)
        else { return }
        for row in each.view.state.sections.flatMap(\.rows) where self.random.oneIn(2) {
            guard row.values[slot] == .integer(0) || row.values[slot] == .integer(-1) else { continue }
            outline.exceptions =
                outline.exceptions.contains(row.id)
                ? outline.exceptions.filter { $0 != row.id } : (outline.exceptions + [row.id]).sorted()
            self.counts["asked folds", default: 0] += 1
        }
        each.asked.outline = outline
        var request = each.request
        request.outline = outline
        each.view = OverlayView(request: request, state: each.view.state)
    }

    private func rows(
        _ asked: ObjectFetchRequest,
        _ request: ObjectFetchRequest,
        _ naive: NaiveResults
    ) -> [ResultsSection] { naive.rows(asked, request) }

    private func state(_ asked: ObjectFetchRequest, _ request: ObjectFetchRequest) -> SectionedSnapshot {
        self.scene.naive.state(asked, request, at: self.store.head)
    }

    /// Returns a random transaction whose inserts have reserved ids, mostly, and whose places are near others.
    private func transaction(on shown: Set<ObjectID>) throws -> [Mutation] {
        var mutations = self.random.transaction(self.scene)
        // Mostly of objects that the views show.
        for _ in 0..<20 where !self.random.oneIn(20) {
            let named = mutations.flatMap(\.references).filter { $0.rawValue > 0 }.map { ObjectID($0.rawValue) }
            if !mutations.isEmpty, shown.isSuperset(of: named) { break }
            mutations = self.random.transaction(self.scene)
        }
        for index in mutations.indices {
            switch mutations[index] {
            case .insert(let entity, let values, let placements) where !self.random.oneIn(8):
                mutations[index] = .insertAs(try self.reserve(), entity: entity, values: values, placements: placements)
            case .move(let object, var placement):
                placement.place = self.near(placement.place)
                mutations[index] = .move(object, placement)
            case .relate(let owner, let relationship, let object, let place):
                mutations[index] = .relate(owner, relationship, object, self.near(place))
            default: break
            }
        }
        return mutations
    }

    private func near(_ place: Place) -> Place {
        guard self.random.oneIn(2) else { return place }
        let all = self.scene.naive.rows.keys.sorted()
        let other = self.random.oneIn(2) ? all.randomElement(using: &self.random).map(ObjectReference.object) : nil
        switch place {
        case .before(let right): return .near(left: other, right: right)
        case .after(let left): return .near(left: left, right: other)
        default: return place
        }
    }

    private func reserve() throws -> ObjectID {
        if let id = self.reserved.popLast() { return id }
        let (id, input) = self.client.request(.reserveIDs(40))
        try self.perform(input)
        guard case .reserved(let first, let count)? = self.client.replies[id] else {
            throw ProcessFailure("\(self.what): no ids: \(String(describing: self.client.replies[id]))")
        }
        self.reserved = (0..<Int64(count)).map { ObjectID(first.rawValue + $0) }.reversed()
        return self.reserved.popLast()!
    }
}

extension ObjectFetchRequest {
    /// Whether the window is to have the first row, if there is one. An empty window may begin behind the end.
    var beginsAtFirst: Bool { if case .range(let offset, _)? = self.window { offset == 0 } else { true } }
}

extension ObjectFetchRequest {
    /// Whether the window begins at the first row and may have so many. What changes beyond it arrives later.
    func hasRoom(for rows: Int) -> Bool {
        if case .range(let offset, let limit)? = self.window { offset == 0 && rows <= limit } else { false }
    }

    /// Whether the window is not full with so many rows. A full one hears later, by the position timer, that rows have
    /// come behind it.
    func hasMoreRoom(than rows: Int) -> Bool { self.hasRoom(for: rows + 1) }
}

extension NaiveResults {
    /// Returns all rows of a request, found naively. `request`: the same in the form in which a client subscribes.
    func rows(_ asked: ObjectFetchRequest, _ request: ObjectFetchRequest) -> [ResultsSection] {
        guard let outline = asked.outline else { return self.sections(asked, request.projection) }
        return self.outline(asked, NaiveFolds(outline), request.projection)
    }

    /// Returns what a view of the request shows.
    func state(
        _ asked: ObjectFetchRequest,
        _ request: ObjectFetchRequest,
        at revision: Revision
    ) -> SectionedSnapshot {
        let whole = self.rows(asked, request)
        var state = SectionedSnapshot(revision: revision, projection: request.projection, sections: whole)
        guard let window = request.window else { return state }
        let shown = NaiveWindow(window, anchor: window.object, of: whole, isSectioned: request.section != nil)
        state.sections = shown.sections
        state.window = shown.position
        return state
    }
}

/// Compares the rows of one prediction with all rows that the server finds.
struct PredictionCheck {
    private let base: OverlayView
    private let laid: OverlaidView
    private let expected: [ResultsSection]

    private struct Flat: Equatable {
        var section: AttributeValue
        var row: Row
    }

    init(base: OverlayView, laid: OverlaidView, expected: [ResultsSection]) {
        self.base = base
        self.laid = laid
        self.expected = expected
    }

    private static func flat(_ sections: [ResultsSection]) -> [Flat] {
        sections.flatMap { section in section.rows.map { Flat(section: section.key, row: $0) } }
    }

    var isOutline: Bool { self.base.request.outline != nil }

    var isWindow: Bool { self.base.state.window != nil }

    var changesRows: Bool {
        self.base.state.sections.flatMap { $0.rows.map(\.id) } != self.laid.state.sections.flatMap { $0.rows.map(\.id) }
    }

    private var isWhole: Bool {
        guard let window = self.base.state.window else { return true }
        return window.start.row == 0 && self.base.state.total == window.total && self.base.request.beginsAtFirst
    }

    var faults: [String] {
        let shown = Self.flat(self.laid.state.sections)
        let all = Self.flat(self.expected)
        var faults: [String] = []
        if Set(shown.map(\.row.id)).count != shown.count { faults.append("an object is shown twice") }
        if self.laid.isDecided {
            if self.isWhole {
                if shown != all { faults.append("shows \(Self.brief(shown)) instead of \(Self.brief(all))") }
                if let window = self.laid.state.window, window.total != all.count {
                    faults.append("a total of \(window.total) instead of \(all.count)")
                }
            } else if !Self.isRun(shown, of: all) {
                faults.append("shows \(Self.brief(shown)), no run of \(Self.brief(all))")
            }
            if self.isOutline, let window = self.laid.state.window {
                if window.total != all.count { faults.append("a total of \(window.total) instead of \(all.count)") }
                if window.start.rowInSection != window.start.row { faults.append("two beginnings: \(window.start)") }
                if let first = shown.first, all.firstIndex(of: first) != window.start.row {
                    faults.append("starts at \(window.start.row) instead of \(all.firstIndex(of: first) ?? -1)")
                }
            }
            return faults
        }
        guard self.laid.doubts == 0 else { return faults }
        let known = shown.filter { !self.laid.undecided.contains($0.row.id) }
        let there = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1.row.id, (index: $0, flat: $1)) })
        for flat in known where there[flat.row.id]?.flat != flat {
            faults.append(
                "shows \(Self.brief([flat])) instead of \(Self.brief(there[flat.row.id].map { [$0.flat] } ?? [])), though decided"
            )
        }
        let indexes = known.compactMap { there[$0.row.id]?.index }
        if indexes != indexes.sorted() {
            faults.append("decided rows in another order: \(Self.brief(known)), \(Self.brief(all))")
        }
        if self.isWhole {
            let ids = Set(shown.map(\.row.id)).union(self.laid.undecided)
            for flat in all where !ids.contains(flat.row.id) { faults.append("lacks \(Self.brief([flat]))") }
        }
        return faults
    }

    private static func isRun(_ rows: [Flat], of all: [Flat]) -> Bool {
        guard let first = rows.first else { return true }
        guard let start = all.firstIndex(where: { $0.row.id == first.row.id }) else { return false }
        return all[start...].starts(with: rows)
    }

    private static func brief(_ rows: [Flat]) -> String {
        rows.map { flat in
            let values = flat.row.values.map { String("\($0)".prefix(30)) }.joined(separator: ", ")
            return "\(flat.section): \(flat.row.id)(\(values))"
        }.joined(separator: "; ")
    }
}
