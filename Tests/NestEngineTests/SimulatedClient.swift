import NestProtocol
import NestEngine
import NestModel
import NestTestSupport
import Testing

/// A client of the engine without a socket. It applies what it receives and checks its state.
final class SimulatedClient {
    let session: Identifier128
    private(set) var connection: ConnectionID
    private var nextRequest: UInt32 = 1
    private(set) var historyID: Identifier128?
    /// The hash of the server's model, as the client knows it.
    private(set) var modelHash: UInt64?

    struct Subscription {
        /// The number of the subscription, in the order in which the client made them.
        let number: Int
        var view: UInt32?
        var state: SectionedSnapshot?
        var projection: [PropertyNumber] = []
        /// The number of UNSUBSCRIBE requests that end it.
        var holds = 1
        /// The objects that a window around an object may follow.
        var followed: Set<ObjectID?> = []
        /// Whether the subscription began in this batch.
        var isNew = true
        /// The anchor and the revision from which the subscription was resumed.
        var resumed: (anchor: ObjectID?, revision: Revision)?
        /// Whether the server gave a reason why it sends no difference. It may then not know the anchor's old position.
        var hasLostPosition = false
        /// Whether the state is that of an earlier request: the difference to the new one has not arrived.
        var awaitsDifference = false
        /// Whether the server has sent the position of the window in this batch.
        var isPositionSent = false
    }

    var subscriptions: [ObjectFetchRequest: Subscription] = [:]
    private var subscriptionCount = 0
    /// Whether the connection is blocked.
    private(set) var isBlocked = false
    private(set) var replies: [UInt32: EngineReply] = [:]
    private(set) var pendingSubscriptions: [UInt32: ObjectFetchRequest] = [:]
    /// The views of unanswered UNSUBSCRIBE requests, by request: the server may still push to them.
    private var leaving: [UInt32: UInt32] = [:]
    /// The changes of subscriptions that are not answered yet.
    var pendingChanges: [UInt32: (old: ObjectFetchRequest, new: ObjectFetchRequest)] = [:]
    /// The answers to changes of subscriptions in this batch.
    var changeAnswers: [(old: ObjectFetchRequest, new: ObjectFetchRequest, reply: EngineReply)] = []
    /// The client's states each time the server reported that it had sent everything up to a revision.
    var claims: [(revision: Revision, states: [ObjectFetchRequest: SectionedSnapshot])] = []
    /// The number of applied diffs, and of the moves in them.
    private(set) var diffs = 0
    private(set) var moves = 0
    private(set) var sectionChanges = 0
    /// The number of totals that came without rows.
    private(set) var totalsUpdates = 0
    /// The last error that answered a request.
    private(set) var refusal: NestError?
    /// The last undo state that the server has pushed.
    private(set) var undoState: UndoState?
    /// The clients that this one knows to be present, by scope.
    var presence = KnownPresence()
    /// Called with each PRESENCE, when the client has taken it and all that came before.
    var onPresence: ((PresenceMessage) -> Void)?
    /// Called with each diff and the states before and after it.
    var onDiff: ((ObjectFetchRequest, ResultsDiff, _ old: SectionedSnapshot, _ new: SectionedSnapshot) -> Void)?
    /// The highest revision of a receipt. The subscriptions must be up to date with it when the receipt arrives.
    private(set) var acknowledged = Revision(0)
    var progress = Revision(0)
    /// The revisions that the server has reported as the connection's own, and the revisions that diffs have spanned.
    private var own: Set<Revision> = []
    private var spans: [Range<UInt64>] = []
    /// The own revisions that receipts have named. Once all requests are answered, they include all reported ones.
    private var confirmed: Set<Revision> = []
    var hasUnconfirmedOwnWrites: Bool { !self.own.isSubset(of: self.confirmed) }
    /// The label of the client's writes.
    var user: UserLabel?
    /// Whether the next connection gets AUTHORS.
    var followsAuthors = false
    /// Whether OWN names requests on the next connection.
    var namesOwnRequests = false
    /// The requests that OWN has named, by revision.
    private(set) var ownRequests: [Revision: UInt32] = [:]
    /// The newest revision that a list has shown on this connection.
    private var shown = Revision(0)
    /// The authors that the server has named, by message.
    private(set) var authors: [[RevisionAuthor]] = []
    /// The number of diffs with own writes, and of those with other sessions' writes only.
    private(set) var ownDiffs = 0
    private(set) var otherDiffs = 0

    init(session: Identifier128, connection: ConnectionID) {
        self.session = session
        self.connection = connection
    }

    /// The scope of the token with which the client connects.
    var scope = AuthorisationScope.everything

    func connect(as connection: ConnectionID) -> EngineInput {
        self.connection = connection
        self.isBlocked = false
        self.replies = [:]
        self.pendingSubscriptions = [:]
        self.pendingChanges = [:]
        self.leaving = [:]
        self.own = []
        self.ownRequests = [:]
        self.shown = Revision(0)
        self.spans = []
        // View ids mean nothing on another connection.
        for request in self.subscriptions.keys {
            self.subscriptions[request]!.view = nil
            self.subscriptions[request]!.holds = 1
        }
        return .connected(
            connection,
            session: self.session,
            scope: self.scope,
            user: self.user,
            followsAuthors: self.followsAuthors,
            namesOwnRequests: self.namesOwnRequests
        )
    }

    func request(_ request: EngineRequest) -> (id: UInt32, input: EngineInput) {
        defer { self.nextRequest += 1 }
        return (self.nextRequest, .request(self.connection, requestID: self.nextRequest, request))
    }

    /// Returns a request for the children of an item of the nested list.
    static func children(of parent: ObjectID, _ projection: [PropertyNumber] = []) -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: EntityNumber(1),
            source: FetchSource(object: parent, relationship: PropertyNumber(6)),
            projection: projection
        )
    }

    func state(_ parent: ObjectID) -> SectionedSnapshot? { self.subscriptions[Self.children(of: parent)]?.state }

    /// Resumes all subscriptions from the revisions that the client holds.
    func resumeAll(atLeast: Revision = Revision(0)) -> [EngineInput] {
        self.subscriptions.sorted { $0.value.number < $1.value.number }
            .map { self.subscribe($0.key, resuming: true, atLeast: atLeast) }
    }

    func subscribe(_ parent: ObjectID, _ projection: [PropertyNumber] = [], resuming: Bool = false) -> EngineInput {
        self.subscribe(Self.children(of: parent, projection), resuming: resuming)
    }

    func subscribe(
        _ fetch: ObjectFetchRequest,
        resuming: Bool = false,
        atLeast: Revision = Revision(0)
    ) -> EngineInput {
        var point: ResumePoint?
        if resuming, let held = self.subscriptions[fetch]?.state, let historyID,
            self.subscriptions[fetch]?.awaitsDifference == false
        {
            point = ResumePoint(historyID: historyID, revision: held.revision)
            self.subscriptions[fetch]!.resumed = (held.window?.anchor, held.revision)
        } else {
            self.subscriptionCount += 1
            self.subscriptions[fetch] = Subscription(number: self.subscriptionCount)
        }
        let (id, input) = self.request(.subscribe(self.named(fetch), resume: point, atLeast: atLeast))
        self.pendingSubscriptions[id] = fetch
        return input
    }

    /// Ends the client's oldest subscription.
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

    /// The errors of the subscriptions that the server has ended: because of too little memory, or as the test expects.
    private(set) var ended: [NestError] = []
    var expectedEnds: Set<ErrorCode> = [.busy, .limitExceeded]
    /// Whether the engine waits until the connection has drained before it sends more.
    private(set) var awaitsDrain = false

    func drain() -> EngineInput {
        self.isBlocked = false
        self.awaitsDrain = false
        return .drained(self.connection)
    }

    // MARK: Effects

    func take(_ effect: EngineEffect, _ what: String) throws {
        switch effect {
        case .welcome(let id, let welcome):
            guard id == self.connection else { return }
            self.historyID = welcome.historyID
            self.modelHash = welcome.modelHash
        case .reply(let id, let requestID, let reply):
            guard id == self.connection else { return }
            try self.take(reply, requestID, what)
        case .push(let push, let to):
            guard to.contains(self.connection) else { return }
            try self.take(push, what)
        case .own(let message, let to):
            guard to == self.connection else { return }
            let revisions = message.writes.map(\.revision)
            self.take(message.writes, what)
            #expect(!revisions.isEmpty && revisions == Set(revisions).sorted(), "\(what): own revisions not ascending")
            // A write whose answer waits may be reported twice: with the resumed subscription and with the answer.
            let new = revisions.filter { !self.own.contains($0) }
            let late = new.filter { revision in self.spans.contains { $0.contains(revision.rawValue) } }
            #expect(late.isEmpty, "\(what): own revisions after the diffs that contain them")
            self.own.formUnion(revisions)
        case .authors(let body, let to):
            guard to.contains(self.connection) else { return }
            #expect(self.followsAuthors, "\(what): authors without the feature")
            let message = try ByteReader.read(body) { (reader) throws(DecodingFailure) in try Authors(from: &reader) }
            self.authors.append(message.authors)
        case .presence(let body, let to):
            guard to.contains(self.connection) else { return }
            #expect(!self.isBlocked, "\(what): presence on a blocked connection")
            let message = try ByteReader.read(body) { (reader) throws(DecodingFailure) in
                try PresenceMessage(from: &reader)
            }
            self.presence.take(message)
            self.onPresence?(message)
        case .model(let model, let to):
            guard to.contains(self.connection) else { return }
            #expect(model.hash != self.modelHash, "\(what): the same model is sent again")
            self.modelHash = model.hash
        case .read, .tokensChanged, .peerPresence, .replica, .forward:
            break
        case .end(let id, let error):
            #expect(id != self.connection, "\(what): \(error)")
        case .undoState(let state, let to):
            if to.contains(self.connection) { self.undoState = state }
        case .whenDrained(let id):
            if id == self.connection { self.awaitsDrain = true }
        case .progress(let revision, let to):
            guard to.contains(self.connection) else { return }
            self.progress = revision
            self.shown = max(self.shown, revision)
            self.claim(revision)
            for fetch in self.subscriptions.keys where self.subscriptions[fetch]!.view != nil {
                let held = self.subscriptions[fetch]!.state!.revision
                self.subscriptions[fetch]!.state!.revision = max(held, revision)
            }
        }
    }

    /// With the feature, a client knows of each state whether it contains a write, from the first frame that shows it.
    private func take(_ own: [OwnWrite], _ what: String) {
        for write in own {
            #expect((write.requestID > 0) == self.namesOwnRequests, "\(what): OWN names a request, or does not")
            guard self.namesOwnRequests else { continue }
            #expect(write.revision > self.shown, "\(what): revision \(write.revision) was shown before OWN")
            #expect(self.ownRequests[write.revision] == nil, "\(what): OWN names revision \(write.revision) twice")
            self.ownRequests[write.revision] = write.requestID
        }
    }

    private func take(_ reply: EngineReply, _ requestID: UInt32, _ what: String) throws {
        #expect(self.replies[requestID] == nil, "\(what): two replies to request \(requestID)")
        self.replies[requestID] = reply
        if self.leaving.removeValue(forKey: requestID) != nil {
            return #expect(reply.isDone, "\(what): UNSUBSCRIBE failed: \(reply)")
        }
        switch reply {
        case .receipt(let receipt):
            self.acknowledged = max(self.acknowledged, receipt.revision)
            self.claim(receipt.revision)
            guard receipt.isChanged, !receipt.isReplayed else { break }
            let wasSpanned = self.spans.contains { $0.contains(receipt.revision.rawValue) }
            #expect(!wasSpanned || self.own.contains(receipt.revision), "\(what): an own write not reported as own")
            let isNamed = self.ownRequests[receipt.revision] == requestID
            #expect(isNamed || !self.namesOwnRequests, "\(what): OWN has not named request \(requestID)")
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
            self.subscriptions[fetch]!.hasLostPosition = !reason.isEmpty
            if case .current(let revision) = first {
                self.subscriptions[fetch]!.state!.revision = revision
                self.shown = max(self.shown, revision)
            }
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
            var diff = try ByteReader.read(body) { (reader) throws(DecodingFailure) in
                let diff = try reader.diff(valueCount: count, hasWindow: fetch.window != nil)
                try reader.finish("diff")
                return diff
            }
            diff.totals = try self.totals(push.totals, isBeforeRows: true, fetch, what)
            #expect(diff.totals == nil || diff.totals?.revision == diff.to, "\(what): totals of another revision")
            #expect(!diff.isEmpty || diff.window != nil || diff.from == diff.to, "\(what): an empty diff")
            #expect((diff.window != nil) == (fetch.window != nil), "\(what): a wrong or missing window position")
            self.sectionChanges += diff.deletedSections.count + diff.insertedSections.count
            let held = self.subscriptions[fetch]!.state
            var state = try #require(held, "\(what): a diff before the snapshot")
            // The diff of a changed subscription starts from a state that is exact at the revision of the change.
            if diff.from == diff.to { state.revision = max(state.revision, diff.from) }
            let span = (state.revision.rawValue + 1)..<(diff.to.rawValue + 1)
            if self.own.contains(where: { span.contains($0.rawValue) }) {
                self.ownDiffs += 1
            } else {
                self.otherDiffs += 1
            }
            self.spans.append(span)
            self.shown = max(self.shown, diff.to)
            let old = state
            let expected = NaiveDiff.apply(diff, to: state)
            self.diffs += 1
            self.moves += diff.moves.count
            do {
                try state.apply(diff)
            } catch {
                Issue.record("\(what): \(error) applying \(diff) to \(old) of \(fetch)")
                return
            }
            #expect(state.digest == diff.digest, "\(what): wrong digest after a diff")
            #expect(state == expected, "\(what): the naive applier gives another state")
            self.check(diff, from: old, to: state, what)
            self.onDiff?(fetch, diff, old, state)
            self.subscriptions[fetch]!.state = state
            self.subscriptions[fetch]!.awaitsDifference = false
            self.subscriptions[fetch]!.isPositionSent = true
        case .snapshot(let header, let bodies):
            var rows: [Row] = []
            for body in bodies {
                rows += try ByteReader.read(body.bytes) { (reader) throws(DecodingFailure) in
                    try reader.rows(valueCount: count)
                }
            }
            #expect(rows.count == header.rowCount, "\(what): wrong row count of a snapshot")
            if fetch.window == nil {
                let whole = WindowPosition(
                    total: rows.count,
                    sectionTotal: header.sections.count,
                    start: WindowStart()
                )
                #expect(header.window == whole, "\(what): wrong position without a window")
            }
            var state = SectionedSnapshot(
                revision: header.revision,
                projection: self.subscriptions[fetch]!.projection,
                sections: header.sections(of: rows),
                window: fetch.window == nil ? nil : header.window
            )
            if let totals = try self.totals(push.totals, isBeforeRows: true, fetch, what) {
                #expect(totals.revision == state.revision && state.apply(totals), "\(what): wrong totals of a snapshot")
            }
            #expect(state.digest == header.digest, "\(what): wrong digest of a snapshot")
            self.subscriptions[fetch]!.state = state
            self.shown = max(self.shown, header.revision)
            self.subscriptions[fetch]!.isPositionSent = true
        case .position(let position, let revision):
            try self.take(position, revision, for: fetch, what)
        case .totals(let body):
            let totals = try #require(try self.totals(body, isBeforeRows: false, fetch, what))
            var state = try #require(self.subscriptions[fetch]!.state, "\(what): totals before the snapshot")
            #expect(state.revision <= totals.revision && state.apply(totals), "\(what): totals that do not fit")
            state.revision = totals.revision
            self.subscriptions[fetch]!.state = state
            self.totalsUpdates += 1
        case .changeSet:
            Issue.record("\(what): a change set for a client that follows no changes")
        case .end(let code, let message):
            guard self.expectedEnds.contains(code) else {
                Issue.record("\(what): subscription ended: \(code) \(message)")
                return
            }
            self.ended.append(NestError(code, message))
            self.subscriptions[fetch] = nil
        }
    }

    private func totals(
        _ body: [UInt8]?,
        isBeforeRows: Bool,
        _ fetch: ObjectFetchRequest,
        _ what: String
    ) throws -> TotalsUpdate? {
        guard let body else { return nil }
        let message = try ByteReader.read(body) { (reader) throws(DecodingFailure) in
            try ResultTotalsMessage(from: &reader)
        }
        #expect(message.isBeforeRows == isBeforeRows, "\(what): totals for other rows")
        #expect(message.totals.values.count == fetch.totals.count, "\(what): \(message.totals) for \(fetch.totals)")
        return message.totals
    }

    /// Checks that each row has at most one structural event and one update, and that each event has an effect.
    private func check(_ diff: ResultsDiff, from old: SectionedSnapshot, to new: SectionedSnapshot, _ what: String) {
        var before: [ObjectID: Row] = [:]
        for row in old.sections.flatMap(\.rows) { before[row.id] = row }
        let moved = diff.moves.map { old[$0.from].id }
        let structural = moved + diff.deletedRows.map(\.id) + diff.insertedRows.map(\.row.id)
        #expect(Set(structural).count == structural.count, "\(what): two structural events for a row")
        #expect(zip(diff.moves, moved).allSatisfy { new[$0.to].id == $1 }, "\(what): a move to a wrong position")
        #expect(Set(diff.updates.map(\.path)).count == diff.updates.count, "\(what): two updates of a row")
        for update in diff.updates {
            let id = new[update.path].id
            #expect(!update.values.isEmpty, "\(what): an update without values")
            for (property, value) in update.values {
                let slot = new.projection.firstIndex(of: property)!
                #expect(before[id].map { $0.values[slot] != value } ?? false, "\(what): an update that changes nothing")
            }
        }
        let names = new.sections.map(\.key)
        #expect(Set(names).count == names.count, "\(what): two sections with the same name")
    }
}

extension SnapshotHeader {
    /// Returns the rows in their sections.
    func sections(of rows: [Row]) -> [ResultsSection] {
        var rest = rows[...]
        return self.sections.map { section in
            defer { rest = rest.dropFirst(section.rowCount) }
            return ResultsSection(key: section.key, rows: Array(rest.prefix(section.rowCount)))
        }
    }
}
