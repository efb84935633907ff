import NIOCore
import NestFraming
import NestModel
import NestProtocol
import NestTestSupport
import Testing

@testable import NestClient

/// A client's state machine with one outline, connected to a naive server by two slow pipes, and a user who remembers
/// what the outline must show: the accepted edits and fold states in call order.
struct OutlineWorld {
    private enum Call {
        case edit(OutlineEdit)
        case folds([ExpandedState])
    }

    /// How often the cases happened that matter.
    struct Events {
        var diffs = 0
        var runs = 0
        var refusals = 0
        var replaced = 0
        var restored = 0
        /// Runs that began with cached rows, and checks of those.
        var begun = 0
        var checked = 0
    }

    private static let now = NIODeadline.uptimeNanoseconds(0)
    private static let subscriber = SubscriberID(1)

    private(set) var machine = Self.newMachine()
    private(set) var server = OutlineServer()
    private(set) var events = Events()
    /// What the user has last seen.
    private(set) var seen = OutlineState.empty
    private(set) var queue: ResultsQueue
    /// The request of each run.
    private let asked: ObjectFetchRequest
    private var cache = MemoryCache()
    private var wanted: ObjectFetchRequest
    private var wantedFolds: [ObjectID: Bool] = [:]
    private var calls: [(token: RequestToken, call: Call, isAnswered: Bool)] = []
    private var inbox: [Frame] = []
    private let decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesMax)
    private var isGreeting = false
    private let label: String
    var isPaused = false

    init(_ expansion: OutlineExpansion, _ label: String, _ random: inout SeededRandom) {
        var request = ObjectFetchRequest(
            entity: EntityNumber(1),
            source: FetchSource(object: OutlineServer.root, relationship: PropertyNumber(6)),
            projection: OutlineServer.projection,
            window: .range(offset: 0, limit: 8)
        )
        request.outline = FetchOutline(expansion)
        self.label = label
        self.wanted = request
        self.asked = request
        for _ in 0..<12 { self.server.write(&random) }
        self.queue = Self.newQueue(request, label)
        self.perform(self.machine.connect())
        self.connect()
        self.perform(self.machine.subscribe(Self.subscriber, to: request))
    }

    private static func newMachine() -> ClientStateMachine {
        ClientStateMachine(
            hello: Hello(clientName: "t", session: Identifier128(high: 1, low: 2)),
            seed: 1,
            usesCache: true
        )
    }

    private static func newQueue(_ request: ObjectFetchRequest, _ label: String) -> ResultsQueue {
        ResultsQueue(
            request,
            verifiesDigest: true,
            onTaken: { _ in },
            onMismatch: { Issue.record("\(label): \($0)") }
        )
    }

    /// Ends the program. The next run asks for the same outline, and begins with what the cache has.
    mutating func beginAgain() throws {
        self.unsubscribe()
        self.inbox = []
        self.server.disconnect()
        self.machine = Self.newMachine()
        self.queue = Self.newQueue(self.asked, self.label)
        (self.wanted, self.wantedFolds, self.seen, self.isPaused) = (self.asked, [:], .empty, false)
        let cached = try self.cache.views[self.asked.cacheKey]?.load(as: self.asked)
        if let folds = cached?.folds {
            self.wanted.outline = folds.last.outline
            for state in folds.last.laterStates { self.wantedFolds[state.object] = state.isExpanded }
            self.events.begun += 1
        }
        self.perform(self.machine.subscribe(Self.subscriber, to: self.asked, cached: cached))
        self.take()
        #expect(self.seen.rows == cached.flatMap { OutlineState($0.state)?.rows } ?? [], "\(self.label)")
        #expect(!self.queue.isCurrent, "\(self.label)")
    }

    /// Compares what the cache has with what is shown: all fold states, and the rows if they are those of a new run.
    private mutating func checkCache(_ comment: Comment) throws {
        guard let view = self.cache.views[self.asked.cacheKey] else { return }
        let loaded = try view.load(as: self.asked)
        #expect(try view.rewritten().load(as: self.asked).folds == loaded.folds, comment)
        #expect(try view.rewritten().load(as: self.asked).state == loaded.state, comment)
        guard let subscription = self.machine.subscriptions.values.first, subscription.recording != nil else { return }
        #expect(loaded.folds?.last == subscription.folds, comment)
        guard subscription.original.window == self.asked.window, !subscription.showsOtherRows else { return }
        #expect(loaded.state.sections == self.queue.state.sections, comment)
        #expect(loaded.state.window == self.queue.state.window, comment)
        self.events.checked += 1
    }

    var unansweredCount: Int { self.calls.count { !$0.isAnswered } }

    // MARK: The user

    mutating func edit(_ edit: OutlineEdit) {
        let token = self.note(.edit(edit))
        self.perform(self.machine.edit(Self.subscriber, edit, token))
    }

    mutating func setExpanded(_ states: [ExpandedState]) {
        let token = self.note(.folds(states))
        self.perform(self.machine.setExpanded(Self.subscriber, states, token))
    }

    private mutating func note(_ call: Call) -> RequestToken {
        let token = RequestToken(UInt64(self.calls.count) + 10)
        self.calls.append((token, call, false))
        return token
    }

    mutating func pauseOrResume() {
        self.isPaused.toggle()
        self.perform(
            self.isPaused ? self.machine.pause(Self.subscriber) : self.machine.resume(Self.subscriber)
        )
    }

    mutating func restart() { self.perform(self.machine.restart(Self.subscriber, reason: "restarted")) }

    mutating func unsubscribe() { self.perform(self.machine.unsubscribe(Self.subscriber)) }

    /// Takes a change and compares its runs with the rows before and after.
    mutating func take() {
        guard let event = self.queue.advance() else { return }
        let snapshot = self.queue.state
        guard let state = OutlineState(snapshot) else {
            #expect(snapshot.revision == Revision(0), "\(self.label)")
            return
        }
        let change = OutlineChange(event, state)
        if change.diff != nil {
            self.events.diffs += 1
            self.events.runs += change.runs.count
            #expect(Self.apply(change.runs, to: self.seen, after: state), "\(self.label): \(change.runs)")
        }
        self.seen = state
    }

    /// Whether the runs lead from the ids of one state to those of the next, and cannot be joined further.
    private static func apply(_ runs: [OutlineRun], to before: OutlineState, after: OutlineState) -> Bool {
        let old = before.rows.map(\.id)
        var leaving: Set<Int> = []
        var new = [ObjectID?](repeating: nil, count: after.rows.count)
        for run in runs {
            guard run.count > 0, (run.oldIndex == nil) == (run.kind == .inserted),
                (run.newIndex == nil) == (run.kind == .removed)
            else { return false }
            for index in run.oldRows ?? 0..<0 where !leaving.insert(index).inserted { return false }
            for (step, index) in (run.newRows ?? 0..<0).enumerated() {
                guard new[index] == nil else { return false }
                new[index] = run.oldIndex.map { old[$0 + step] } ?? after.rows[index].id
            }
            let isJoinable = runs.contains { next in
                next.kind == run.kind && next.oldIndex == run.oldRows?.upperBound
                    && next.newIndex == run.newRows?.upperBound
            }
            if isJoinable { return false }
        }
        var staying = old.indices.filter { !leaving.contains($0) }.map { old[$0] }[...]
        for index in new.indices where new[index] == nil { new[index] = staying.popFirst() }
        return staying.isEmpty && new == after.rows.map(\.id)
    }

    // MARK: The connection

    mutating func write(_ random: inout SeededRandom) { self.server.write(&random) }

    mutating func catchUp() { self.server.catchUp() }

    mutating func loseConnection() {
        // A client that has neither had a connection nor shows cached rows gives up.
        guard self.machine.welcome != nil || self.machine.showsCachedStates else { return }
        self.inbox = []
        self.server.disconnect()
        self.perform(self.machine.channelClosed(nil, now: Self.now))
        self.perform(self.machine.backoffEnded())
        self.events.restored += 1
    }

    mutating func connect() {
        guard self.machine.phase == .connecting else { return }
        self.isGreeting = true
        self.perform(self.machine.channelOpened(now: Self.now))
        self.perform(self.machine.received(.server(chosen: 1)))
        let welcome = Welcome(
            serverName: "s",
            features: .all,
            historyID: Identifier128(high: 0, low: 1),
            revision: self.server.revision,
            oldestRevision: Revision(0),
            modelHash: 0,
            sessionNumber: 1,
            requestsInFlightMax: 4
        )
        let frame = Frame(type: MessageType.welcome.rawValue, id: 0, body: ByteBuffer(bytes: welcome.body))
        self.perform(self.machine.received(frame, now: Self.now))
    }

    mutating func deliverToServer(_ random: inout SeededRandom) throws {
        guard !self.inbox.isEmpty else { return }
        try self.server.receive(self.inbox.removeFirst(), &random)
    }

    mutating func deliverToClient() {
        guard self.machine.phase == .ready, !self.server.outbox.isEmpty else { return }
        self.perform(self.machine.received(self.server.outbox.removeFirst(), now: Self.now))
    }

    mutating func settle(_ random: inout SeededRandom) throws {
        self.connect()
        for round in 0... {
            try #require(round < 1_000, "\(self.label): client and server exchange frames without end")
            self.server.catchUp()
            if self.inbox.isEmpty, self.server.outbox.isEmpty { break }
            try self.deliverToServer(&random)
            self.deliverToClient()
        }
        self.server.sendProgress()
        self.deliverToClient()
        for _ in 0..<400 { self.take() }
    }

    /// Compares all with what the user wants.
    mutating func check(_ place: String) throws {
        let comment = Comment(rawValue: "\(self.label), \(place)")
        try self.checkCache(comment)
        let view = try #require(self.server.view, comment)
        #expect(view.request.source == self.wanted.source, comment)
        #expect(view.request.predicate == self.wanted.predicate, comment)
        #expect(view.expansion == self.wanted.outline?.expansion, comment)
        if case .range? = self.wanted.window { #expect(view.request.window == self.wanted.window, comment) }
        var expected = OutlineServer.View(
            id: view.id,
            request: view.request,
            expansion: self.wanted.outline?.expansion ?? .none,
            exceptions: Set(self.wanted.outline?.exceptions ?? [])
        )
        for (object, isExpanded) in self.wantedFolds { expected.set(object, isExpanded) }
        #expect(view.exceptions == expected.exceptions, comment)
        let state = self.server.state(expected)
        #expect(self.queue.state.sections == state.sections, comment)
        #expect(self.queue.state.window == state.window, comment)
        #expect(self.queue.digest == state.digest, comment)
        #expect(self.seen == OutlineState(self.queue.state), comment)
        #expect(self.unansweredCount == 0, comment)
    }

    // MARK: Actions

    private mutating func perform(_ actions: [ClientAction]) {
        for action in actions {
            switch action {
            case .send(var bytes):
                guard !self.isGreeting else {
                    self.isGreeting = false
                    continue
                }
                while let frame = try? self.decoder.next(from: &bytes) { self.inbox.append(frame) }
            case .deliver(let element, _, _): _ = self.queue.append(element, byteCount: 0)
            case .succeed(let token, .changed(let isNewest)): self.answer(token, isNewest: isNewest, error: nil)
            case .fail(let token, let error): self.answer(token, isNewest: false, error: error)
            case .cache(let change): self.cache.record(change)
            case .endSubscription(_, let error): Issue.record("\(self.label): the outline has ended: \(error)")
            case .closeChannel: Issue.record("\(self.label): the client closes the connection")
            default: break
            }
        }
    }

    private mutating func answer(_ token: RequestToken, isNewest: Bool, error: NestError?) {
        let index = Int(token.rawValue) - 10
        #expect(!self.calls[index].isAnswered, "\(self.label): answered twice")
        self.calls[index].isAnswered = true
        if error != nil { self.events.refusals += 1 } else if !isNewest { self.events.replaced += 1 }
        guard isNewest else { return }
        switch self.calls[index].call {
        case .edit(let edit):
            edit.apply(to: &self.wanted)
            if edit.outline != nil { self.wantedFolds = [:] }
        case .folds(let states):
            for state in states { self.wantedFolds[state.object] = state.isExpanded }
        }
    }
}
