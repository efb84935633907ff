import NestProtocol
import NestEngine
import NestModel
import NestTestSupport
import Testing

/// A client of the engine without a socket: applies what it is sent, checks what it holds.
final class SimulatedClient {
    let session: Identifier128
    private(set) var connection: ConnectionID
    private var nextRequest: UInt32 = 1
    private(set) var historyID: Identifier128?

    struct Subscription {
        /// Counts the client's subscriptions.
        let number: Int
        var view: UInt32?
        var state: SectionedSnapshot?
        var projection: [PropertyNumber] = []
        /// How often the server counts it.
        var holds = 1
        /// What a window around an object may follow, and whether it has been named only since the last batch.
        var followed: Set<ObjectID?> = []
        var isNew = true
        /// What it was resumed from.
        var resumed: (anchor: ObjectID?, revision: Revision)?
        /// The server said why it is not told the difference: it may not know the places of then.
        var hasLostPlace = false
        /// It was told in this batch where its window is.
        var isPositionTold = false
    }

    var subscriptions: [ObjectFetchRequest: Subscription] = [:]
    private var subscriptionCount = 0
    /// Effects that wait because the connection does not drain.
    private(set) var isBlocked = false
    private(set) var replies: [UInt32: EngineReply] = [:]
    private(set) var pendingSubscriptions: [UInt32: ObjectFetchRequest] = [:]
    /// Views that it has given up by requests that are not answered: frames may still come.
    private var leaving: [UInt32: UInt32] = [:]
    /// Changes of subscriptions that have not been answered.
    var pendingChanges: [UInt32: (old: ObjectFetchRequest, new: ObjectFetchRequest)] = [:]
    /// How those were answered since it was emptied last.
    var changeAnswers: [(old: ObjectFetchRequest, new: ObjectFetchRequest, reply: EngineReply)] = []
    /// What was held when the server said that everything up to a revision had been sent.
    var claims: [(revision: Revision, states: [ObjectFetchRequest: SectionedSnapshot])] = []
    /// Diffs applied, and moves in them.
    private(set) var diffs = 0
    private(set) var moves = 0
    private(set) var sectionChanges = 0
    /// The last answer that was one.
    private(set) var refusal: NestError?
    /// What it was told last of its undo state, without asking.
    private(set) var undoState: UndoState?
    /// Called with each diff and the states before and after it.
    var onDiff: ((ObjectFetchRequest, ResultsDiff, _ old: SectionedSnapshot, _ new: SectionedSnapshot) -> Void)?
    /// The highest revision named by a receipt, for which the subscriptions must already be up to date.
    private(set) var acknowledged = Revision(0)
    var progress = Revision(0)
    /// What the connection was told of its own writes, and the revisions that diffs have spanned.
    private var own: Set<Revision> = []
    private var spans: [Range<UInt64>] = []
    /// Own revisions that receipts have named. Once no answer is owed, all that the connection was told of are among them.
    private var confirmed: Set<Revision> = []
    var toldOfForeignWrites: Bool { !self.own.isSubset(of: self.confirmed) }
    /// Diffs with own writes, and with those of others only.
    private(set) var ownDiffs = 0
    private(set) var otherDiffs = 0

    init(session: Identifier128, connection: ConnectionID) {
        self.session = session
        self.connection = connection
    }

    /// Of the token that it connects with.
    var scope = AuthorisationScope.everything

    func connect(as connection: ConnectionID) -> EngineInput {
        self.connection = connection
        self.isBlocked = false
        self.replies = [:]
        self.pendingSubscriptions = [:]
        self.pendingChanges = [:]
        self.leaving = [:]
        self.own = []
        self.spans = []
        // View ids mean nothing on another connection.
        for request in self.subscriptions.keys {
            self.subscriptions[request]!.view = nil
            self.subscriptions[request]!.holds = 1
        }
        return .connected(connection, session: self.session, scope: self.scope)
    }

    func request(_ request: EngineRequest) -> (id: UInt32, input: EngineInput) {
        defer { self.nextRequest += 1 }
        return (self.nextRequest, .request(self.connection, requestID: self.nextRequest, request))
    }

    /// The children of an item of the nested list.
    static func children(of parent: ObjectID, _ projection: [PropertyNumber] = []) -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: EntityNumber(1),
            source: FetchSource(object: parent, relationship: PropertyNumber(6)),
            projection: projection
        )
    }

    func state(_ parent: ObjectID) -> SectionedSnapshot? { self.subscriptions[Self.children(of: parent)]?.state }

    /// Subscribes again to all that it holds, from where it is.
    func resumeAll() -> [EngineInput] {
        self.subscriptions.sorted { $0.value.number < $1.value.number }
            .map { self.subscribe($0.key, resuming: true) }
    }

    func subscribe(_ parent: ObjectID, _ projection: [PropertyNumber] = [], resuming: Bool = false) -> EngineInput {
        self.subscribe(Self.children(of: parent, projection), resuming: resuming)
    }

    func subscribe(_ fetch: ObjectFetchRequest, resuming: Bool = false) -> EngineInput {
        var point: ResumePoint?
        if resuming, let held = self.subscriptions[fetch]?.state, let historyID {
            point = ResumePoint(historyID: historyID, revision: held.revision)
            self.subscriptions[fetch]!.resumed = (held.window?.anchor, held.revision)
        } else {
            self.subscriptionCount += 1
            self.subscriptions[fetch] = Subscription(number: self.subscriptionCount)
        }
        let (id, input) = self.request(.subscribe(self.named(fetch), resume: point, atLeast: Revision(0)))
        self.pendingSubscriptions[id] = fetch
        return input
    }

    /// Gives its oldest subscription up.
    func unsubscribe() -> [EngineInput] {
        guard let (fetch, oldest) = self.subscriptions.min(by: { $0.value.number < $1.value.number }),
            let view = oldest.view, !self.pendingChanges.values.contains(where: { $0.old == fetch })
        else { return [] }
        self.subscriptions[fetch] = nil
        return (0..<oldest.holds).map { _ in
            let (id, input) = self.request(.unsubscribe(view: view))
            self.leaving[id] = view
            return input
        }
    }

    func block() -> EngineInput {
        self.isBlocked = true
        return .blocked(self.connection)
    }

    /// Subscriptions that the server has ended for want of memory.
    private(set) var ended: [NestError] = []
    /// It was given much: the engine goes on when it has taken that.
    private(set) var owesDrain = false

    func drain() -> EngineInput {
        self.isBlocked = false
        self.owesDrain = false
        return .drained(self.connection)
    }

    // MARK: Effects

    func take(_ effect: EngineEffect, _ what: String) throws {
        switch effect {
        case .welcome(let id, let welcome):
            if id == self.connection { self.historyID = welcome.historyID }
        case .reply(let id, let requestID, let reply):
            guard id == self.connection else { return }
            try self.take(reply, requestID, what)
        case .push(let push, let to):
            guard to.contains(self.connection) else { return }
            try self.take(push, what)
        case .own(let revisions, let to):
            guard to == self.connection else { return }
            #expect(!revisions.isEmpty && revisions == Set(revisions).sorted(), "\(what): own revisions ascend")
            self.own.formUnion(revisions)
        case .read, .tokensChanged:
            break
        case .end(let id, let error):
            #expect(id != self.connection, "\(what): \(error)")
        case .undoState(let state, let to):
            if to.contains(self.connection) { self.undoState = state }
        case .whenDrained(let id):
            if id == self.connection { self.owesDrain = true }
        case .progress(let revision, let to):
            guard to.contains(self.connection) else { return }
            self.progress = revision
            self.claim(revision)
            for fetch in self.subscriptions.keys where self.subscriptions[fetch]!.view != nil {
                let held = self.subscriptions[fetch]!.state!.revision
                self.subscriptions[fetch]!.state!.revision = max(held, revision)
            }
        }
    }

    private func take(_ reply: EngineReply, _ requestID: UInt32, _ what: String) throws {
        #expect(self.replies[requestID] == nil, "\(what): two replies to request \(requestID)")
        self.replies[requestID] = reply
        if self.leaving.removeValue(forKey: requestID) != nil {
            return #expect(reply.isDone, "\(what): a subscription is not ended: \(reply)")
        }
        switch reply {
        case .receipt(let receipt):
            self.acknowledged = max(self.acknowledged, receipt.revision)
            self.claim(receipt.revision)
            guard receipt.isChanged, !receipt.isReplayed else { break }
            let wasSpanned = self.spans.contains { $0.contains(receipt.revision.rawValue) }
            #expect(!wasSpanned || self.own.contains(receipt.revision), "\(what): an own write that was not told apart")
            self.confirmed.insert(receipt.revision)
            self.own.insert(receipt.revision)
        case .subscribed(let view, let first, let reason, let projection):
            if try self.takeChange(reply, requestID, what) { break }
            let pending = self.pendingSubscriptions.removeValue(forKey: requestID)
            let fetch = try #require(pending)
            self.subscriptions[fetch]!.view = view
            self.subscriptions[fetch]!.projection = projection
            self.subscriptions[fetch]!.followed = [self.named(fetch).window?.object]
            self.subscriptions[fetch]!.isNew = true
            self.subscriptions[fetch]!.hasLostPlace = !reason.isEmpty
            if case .current(let revision) = first { self.subscriptions[fetch]!.state!.revision = revision }
            if case .snapshot = first { self.subscriptions[fetch]!.state = nil }
            if first == .alreadySubscribed {
                let other = self.subscriptions.first { $0.value.view == view && $0.key != fetch }
                self.subscriptions[fetch]!.state = try #require(other, "\(what): no other subscription").value.state
            }
        case .failure(let error):
            self.refusal = error
            if try self.takeChange(reply, requestID, what) { break }
            if let fetch = self.pendingSubscriptions.removeValue(forKey: requestID) {
                self.subscriptions[fetch] = nil
            }
        default:
            break
        }
    }

    private func take(_ push: EnginePush, _ what: String) throws {
        let known = self.subscriptions.filter { $0.value.view == push.view }.keys
        #expect(!known.isEmpty || self.leaving.values.contains(push.view), "\(what): a push for an unknown view")
        for fetch in known { try self.take(push, for: fetch, what) }
    }

    private func take(_ push: EnginePush, for fetch: ObjectFetchRequest, _ what: String) throws {
        let count = self.subscriptions[fetch]!.projection.count
        switch push.content {
        case .diff(let body):
            let diff = try ByteReader.read(body) { (reader) throws(DecodingFailure) in
                let diff = try reader.diff(valueCount: count, hasWindow: fetch.window != nil)
                try reader.finish("diff")
                return diff
            }
            #expect(!diff.isEmpty || diff.window != nil || diff.from == diff.to, "\(what): an empty diff")
            #expect((diff.window != nil) == (fetch.window != nil), "\(what): where a window is, of a view without")
            self.sectionChanges += diff.deletedSections.count + diff.insertedSections.count
            let held = self.subscriptions[fetch]!.state
            var state = try #require(held, "\(what): a diff before the snapshot")
            // What it was made from is exact at the revision at which it was changed.
            if diff.from == diff.to { state.revision = max(state.revision, diff.from) }
            let span = (state.revision.rawValue + 1)..<(diff.to.rawValue + 1)
            if self.own.contains(where: { span.contains($0.rawValue) }) {
                self.ownDiffs += 1
            } else {
                self.otherDiffs += 1
            }
            self.spans.append(span)
            let old = state
            let expected = NaiveDiff.apply(diff, to: state)
            self.diffs += 1
            self.moves += diff.moves.count
            do {
                try state.apply(diff)
            } catch {
                Issue.record("\(what): \(error) applying \(diff)")
                return
            }
            #expect(state.digest == diff.digest, "\(what): the digest after a diff")
            #expect(state == expected, "\(what): a diff applied the obvious way")
            self.check(diff, from: old, to: state, what)
            self.onDiff?(fetch, diff, old, state)
            self.subscriptions[fetch]!.state = state
            self.subscriptions[fetch]!.isPositionTold = true
        case .snapshot(let header, let bodies):
            var rows: [Row] = []
            for body in bodies {
                rows += try ByteReader.read(body.bytes) { (reader) throws(DecodingFailure) in
                    try reader.rows(valueCount: count)
                }
            }
            #expect(rows.count == header.rowCount, "\(what): a snapshot's rows")
            if fetch.window == nil {
                let whole = WindowPosition(
                    total: rows.count,
                    sectionTotal: header.sections.count,
                    start: WindowStart()
                )
                #expect(header.window == whole, "\(what): where the rows of a whole are")
            }
            let state = SectionedSnapshot(
                revision: header.revision,
                projection: self.subscriptions[fetch]!.projection,
                sections: header.sections(of: rows),
                window: fetch.window == nil ? nil : header.window
            )
            #expect(state.digest == header.digest, "\(what): the digest of a snapshot")
            self.subscriptions[fetch]!.state = state
            self.subscriptions[fetch]!.isPositionTold = true
        case .position(let position, let revision):
            try self.take(position, revision, for: fetch, what)
        case .changeSet:
            Issue.record("\(what): it follows no changes")
        case .end(let code, let message):
            guard code == .busy else {
                Issue.record("\(what): subscription ended: \(code) \(message)")
                return
            }
            self.ended.append(NestError(code, message))
            self.subscriptions[fetch] = nil
        }
    }

    /// At most one structural event and one update for each row, no event without an effect.
    private func check(_ diff: ResultsDiff, from old: SectionedSnapshot, to new: SectionedSnapshot, _ what: String) {
        var before: [ObjectID: Row] = [:]
        for row in old.sections.flatMap(\.rows) { before[row.id] = row }
        let moved = diff.moves.map { old[$0.from].id }
        let structural = moved + diff.deletedRows.map(\.id) + diff.insertedRows.map(\.row.id)
        #expect(Set(structural).count == structural.count, "\(what): two structural events of a row")
        #expect(zip(diff.moves, moved).allSatisfy { new[$0.to].id == $1 }, "\(what): a move to another's place")
        #expect(Set(diff.updates.map(\.path)).count == diff.updates.count, "\(what): two updates of a row")
        for update in diff.updates {
            let id = new[update.path].id
            #expect(!update.values.isEmpty, "\(what): an update of nothing")
            for (property, value) in update.values {
                let slot = new.projection.firstIndex(of: property)!
                #expect(before[id].map { $0.values[slot] != value } ?? false, "\(what): an update that changes nothing")
            }
        }
        let names = new.sections.map(\.key)
        #expect(Set(names).count == names.count, "\(what): two sections have one name")
    }
}

extension SnapshotHeader {
    /// The rows in their sections.
    func sections(of rows: [Row]) -> [ResultsSection] {
        var rest = rows[...]
        return self.sections.map { section in
            defer { rest = rest.dropFirst(section.rowCount) }
            return ResultsSection(key: section.key, rows: Array(rest.prefix(section.rowCount)))
        }
    }
}
