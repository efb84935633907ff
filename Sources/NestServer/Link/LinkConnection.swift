import NIOCore
import NestEngine
import NestFraming
import NestModel
import NestProtocol
import NestStore

/// Decides what a node sends over one connection to the leader, and what it reports to its engine and its driver.
///
/// A value without a channel: after each event `PeerLink` takes the output and performs it.
///
///     greeting ──WELCOME──▶ open ──LOG_HEAD of the leader's epoch──▶ up ──GOAWAY──▶ leaving
struct LinkConnection {
    struct Output {
        var bytes = ByteBuffer()
        /// For the engine, in order.
        var events: [LinkEvent] = []
        var records: [LogEntry] = []
        /// The newest state, if it may have changed.
        var state: LinkState?
        var reads: [LinkRequests.Read] = []
        /// Whether to send FOLLOW from where the engine's store is.
        var mustFollow = false
        /// The connection has ended, for this reason.
        var end: String?
    }

    private enum Phase {
        case preface, greeting, open, leaving
    }

    private let leader: FollowedLeader
    private let hello: Hello
    private var phase = Phase.preface
    private var stream = IncomingRecords()
    private var requests = LinkRequests()
    private var output = Output()
    /// The epoch that was reported with `up`.
    private var epoch: Int64?
    private var heardAt: NIODeadline
    private var pingedAt: NIODeadline?
    private var followAt: NIODeadline?

    /// While nothing is received, the leader is asked for a sign of life after the first time, and given up after the
    /// second.
    static let pingTime = TimeAmount.seconds(1)
    static let silenceMax = TimeAmount.seconds(3)
    /// The time after which FOLLOW is sent again when the leader did not have what follows.
    static let followPause = TimeAmount.milliseconds(250)

    /// `historyID`, `modelHash`: of this node's store. `now`: the connection has been made.
    init(
        to leader: FollowedLeader,
        from node: LogNode,
        session: Identifier128,
        historyID: Identifier128,
        modelHash: UInt64,
        now: NIODeadline
    ) {
        self.leader = leader
        self.heardAt = now
        self.hello = Hello(
            clientName: "nestd \(node.name)",
            features: .all.subtracting(.compressedFrames),
            session: session,
            expectedHistory: historyID,
            expectedModelHash: modelHash,
            peer: Hello.Peer(node: node.id, secret: leader.secret)
        )
        self.output.bytes.writeBytes(Preface.client.bytes)
        self.write(self.hello, id: 0)
    }

    mutating func takeOutput() -> Output {
        let requests = self.requests.takeOutput()
        var bytes = requests.frames
        self.output.bytes.writeBuffer(&bytes)
        self.output.events += requests.answers
        self.output.reads += requests.reads
        defer { self.output = Output() }
        return self.output
    }

    private mutating func write(_ message: some Message, id: UInt32) {
        self.output.bytes.writeFrame(type: Swift.type(of: message).type, id: id, body: message.body)
    }

    private mutating func end(_ reason: String) {
        if self.output.end == nil { self.output.end = reason }
    }

    // MARK: Received

    /// Something has been received.
    mutating func heard(now: NIODeadline) {
        self.heardAt = now
        self.pingedAt = nil
    }

    mutating func received(_ preface: Preface) {
        guard self.phase == .preface, preface.bytes[4] == ProtocolVersion.highest else {
            return self.end("the node speaks another version of the protocol")
        }
        self.phase = .greeting
    }

    mutating func received(_ frame: Frame, now: NIODeadline) {
        do throws(WireError) {
            try self.take(frame, now: now)
        } catch {
            self.end("the node sent bytes that are not of this protocol: \(error.nestError)")
        }
    }

    private mutating func take(_ frame: Frame, now: NIODeadline) throws(WireError) {
        guard self.output.end == nil else { return }
        if frame.id == 0 { return try self.takeControl(frame) }
        guard self.phase != .greeting else { return self.end("the node answered before WELCOME") }
        switch MessageType(rawValue: frame.type) {
        case .record: try self.take(Record(body: frame.body), frame)
        case .logHead: try self.take(LogHead(body: frame.body), frame)
        case .logBehind:
            if frame.id == self.stream.id { self.fallBehind(now: now) }
        case .error where frame.id == self.stream.id:
            let error = try ErrorMessage(body: frame.body).error
            guard error.code == .shuttingDown else { return self.end("the node refused FOLLOW: \(error)") }
            self.phase = .leaving
            self.leaveIfDone()
        default: try self.takeReply(frame)
        }
    }

    private mutating func takeControl(_ frame: Frame) throws(WireError) {
        switch MessageType(rawValue: frame.type) {
        case .welcome: try self.take(Welcome(body: frame.body))
        case .ping: self.write(Pong(payload: try Ping(body: frame.body).payload), id: 0)
        case .pong: break
        case .error: self.end("\(try ErrorMessage(body: frame.body).error)")
        case .goAway:
            let message = try GoAway(body: frame.body)
            guard self.phase == .open else { return self.end("\(message.code): \(message.message)") }
            self.phase = .leaving
            self.leaveIfDone()
        case .peerPresence: self.output.events.append(.presence(try PeerPresence(body: frame.body)))
        // A peer follows no results, but frames of later versions may come.
        default: if !frame.isIgnorable { self.end("the node sent a frame of type \(frame.type) that does not fit") }
        }
    }

    private mutating func take(_ welcome: Welcome) {
        guard self.phase == .greeting else { return self.end("the node sent WELCOME again") }
        guard welcome.historyID == self.hello.expectedHistory else { return self.end("the node has another history") }
        guard welcome.modelHash == self.hello.expectedModelHash else { return self.end("the node has another model") }
        self.phase = .open
        self.requests.creditInitial = welcome.creditBytesInitial
        self.output.mustFollow = true
    }

    private mutating func takeReply(_ frame: Frame) throws(WireError) {
        guard try self.requests.take(frame) else {
            if !frame.isIgnorable { self.end("the node sent a frame of type \(frame.type) that does not fit") }
            return
        }
        switch self.requests.refusal {
        case nil: break
        case .shuttingDown?: self.phase = .leaving
        default: self.end("the node does not lead any more")
        }
        self.leaveIfDone()
    }

    private mutating func leaveIfDone() {
        if self.phase == .leaving, self.requests.isEmpty { self.end("the node goes away") }
    }

    // MARK: Records

    /// Whether records can be asked for, and do not come.
    var mayFollow: Bool { self.phase == .open && self.stream.state == .behind }

    /// Asks for the records behind a position.
    mutating func follow(from place: LogPosition) {
        guard let id = self.requests.makeID() else { return self.end("all ids of the connection are used") }
        self.followAt = nil
        self.stream.follow(id: id, from: place.position)
        self.write(Follow(position: place.position, chain: place.chain.rawValue), id: id)
    }

    /// The engine did not apply what it was given, or a record is missing: FOLLOW is sent again a little later.
    mutating func fallBehind(now: NIODeadline) {
        guard self.phase == .open || self.phase == .leaving else { return }
        self.stream.fallBehind()
        self.output.state = .behind
        self.followAt = now + Self.followPause
    }

    private mutating func take(_ record: Record, _ frame: Frame) {
        guard frame.id == self.stream.id, self.stream.state == .streaming else { return }
        do throws(NestError) {
            if let entry = try self.stream.take(record, hasMore: frame.flags.contains(.more)) {
                self.output.records.append(entry)
            }
        } catch {
            self.end("\(error)")
        }
        if self.stream.state == .behind { self.fallBehind(now: self.heardAt) }
    }

    private mutating func take(_ head: LogHead, _ frame: Frame) {
        // A node that does not lead yet, or not any more, names an earlier epoch.
        guard frame.id == self.stream.id, head.epoch >= self.leader.epoch else { return }
        if let epoch {
            guard epoch == head.epoch else { return self.end("the node leads in another epoch now") }
        } else {
            self.epoch = head.epoch
            self.output.events.append(.up(epoch: head.epoch, position: head.position))
        }
        self.output.state = self.stream.state == .streaming ? .streaming(head: head.position) : .behind
    }

    // MARK: Forwarding

    /// Whether `up` was reported, and the leader takes requests.
    private var isUp: Bool { self.epoch != nil && self.phase == .open }

    /// Sends what the engine asks for. What comes while the link is not up is not sent: the engine sends it again.
    mutating func send(_ effects: [ForwardEffect]) {
        for effect in effects where self.isUp && self.output.end == nil {
            switch effect {
            case .open(let connection, let session, let token, let user):
                if !self.requests.open(connection, session: session, token: token, user: user) {
                    self.end("requests crossed the link's reconnection")
                }
            case .request(let connection, let request):
                if !self.requests.send(request, of: connection) { self.end("all ids of the connection are used") }
            case .close(let connection): self.requests.close(connection)
            case .presence(let body): self.output.bytes.writeFrame(type: .peerPresence, id: 0, body: body)
            }
        }
    }

    /// Takes a chunk of an import; `nil`: there are no more.
    mutating func read(_ chunk: Result<LinkUpload.Chunk?, NestError>, id: UInt32) {
        self.requests.read(chunk, id: id)
        self.leaveIfDone()
    }

    // MARK: Time

    /// Called several times a second. `isReading`: whether the link reads what arrives.
    mutating func tick(now: NIODeadline, isReading: Bool) {
        if let followAt, now >= followAt {
            self.followAt = nil
            self.output.mustFollow = true
        }
        guard isReading else { return self.heard(now: now) }
        guard now < self.heardAt + Self.silenceMax else { return self.end("the node is silent") }
        guard self.phase == .open, now >= self.heardAt + Self.pingTime, self.pingedAt == nil else { return }
        self.pingedAt = now
        self.write(Ping(payload: 0), id: 0)
    }
}
