import NIOCore
import NestClient
import NestFraming
import NestModel
import NestProtocol
import NestTestSupport

/// A server as a value that implements only one outline of one connection. It computes what is shown by recursion, from
/// the whole tree, after every change. Object 1 is the root. A predicate hides the objects whose id is a multiple of 3;
/// the attribute is true of even ids.
struct OutlineServer {
    struct View: Equatable {
        var id: UInt32
        var request: ObjectFetchRequest
        var expansion: OutlineExpansion
        var exceptions: Set<ObjectID>
        /// What was sent last; `nil`: nothing.
        var sent: SectionedSnapshot?
        var isLagging = false

        func isExpanded(_ id: ObjectID) -> Bool {
            Self.expands(self.expansion, id) != self.exceptions.contains(id)
        }

        /// Whether the expansion unfolds an object.
        static func expands(_ expansion: OutlineExpansion, _ id: ObjectID) -> Bool {
            switch expansion {
            case .none, .asBefore: false
            case .all: true
            case .attribute: id.rawValue.isMultiple(of: 2)
            }
        }

        mutating func set(_ id: ObjectID, _ isExpanded: Bool) {
            if isExpanded == Self.expands(self.expansion, id) {
                self.exceptions.remove(id)
            } else {
                self.exceptions.insert(id)
            }
        }
    }

    static let title = PropertyNumber(1)
    static let root = ObjectID(1)
    /// An object that never exists.
    static let missing = ObjectID(999)
    static let projection: [PropertyNumber] = [Self.title, .outlineChildren, .outlineDepth]

    private(set) var revision = Revision(1)
    private(set) var view: View?
    private var children: [ObjectID: [ObjectID]] = [:]
    private var parents: [ObjectID: ObjectID] = [:]
    private var titles: [ObjectID: Int] = [:]
    /// What outlines were below. A client may subscribe to it again, and it is never deleted.
    private var sources: Set<ObjectID> = []
    private var nextView = Limits.viewIDMin
    private var nextObject: Int64 = 2
    /// The frames on their way to the client.
    var outbox: [Frame] = []

    var objects: [ObjectID] { [Self.root] + self.parents.keys.sorted() }

    // MARK: What is shown

    func state(_ view: View) -> SectionedSnapshot {
        var rows: [Row] = []
        func admitted(_ parent: ObjectID) -> [ObjectID] {
            (self.children[parent] ?? []).filter {
                view.request.predicate == .everything || !$0.rawValue.isMultiple(of: 3)
            }
        }
        func add(_ parent: ObjectID, _ depth: Int) {
            for child in admitted(parent) {
                let count = Int64(admitted(child).count)
                let isExpanded = view.isExpanded(child)
                rows.append(
                    Row(
                        id: child,
                        values: [
                            .string("v\(self.titles[child] ?? 0)"), .integer(isExpanded ? count : -1 - count),
                            .integer(Int64(depth)),
                        ]
                    )
                )
                if isExpanded { add(child, depth + 1) }
            }
        }
        add(view.request.source?.object ?? Self.root, 0)
        var first = 0
        var end = rows.count
        var anchor: ObjectID?
        switch view.request.window {
        case .range(let offset, let limit)?: (first, end) = (min(offset, end), min(offset + limit, end))
        case .around(let id, let before, let after)?:
            if let index = rows.firstIndex(where: { $0.id == id }) {
                (first, end) = (max(index - before, 0), min(index + after + 1, end))
                anchor = id
            }
        case nil: break
        }
        var state = SectionedSnapshot(
            revision: self.revision,
            projection: Self.projection,
            sections: [ResultsSection(key: .string(""), rows: Array(rows[first..<end]))]
        )
        let start = WindowStart(row: first, rowInSection: first)
        state.window = WindowPosition(total: rows.count, sectionTotal: 1, start: start, anchor: anchor)
        return state
    }

    // MARK: Writes

    mutating func write(_ random: inout SeededRandom) {
        let parent = self.objects.randomElement(using: &random)!
        let object = self.objects.dropFirst().randomElement(using: &random)
        switch random.below(6) {
        case 0...2:
            let new = ObjectID(self.nextObject)
            self.nextObject += 1
            self.put(new, below: parent, &random)
        case 3:
            guard let object, !self.isBelow(parent, object) else { break }
            self.children[self.parents[object]!]!.removeAll { $0 == object }
            self.put(object, below: parent, &random)
        case 4: if let object { self.titles[object] = random.below(9) }
        default: if let object, random.oneIn(3), !self.isSource(object) { self.delete(object) }
        }
        self.revision = Revision(self.revision.rawValue + 1)
        if random.oneIn(6) { self.view?.isLagging = true }
        self.push(isOwnStep: true)
    }

    private mutating func put(_ object: ObjectID, below parent: ObjectID, _ random: inout SeededRandom) {
        self.parents[object] = parent
        let count = self.children[parent]?.count ?? 0
        self.children[parent, default: []].insert(object, at: random.below(count + 1))
    }

    private func isBelow(_ object: ObjectID, _ ancestor: ObjectID) -> Bool {
        var next: ObjectID? = object
        while let id = next {
            if id == ancestor { return true }
            next = self.parents[id]
        }
        return false
    }

    private func isSource(_ object: ObjectID) -> Bool {
        self.sources.contains { self.isBelow($0, object) }
    }

    private mutating func delete(_ object: ObjectID) {
        for child in self.children[object] ?? [] { self.delete(child) }
        self.children[object] = nil
        if let parent = self.parents.removeValue(forKey: object) { self.children[parent]?.removeAll { $0 == object } }
    }

    /// Sends what is not sent, unless the view lags. `isOwnStep`: the revision has grown.
    private mutating func push(isOwnStep: Bool) {
        guard var view = self.view, let old = view.sent, !view.isLagging else { return }
        self.replaceAnchor(&view, old)
        let new = self.state(view)
        view.sent = new
        self.view = view
        guard old.sections != new.sections || old.window?.anchor != new.window?.anchor else {
            if old.window != new.window, let window = new.window {
                self.send(Totals(revision: self.revision, window: window), id: view.id)
            }
            return
        }
        self.send(Fixtures.body(self.difference(old, new, from: isOwnStep ? old.revision : new.revision)), id: view.id)
    }

    /// Follows the row that is now in the position of the anchor.
    private func replaceAnchor(_ view: inout View, _ old: SectionedSnapshot) {
        guard case .around(let id, let before, let after)? = view.request.window, let position = old.window,
            let index = old.sections[0].rows.firstIndex(where: { $0.id == id })
        else { return }
        var all = view
        all.request.window = .range(offset: 0, limit: Int.max / 2)
        let rows = self.state(all).sections[0].rows
        guard !rows.contains(where: { $0.id == id }), !rows.isEmpty else { return }
        let next = rows[min(position.start.row + index, rows.count - 1)].id
        view.request.window = .around(next, before: before, after: after)
    }

    private func difference(_ old: SectionedSnapshot, _ new: SectionedSnapshot, from: Revision) -> ResultsDiff {
        var diff = NaiveDiff.difference(from: old, to: new)
        diff.from = from
        diff.window = new.window
        return diff
    }

    /// Lets a lagging view have the net difference.
    mutating func catchUp() {
        guard self.view?.isLagging == true, let sent = self.view?.sent else { return }
        self.view?.isLagging = false
        self.push(isOwnStep: sent.revision < self.revision)
    }

    mutating func sendProgress() {
        if self.view?.isLagging != true { self.send(Progress(revision: self.revision)) }
    }

    // MARK: Requests

    mutating func disconnect() {
        self.outbox = []
        self.view = nil
    }

    mutating func receive(_ frame: Frame, _ random: inout SeededRandom) throws {
        switch MessageType(rawValue: frame.type) {
        case .subscribe: self.subscribe(try Subscribe(body: frame.body).request, frame.id)
        case .resubscribe: self.resubscribe(try Resubscribe(body: frame.body), frame.id)
        case .setExpanded: self.setExpanded(try SetExpanded(body: frame.body), frame.id, &random)
        case .unsubscribe:
            if try Unsubscribe(body: frame.body).view == self.view?.id { self.view = nil }
            self.send(Done(), id: frame.id)
        default: break
        }
    }

    private mutating func subscribe(_ request: ObjectFetchRequest, _ id: UInt32) {
        guard let outline = request.outline, outline.expansion != .asBefore else {
            return self.refuse(.invalid, id)
        }
        let view = View(
            id: self.takeViewID(),
            request: request,
            expansion: outline.expansion,
            exceptions: Set(outline.exceptions)
        )
        guard self.isPossible(view) else { return self.refuse(.notFound, id) }
        self.accept(view, .snapshot, id)
        self.sendSnapshot()
    }

    private mutating func resubscribe(_ message: Resubscribe, _ id: UInt32) {
        guard let old = self.view, old.id == message.view, let outline = message.request.outline else {
            return self.refuse(.notFound, id)
        }
        var view = old
        view.id = self.takeViewID()
        view.request = message.request
        if outline.expansion != .asBefore {
            (view.expansion, view.exceptions) = (outline.expansion, Set(outline.exceptions))
        }
        guard self.isPossible(view) else { return self.refuse(.notFound, id) }
        self.catchUp()
        let sent = self.view?.sent
        let new = self.state(view)
        self.accept(view, .difference, id)
        guard let sent else { return self.sendSnapshot() }
        self.view?.sent = new
        self.send(Fixtures.body(self.difference(sent, new, from: self.revision)), id: view.id)
    }

    private mutating func setExpanded(_ message: SetExpanded, _ id: UInt32, _ random: inout SeededRandom) {
        guard message.view == self.view?.id else { return self.refuse(.notFound, id) }
        for state in message.states { self.view?.set(state.object, state.isExpanded) }
        if self.view?.isLagging == false, random.oneIn(8) {
            self.sendSnapshot()
        } else {
            self.push(isOwnStep: false)
        }
        self.send(Done(), id: id)
    }

    private func isPossible(_ view: View) -> Bool {
        guard let source = view.request.source?.object, self.objects.contains(source) else { return false }
        guard case .around(let anchor, _, _)? = view.request.window else { return true }
        return self.state(view).window?.anchor == anchor
    }

    // MARK: Frames

    private mutating func takeViewID() -> UInt32 {
        defer { self.nextView += 1 }
        return self.nextView
    }

    private mutating func accept(_ view: View, _ first: FirstState, _ id: UInt32) {
        self.view = view
        self.view?.isLagging = false
        if let source = view.request.source { self.sources.insert(source.object) }
        self.send(Subscribed(view: view.id, first: first, reason: "", projection: Self.projection), id: id)
    }

    private mutating func refuse(_ code: ErrorCode, _ id: UInt32) {
        self.send(ErrorMessage(NestError(code, "no")), id: id)
    }

    private mutating func sendSnapshot() {
        guard var view = self.view else { return }
        if let sent = view.sent { self.replaceAnchor(&view, sent) }
        let state = self.state(view)
        view.sent = state
        self.view = view
        var header = Fixtures.header(state)
        if let window = state.window { header.window = window }
        let rows = state.sections[0].rows
        self.send(SnapshotMessage(header), id: view.id, flags: rows.isEmpty ? [] : .more)
        if !rows.isEmpty { self.send(Fixtures.rows(rows), id: view.id) }
    }

    private mutating func send(_ message: some Message, id: UInt32 = 0, flags: Frame.Flags = []) {
        let type = Swift.type(of: message).type.rawValue
        self.outbox.append(Frame(type: type, flags: flags, id: id, body: ByteBuffer(bytes: message.body)))
    }
}
