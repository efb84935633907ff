import NIOCore
import NestFraming
import NestModel
import NestProtocol
import Testing

@testable import NestClient

/// A client's state machine, connected by two slow pipes to one of three nodes of a cluster. The nodes share what was
/// executed. Only the leader executes; the others name the node that they believe in.
struct ClusterWorld {
    static let nodeCount = 3

    static func address(_ node: Int) -> ServerAddress { ServerAddress(host: "n\(node)", port: 7000) }

    private(set) var machine = ClientStateMachine(
        hello: Hello(clientName: "t", session: Identifier128(high: 1, low: 2)),
        seed: 1,
        homes: [Self.address(0)]
    )
    private(set) var now = NIODeadline.uptimeNanoseconds(0)
    private(set) var leader: Int? = 0
    /// The leader that each node names.
    private var beliefs: [Int?] = Array(repeating: 0, count: Self.nodeCount)
    /// The keys of the executed writes, in the order of their execution.
    private(set) var executed: [UInt64] = []
    private(set) var answers: [RequestToken: [Result<Reply, NestError>]] = [:]
    private(set) var moves = 0
    /// The node that the client is connected to.
    private var node: Int?
    private var inbox: [Frame] = []
    private var outbox: [ByteBuffer] = []
    private var timers: [(at: NIODeadline, isReconnect: Bool)] = []
    private var isOpening = false
    private let decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesMax)

    init() {
        self.perform(self.machine.connect())
    }

    var isQuiet: Bool { self.inbox.isEmpty && self.outbox.isEmpty }
    var isConnected: Bool { self.node != nil }

    // MARK: Events

    mutating func write(_ number: UInt64) {
        let key = Identifier128(high: 0, low: number)
        let transaction = WriteTransaction(key: key, mutations: [.delete(.object(ObjectID(2)))])
        let owner = OutgoingRequest.Owner.caller(RequestToken(number))
        self.perform(self.machine.submit(OutgoingRequest(owner: owner, kind: .write, TransactionMessage(transaction))))
    }

    /// Another node leads, or none. The nodes learn it one by one. The client's own node may begin to lead only when
    /// nothing is on the way: otherwise it could take a write after it has refused an earlier one.
    mutating func lead(_ node: Int?) {
        guard node == nil || node != self.node || self.isQuiet else { return }
        self.leader = node
    }

    mutating func learn(_ node: Int, believes leader: Int?) {
        self.beliefs[node] = leader
    }

    /// The node handles the next frame.
    mutating func serve() throws {
        guard let node = self.node, !self.inbox.isEmpty else { return }
        let frame = self.inbox.removeFirst()
        switch MessageType(rawValue: frame.type) {
        case .hello:
            self.outbox.append(self.welcome(node).frame(id: 0))
        case .transaction:
            let message = try TransactionMessage(body: frame.body)
            let key = try #require(message.transaction.key).low
            guard node == self.leader else {
                let named = self.beliefs[node].flatMap { $0 == node ? nil : Self.address($0).description }
                let error = NestError(.notLeader, "another node leads", leader: named)
                return self.outbox.append(ErrorMessage(error).frame(id: frame.id))
            }
            if !self.executed.contains(key) { self.executed.append(key) }
            self.outbox.append(ReceiptMessage(Receipt(revision: Revision(key), isChanged: true)).frame(id: frame.id))
        default: break
        }
    }

    /// The next frame of the node reaches the client.
    mutating func deliver() throws {
        guard !self.outbox.isEmpty else { return }
        var bytes = self.outbox.removeFirst()
        guard let frame = try self.decoder.next(from: &bytes) else { return }
        self.perform(self.machine.received(frame, now: self.now))
    }

    /// The connection is lost, with what is on the way.
    mutating func disconnect() {
        guard self.node != nil else { return }
        self.close()
    }

    /// The channel that the client asked for opens, or cannot be opened.
    mutating func open(succeeds: Bool) {
        guard self.isOpening else { return }
        self.isOpening = false
        guard succeeds else {
            let error = NestError(.unreachable, "nothing listens there")
            return self.perform(self.machine.channelClosed(error, now: self.now))
        }
        self.node = (0..<Self.nodeCount).first { Self.address($0) == self.machine.route.current }
        self.perform(self.machine.channelOpened(now: self.now))
        self.perform(self.machine.received(.server(chosen: 1)))
    }

    mutating func pass(milliseconds: Int64) {
        self.now = self.now + .milliseconds(milliseconds)
        let due = self.timers.filter { $0.at <= self.now }
        self.timers.removeAll { $0.at <= self.now }
        for timer in due {
            self.perform(timer.isReconnect ? self.machine.backoffEnded() : self.machine.pauseEnded(now: self.now))
        }
    }

    // MARK: The client

    private func welcome(_ node: Int) -> Welcome {
        Welcome(
            serverName: "n\(node)",
            features: .all,
            historyID: Identifier128(high: 0, low: 7),
            revision: Revision(0),
            oldestRevision: Revision(0),
            modelHash: 0,
            sessionNumber: 0,
            requestsInFlightMax: 3,
            replica: .init(
                store: "default",
                role: node == self.leader ? .leader : .follower,
                leader: self.beliefs[node].map { Self.address($0).description }
            )
        )
    }

    private mutating func close() {
        self.node = nil
        self.inbox = []
        self.outbox = []
        let before = self.machine.route.current
        self.perform(self.machine.channelClosed(nil, now: self.now))
        if self.machine.route.current != before { self.moves += 1 }
    }

    private mutating func perform(_ actions: [ClientAction]) {
        for action in actions {
            switch action {
            case .openChannel: self.isOpening = true
            case .openChannelAfter(let pause): self.timers.append((self.now + .milliseconds(Int64(pause)), true))
            case .retryAfter(let pause): self.timers.append((self.now + .milliseconds(Int64(pause)), false))
            case .send(var buffer):
                if buffer.getString(at: buffer.readerIndex, length: 4) == "NEST" {
                    buffer.moveReaderIndex(forwardBy: 8)
                }
                while let frame = try? self.decoder.next(from: &buffer) { self.inbox.append(frame) }
            case .closeChannel: if self.node != nil { self.close() }
            case .succeed(let token, let reply): self.answers[token, default: []].append(.success(reply))
            case .fail(let token, let error): self.answers[token, default: []].append(.failure(error))
            default: break
            }
        }
    }
}
