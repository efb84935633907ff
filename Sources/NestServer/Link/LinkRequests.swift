import DequeModule
import NIOCore
import NestEngine
import NestFraming
import NestModel
import NestProtocol
import NestStore

/// The ports of one connection to the leader, and the forwarded requests that it has not answered.
struct LinkRequests {
    /// What a change of the requests sends and reports.
    struct Output {
        var frames = ByteBuffer()
        var answers: [LinkEvent] = []
        /// Chunks to read.
        var reads: [Read] = []
    }

    /// A chunk of a spool file to read for a request.
    struct Read: Sendable {
        let id: UInt32
        let chunks: SpooledChunks
        let offset: Int
    }

    private struct Sent {
        let number: UInt64
        let connection: ConnectionID
        var upload: LinkUpload?
    }

    /// A PEER_REQUEST is larger than the request of the client by the port, the group and a key.
    static let bodyBytesMax = Limits.peerFrameBytesMax

    private var ports: [ConnectionID: UInt32] = [:]
    private var sent: [UInt32: Sent] = [:]
    /// Imports that wait until others have ended, in their order.
    private var waiting: Deque<(connection: ConnectionID, request: ForwardedRequest)> = []
    private var uploadCount = 0
    private var nextPort: UInt32 = 1
    var nextID: UInt32 = 1
    /// The bytes of chunks that the leader accepts before it gives credit.
    var creditInitial = Limits.creditBytesInitial
    private var output = Output()
    /// Why the node executes no requests any more.
    private(set) var refusal: ErrorCode?

    var isEmpty: Bool { self.sent.isEmpty && self.waiting.isEmpty }

    mutating func takeOutput() -> Output {
        defer { self.output = Output() }
        return self.output
    }

    /// Returns an id that was not used on this connection; `nil`: there is none left.
    mutating func makeID() -> UInt32? {
        guard self.nextID <= Limits.requestIDMax else { return nil }
        defer { self.nextID += 1 }
        return self.nextID
    }

    // MARK: Ports

    /// Returns false if the connection has a port: the effect belongs to another connection to the leader.
    mutating func open(_ connection: ConnectionID, session: Identifier128, token: UInt64?, user: UserLabel?) -> Bool {
        guard self.ports[connection] == nil, self.nextPort < .max else { return false }
        self.ports[connection] = self.nextPort
        // The leader knows the label of a token itself.
        let claim = token == nil ? user?.text ?? "" : ""
        self.write(PeerOpen(port: self.nextPort, session: session, token: token ?? 0, user: claim), id: 0)
        self.nextPort += 1
        return true
    }

    /// What was sent may still be executed.
    mutating func close(_ connection: ConnectionID) {
        guard let port = self.ports.removeValue(forKey: connection) else { return }
        self.waiting.removeAll { $0.connection == connection }
        let own = self.sent.filter { $0.value.connection == connection }
        for id in own.keys.sorted() {
            if own[id]?.upload != nil { self.write(Cancel(), id: id) }
            self.remove(id)
        }
        self.write(PeerClose(port: port), id: 0)
        self.startWaiting()
    }

    // MARK: Requests

    /// Sends a request. A request of a connection without a port belongs to another connection to the leader: the
    /// engine sends it again. Returns false if there is no id left.
    mutating func send(_ request: ForwardedRequest, of connection: ConnectionID) -> Bool {
        guard let port = self.ports[connection] else { return true }
        if request.request.isUpload, self.uploadCount >= Limits.peerTransfersMax {
            self.waiting.append((connection, request))
            return true
        }
        return self.send(request, of: connection, port: port)
    }

    private mutating func send(_ request: ForwardedRequest, of connection: ConnectionID, port: UInt32) -> Bool {
        guard let id = self.makeID() else { return false }
        let message = PeerRequest(
            port: port,
            group: request.group,
            isAgain: request.isAgain,
            request: request.request.type,
            bytes: request.request.forwardedBody
        )
        let body = message.body
        guard body.count <= Self.bodyBytesMax else {
            let text = "a node cannot forward a request of \(body.count) bytes: divide it, or send it to the leader"
            self.answer(request.number, .failure(NestError(.valueTooLarge, text)))
            return true
        }
        self.output.frames.writeFrame(type: .peerRequest, id: id, body: body)
        var sent = Sent(number: request.number, connection: connection)
        switch request.request {
        case .importSubtree(let staged, _): sent.upload = LinkUpload(staged, credit: self.creditInitial)
        case .putValue(let staged): sent.upload = LinkUpload(staged, credit: self.creditInitial)
        default: break
        }
        if sent.upload != nil { self.uploadCount += 1 }
        self.sent[id] = sent
        self.goOn(id)
        return true
    }

    /// Takes a frame with an id of a request. Returns false if the leader may not send it.
    mutating func take(_ frame: Frame) throws(WireError) -> Bool {
        guard frame.id > 0, frame.id < self.nextID else { return false }
        if MessageType(rawValue: frame.type) == .credit {
            let credit = try Credit(body: frame.body)
            self.sent[frame.id]?.upload?.granted(credit.bytes)
            self.goOn(frame.id)
            return true
        }
        guard let reply = try EngineReply(frame) else { return false }
        // The node no longer wants the answer to a request that it has cancelled.
        guard let number = self.sent[frame.id]?.number else { return true }
        self.remove(frame.id)
        if case .failure(let error) = reply, error.code == .notLeader || error.code == .shuttingDown {
            // Not executed: the engine sends it again to the next leader.
            self.refusal = error.code
        } else {
            self.answer(number, reply)
        }
        self.startWaiting()
        return true
    }

    private mutating func answer(_ number: UInt64, _ reply: EngineReply) {
        self.output.answers.append(.answer(number: number, reply))
    }

    private mutating func remove(_ id: UInt32) {
        if self.sent.removeValue(forKey: id)?.upload != nil { self.uploadCount -= 1 }
    }

    private mutating func startWaiting() {
        while self.uploadCount < Limits.peerTransfersMax, let next = self.waiting.popFirst() {
            guard let port = self.ports[next.connection] else { continue }
            guard self.send(next.request, of: next.connection, port: port) else { return }
        }
    }

    // MARK: Imports

    /// Takes a chunk that was read for a request; `nil`: there are no more.
    mutating func read(_ chunk: Result<LinkUpload.Chunk?, NestError>, id: UInt32) {
        guard let number = self.sent[id]?.number else { return }
        switch chunk {
        case .success(let chunk):
            self.sent[id]?.upload?.read(chunk)
            self.goOn(id)
        case .failure(let error):
            self.write(Cancel(), id: id)
            self.remove(id)
            self.answer(number, .failure(error))
            self.startWaiting()
        }
    }

    private mutating func goOn(_ id: UInt32) {
        while let action = self.sent[id]?.upload?.next() {
            switch action {
            case .none: return
            case .read(let chunks, let offset):
                return self.output.reads.append(Read(id: id, chunks: chunks, offset: offset))
            case .send(let chunk): self.write(chunk, id: id)
            case .end(let end): return self.write(end, id: id)
            }
        }
    }

    private mutating func write(_ message: some Message, id: UInt32) {
        self.output.frames.writeFrame(type: Swift.type(of: message).type, id: id, body: message.body)
    }
}
