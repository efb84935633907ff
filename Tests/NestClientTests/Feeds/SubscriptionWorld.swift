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
        var isPaused = false
        /// An upper bound of the number of changes in its queue.
        var waitingCount = 0
        /// Its request changes in call order. Each is answered once.
        var changes: [(token: RequestToken, request: ObjectFetchRequest, answer: Answer?)] = []
    }

    enum Answer: Equatable {
        case made
        case superseded
        case refused
    }

    private static let now = NIODeadline.uptimeNanoseconds(0)

    private(set) var machine = ClientStateMachine(
        hello: Hello(clientName: "t", session: Identifier128(high: 1, low: 2)),
        seed: 1
    )
    private(set) var server: PlainServer
    private(set) var subscribers: [SubscriberID: Subscriber] = [:]
    /// Frames on their way to the server.
    private var inbox: [Frame] = []
    private let decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesMax)
    private var isGreeting = false
    private var nextNumber: UInt64 = 1
    private let label: String

    init(keepsIDs: Bool, _ label: String) {
        self.server = PlainServer(keepsIDs: keepsIDs)
        self.label = label
        self.perform(self.machine.connect())
        self.connect()
    }

    // MARK: Subscribers

    var ids: [SubscriberID] { self.subscribers.keys.sorted { $0.rawValue < $1.rawValue } }

    mutating func subscribe(_ request: ObjectFetchRequest) {
        let id = SubscriberID(self.takeNumber())
        let label = self.label
        let queue = ResultsQueue(
            request,
            verifiesDigest: true,
            onTaken: { _ in },
            onMismatch: { Issue.record("\(label): subscriber \(id.rawValue): \($0)") }
        )
        self.subscribers[id] = Subscriber(queue: queue, request: request)
        self.perform(self.machine.subscribe(id, to: request))
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
    func take(_ id: SubscriberID, count: Int) {
        guard let queue = self.subscribers[id]?.queue else { return }
        for _ in 0..<count {
            let before = queue.state.revision
            let change = queue.advance()
            let state = queue.state
            #expect(state.revision >= before, "\(self.label), subscriber \(id.rawValue)")
            guard case .snapshot? = change else { continue }
            let expected = self.server.state(queue.request, at: state.revision)
            #expect(state.sections == expected.sections, "\(self.label), subscriber \(id.rawValue)")
            #expect(state.window == expected.window, "\(self.label), subscriber \(id.rawValue)")
        }
    }

    // MARK: The connection

    mutating func write(_ random: inout SeededRandom) { self.server.write(&random) }

    mutating func loseConnection() {
        self.inbox = []
        self.server.disconnect()
        self.perform(self.machine.channelClosed(nil, now: Self.now))
        self.perform(self.machine.backoffEnded())
    }

    mutating func connect() {
        guard self.machine.phase == .connecting else { return }
        self.isGreeting = true
        self.perform(self.machine.channelOpened(now: Self.now))
        self.perform(self.machine.received(.server(chosen: 1)))
        let welcome = Welcome(
            serverName: "s",
            features: .all,
            historyID: PlainServer.historyID,
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
            case .seed(let id, let donor):
                guard let donor = self.subscribers[donor] else { continue }
                _ = self.subscribers[id]?.queue.seed(from: donor.queue)
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
            if answer == .made { self.subscribers[id]?.request = change.request }
        }
    }
}
