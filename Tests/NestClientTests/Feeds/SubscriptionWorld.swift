import NIOConcurrencyHelpers
import NIOCore
import NestModel
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

@testable import NestClient

/// A client's state machine with its subscribers' queues, connected to a plain server by two slow pipes.
struct SubscriptionWorld {
    /// A subscriber and its expected final request.
    struct Subscriber {
        var queue: ResultsQueue
        var request: ObjectFetchRequest
        var law: ConsumerLaw
        var isPaused = false
        /// An upper bound of the number of changes in its queue.
        var waitingCount = 0
        /// Its request changes in call order. Each is answered once.
        var changes: [(token: RequestToken, request: ObjectFetchRequest, answer: Answer?)] = []
    }

    /// How often the cases happened that matter.
    struct Events {
        /// Subscribers that continued with another one's state, or with its snapshot.
        var joins = 0
        /// Those that had to wait for a snapshot.
        var waitingJoins = 0
        var mismatches = 0
        var restores = 0
        /// Subscribers that began with a cached state, and states that were compared with the cache's.
        var cached = 0
        var compared = 0

        static func += (sum: inout Events, events: Events) {
            sum.joins += events.joins
            sum.waitingJoins += events.waitingJoins
            sum.mismatches += events.mismatches
            sum.restores += events.restores
            sum.cached += events.cached
            sum.compared += events.compared
        }
    }

    enum Answer: Equatable {
        case made
        case superseded
        case refused
    }

    private static let now = NIODeadline.uptimeNanoseconds(0)

    private(set) var machine = ClientStateMachine(
        hello: Hello(clientName: "t", session: Identifier128(high: 1, low: 2)),
        seed: 1,
        usesCache: true
    )
    /// What the client has recorded.
    private(set) var cache = MemoryCache()
    private(set) var server: PlainServer
    private(set) var subscribers: [SubscriberID: Subscriber] = [:]
    private(set) var events = Events()
    /// Frames on their way to the server.
    private var inbox: [Frame] = []
    private let decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesMax)
    private var isGreeting = false
    /// The number of the history that the client knows.
    private var knownHistory: UInt64 = 1
    private var nextNumber: UInt64 = 1
    private let label: String
    /// The subscribers that have reported a wrong state, oldest first.
    private let mismatches = NIOLockedValueBox<[SubscriberID]>([])

    init(keepsIDs: Bool, isFaulty: Bool = false, _ label: String) {
        self.server = PlainServer(keepsIDs: keepsIDs)
        self.server.isFaulty = isFaulty
        self.label = label
        self.perform(self.machine.connect())
        self.connect()
    }

    // MARK: Subscribers

    var ids: [SubscriberID] { self.subscribers.keys.sorted { $0.rawValue < $1.rawValue } }

    mutating func subscribe(_ request: ObjectFetchRequest) {
        let id = SubscriberID(self.takeNumber())
        let mismatches = self.mismatches
        let queue = ResultsQueue(
            request,
            verifiesDigest: true,
            onTaken: { _ in },
            onMismatch: { _ in mismatches.withLockedValue { $0.append(id) } }
        )
        self.subscribers[id] = Subscriber(
            queue: queue,
            request: request,
            law: ConsumerLaw(request, since: self.knownHistory)
        )
        // If loading fails, the server was faulty; the client then subscribes as without a cache.
        let cached = self.machine.isShared(request) ? nil : try? self.cache.views[request.cacheKey]?.load(as: request)
        if cached != nil { self.events.cached += 1 }
        self.perform(self.machine.subscribe(id, to: request, cached: cached))
    }

    /// Compares the cache with the states that subscribers hold.
    mutating func checkCache(_ label: String) {
        for (_, subscriber) in self.subscribers {
            if self.cache.check(subscriber.request, self.server, label) { self.events.compared += 1 }
        }
    }

    /// Removes a subscriber. All its request changes must have been answered by then.
    mutating func unsubscribe(_ id: SubscriberID) {
        self.perform(self.machine.unsubscribe(id))
        let unanswered = self.subscribers[id]?.changes.filter { $0.answer == nil } ?? []
        #expect(unanswered.isEmpty, "\(self.label)")
        self.subscribers[id] = nil
    }

    mutating func change(_ id: SubscriberID, to request: ObjectFetchRequest) {
        let token = RequestToken(self.takeNumber())
        self.subscribers[id]?.changes.append((token, request, nil))
        self.perform(self.machine.change(id, to: request, token))
    }

    mutating func pause(_ id: SubscriberID) {
        self.subscribers[id]?.isPaused = true
        self.perform(self.machine.pause(id))
    }

    mutating func resume(_ id: SubscriberID) {
        self.subscribers[id]?.isPaused = false
        self.perform(self.machine.resume(id))
    }

    /// Takes up to `count` changes from the subscriber's queue.
    mutating func take(_ id: SubscriberID, count: Int) {
        guard let queue = self.subscribers[id]?.queue else { return }
        for _ in 0..<count {
            let known = self.mismatches.withLockedValue { $0.count }
            let change = queue.advance()
            if self.mismatches.withLockedValue({ $0.count }) > known {
                self.subscribers[id]?.law.mismatched(change)
                continue
            }
            if let fault = self.subscribers[id]?.law.fault(after: change, queue, self.server) {
                Issue.record("\(self.label), subscriber \(id.rawValue) \(fault)")
            }
        }
    }

    /// Lets the client handle the oldest report of a wrong state. Returns whether there was one.
    @discardableResult
    mutating func handleMismatch() -> Bool {
        let id = self.mismatches.withLockedValue { $0.isEmpty ? nil : $0.removeFirst() }
        guard let id else { return false }
        self.events.mismatches += 1
        #expect(self.server.isFaulty, "\(self.label): subscriber \(id.rawValue) reports a wrong state")
        self.perform(self.machine.restart(id, reason: "wrong"))
        return true
    }

    /// Lets the client get the state of a subscriber anew.
    mutating func restart(_ id: SubscriberID) { self.perform(self.machine.restart(id, reason: "restarted")) }

    // MARK: The connection

    mutating func write(_ random: inout SeededRandom) { self.server.write(&random) }

    /// Replaces the store by a backup.
    mutating func restore(_ random: inout SeededRandom) {
        self.events.restores += 1
        self.server.restore(&random)
        self.loseConnection()
    }

    mutating func loseConnection() {
        self.inbox = []
        self.server.disconnect()
        self.perform(self.machine.channelClosed(nil, now: Self.now))
        self.perform(self.machine.backoffEnded())
    }

    mutating func connect() {
        guard self.machine.phase == .connecting else { return }
        self.isGreeting = true
        if self.knownHistory != self.server.historyNumber {
            self.knownHistory = self.server.historyNumber
            for id in self.ids { self.subscribers[id]?.law.historyChanged() }
        }
        self.perform(self.machine.channelOpened(now: Self.now))
        self.perform(self.machine.received(.server(chosen: 1)))
        let welcome = Welcome(
            serverName: "s",
            features: .all,
            historyID: self.server.historyID,
            revision: self.server.head,
            oldestRevision: Revision(0),
            modelHash: 0,
            sessionNumber: 1,
            requestsInFlightMax: 4
        )
        let frame = Frame(type: MessageType.welcome.rawValue, id: 0, body: ByteBuffer(bytes: welcome.body))
        self.perform(self.machine.received(frame, now: Self.now))
    }

    /// Delivers the next frame to the server.
    mutating func deliverToServer(_ random: inout SeededRandom) throws {
        guard !self.inbox.isEmpty else { return }
        try self.server.receive(self.inbox.removeFirst(), &random)
    }

    /// Delivers the next frame to the client.
    mutating func deliverToClient() {
        guard self.machine.phase == .ready, !self.server.outbox.isEmpty else { return }
        self.perform(self.machine.received(self.server.outbox.removeFirst(), now: Self.now))
    }

    /// Delivers all frames on their way and lets the subscribers take all changes.
    mutating func settle(_ random: inout SeededRandom) throws {
        self.connect()
        repeat {
            var frameCount = 0
            while !self.inbox.isEmpty || !self.server.outbox.isEmpty {
                frameCount += 1
                try #require(frameCount < 2_000, "\(self.label): client and server exchange frames without end")
                try self.deliverToServer(&random)
                self.deliverToClient()
            }
            self.server.sendProgress()
            self.deliverToClient()
            for id in self.ids {
                self.take(id, count: self.subscribers[id]?.waitingCount ?? 0)
                self.subscribers[id]?.waitingCount = 0
            }
            guard self.handleMismatch() else { return }
        } while true
    }

    // MARK: Actions

    private mutating func takeNumber() -> UInt64 {
        defer { self.nextNumber += 1 }
        return self.nextNumber
    }

    private mutating func perform(_ actions: [ClientAction]) {
        for action in actions {
            switch action {
            case .send(var bytes):
                guard !self.isGreeting else {
                    self.isGreeting = false
                    continue
                }
                while let frame = try? self.decoder.next(from: &bytes) { self.inbox.append(frame) }
            case .deliver(let element, let subscribers, _):
                for id in subscribers {
                    _ = self.subscribers[id]?.queue.append(element, byteCount: 0)
                    // A delayed state is followed by the revision that it has reached.
                    self.subscribers[id]?.waitingCount += 2
                }
            case .cache(let change): self.cache.record(change)
            case .seed(let id, let donor):
                guard let donor = self.subscribers[donor] else { continue }
                _ = self.subscribers[id]?.queue.seed(from: donor.queue)
                self.events.joins += 1
                if self.subscribers[id]?.queue.arrivedRevision == nil { self.events.waitingJoins += 1 }
                self.subscribers[id]?.waitingCount += donor.waitingCount + 2
            case .succeed(let token, .changed(let isNewest)): self.answer(token, isNewest ? .made : .superseded)
            case .fail(let token, _): self.answer(token, .refused)
            case .endSubscription(let ids, let error): Issue.record("\(self.label): \(ids) ended: \(error)")
            case .closeChannel: Issue.record("\(self.label): the client closes the connection")
            default: break
            }
        }
    }

    private mutating func answer(_ token: RequestToken, _ answer: Answer) {
        for id in self.subscribers.keys {
            guard let index = self.subscribers[id]?.changes.firstIndex(where: { $0.token == token }),
                let change = self.subscribers[id]?.changes[index]
            else { continue }
            #expect(change.answer == nil, "\(self.label)")
            self.subscribers[id]?.changes[index].answer = answer
            guard answer == .made else { continue }
            self.subscribers[id]?.request = change.request
            self.subscribers[id]?.law.accept(change.request)
        }
    }
}
