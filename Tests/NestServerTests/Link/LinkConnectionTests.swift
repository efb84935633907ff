import NIOCore
import NestEngine
import NestFraming
import NestModel
import NestProtocol
import NestServerTestSupport
import NestStore
import Testing

@testable import NestServer

/// What a node sends to the leader and reports, without a socket.
@Suite struct LinkConnectionTests {
    private static let history = Identifier128(high: 1, low: 1)
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private static let place = LogPosition(position: 10, chain: Chain(Identifier128(high: 10, low: 0)))

    /// A connection, what it has put out, and the frames that it sent.
    private struct Peer {
        var connection: LinkConnection
        var now = LinkConnectionTests.start
        var output = LinkConnection.Output()
        var sent: [Frame] = []
        var events: [LinkEvent] = []
        var records: [LogEntry] = []

        init(epoch: Int64 = 5) throws {
            self.connection = LinkConnection(
                to: FollowedLeader(
                    node: Identifier128(high: 2, low: 2),
                    name: "a",
                    address: "a:7000",
                    epoch: epoch,
                    secret: TokenSecret(high: Identifier128(high: 7, low: 7), low: Identifier128(high: 8, low: 8))
                ),
                from: LogNode(id: Identifier128(high: 3, low: 3), name: "b", address: "b:7000", version: ""),
                session: Identifier128(high: 4, low: 4),
                historyID: LinkConnectionTests.history,
                modelHash: 77,
                now: self.now
            )
            try self.settle()
        }

        mutating func settle() throws {
            self.output = self.connection.takeOutput()
            self.sent = []
            if self.output.bytes.getBytes(at: self.output.bytes.readerIndex, length: 4) == Preface.magic {
                self.output.bytes.moveReaderIndex(forwardBy: Preface.byteCount)
            }
            let decoder = FrameDecoder(bodyBytesMax: LinkRequests.bodyBytesMax)
            while let frame = try decoder.next(from: &self.output.bytes) { self.sent.append(frame) }
            self.events += self.output.events
            self.records += self.output.records
        }

        mutating func receive(_ message: some Message, id: UInt32 = 0, flags: Frame.Flags = []) throws {
            let type = Swift.type(of: message).type.rawValue
            let frame = Frame(type: type, flags: flags, id: id, body: ByteBuffer(bytes: message.body))
            self.connection.heard(now: self.now)
            self.connection.received(frame, now: self.now)
            try self.settle()
        }

        mutating func welcome(history: Identifier128 = LinkConnectionTests.history, model: UInt64 = 77) throws {
            self.connection.received(Preface.server(chosen: 1))
            try self.receive(
                Welcome(
                    serverName: "nestd",
                    features: .all,
                    historyID: history,
                    revision: Revision(1),
                    oldestRevision: Revision(0),
                    modelHash: model,
                    sessionNumber: 0,
                    creditBytesInitial: 1_000
                )
            )
        }

        /// Sends FOLLOW, and returns its id.
        mutating func follow(from place: LogPosition = LinkConnectionTests.place) throws -> UInt32 {
            self.connection.follow(from: place)
            try self.settle()
            let frame = try #require(self.sent.first)
            #expect(try Follow(body: frame.body) == Follow(position: place.position, chain: place.chain.rawValue))
            return frame.id
        }

        /// A connection that is up.
        static func up() throws -> (Peer, UInt32) {
            var peer = try Peer()
            try peer.welcome()
            let id = try peer.follow()
            try peer.receive(LogHead(epoch: 5, position: 10), id: id)
            #expect(peer.ups == [5])
            return (peer, id)
        }

        var ups: [Int64] {
            self.events.compactMap { if case .up(let epoch, _) = $0 { epoch } else { nil } }
        }

        var answers: [UInt64] {
            self.events.compactMap { if case .answer(let number, _) = $0 { number } else { nil } }
        }

        mutating func send(_ effects: ForwardEffect...) throws {
            self.connection.send(effects)
            try self.settle()
        }

        var types: [MessageType?] { self.sent.map { MessageType(rawValue: $0.type) } }
    }

    private static func record(_ position: Int64, _ bytes: [UInt8] = [1]) -> Record {
        Record(position: position, chain: Identifier128(high: UInt64(position), low: 0), bytes: bytes)
    }

    private static func open(_ connection: UInt64, token: UInt64? = nil, user: UserLabel? = nil) -> ForwardEffect {
        .open(ConnectionID(connection), session: Identifier128(high: 9, low: connection), token: token, user: user)
    }

    private static func request(
        _ connection: UInt64,
        _ number: UInt64,
        _ request: EngineRequest = .undo(key: nil)
    ) -> ForwardEffect {
        .request(ConnectionID(connection), ForwardedRequest(number: number, request: request))
    }

    private static let receipt = ReceiptMessage(
        Receipt(revision: Revision(3), isChanged: true, isReplayed: false, results: [], name: "")
    )

    // MARK: The beginning

    @Test func theNodeProvesWhoItIsAndAsksForRecords() throws {
        var peer = try Peer()
        let hello = try Hello(body: try #require(peer.sent.first).body)
        #expect(hello.clientName == "nestd b" && hello.expectedHistory == Self.history)
        #expect(hello.peer?.node == Identifier128(high: 3, low: 3))
        #expect(hello.peer?.secret.high == Identifier128(high: 7, low: 7))
        #expect(!peer.connection.mayFollow)
        try peer.welcome()
        #expect(peer.output.mustFollow && peer.connection.mayFollow && peer.output.end == nil)
        _ = try peer.follow()
        #expect(!peer.connection.mayFollow && peer.events.isEmpty)
    }

    @Test func aNodeOfAnotherHistoryOrModelIsNotFollowed() throws {
        var peer = try Peer()
        try peer.welcome(history: Identifier128(high: 6, low: 6))
        #expect(peer.output.end == "the node has another history")
        peer = try Peer()
        try peer.welcome(model: 78)
        #expect(peer.output.end == "the node has another model")
        peer = try Peer()
        peer.connection.received(Preface.server(chosen: 0))
        try peer.settle()
        #expect(peer.output.end?.contains("version") == true)
        peer = try Peer()
        peer.connection.received(Preface.server(chosen: 1))
        try peer.receive(ErrorMessage(NestError(.unauthenticated, "the secret is wrong")))
        #expect(peer.output.end?.contains("the secret is wrong") == true)
    }

    /// A node that was named as the leader may not lead yet: what it names is an earlier epoch, or it says LOG_BEHIND.
    @Test func theLinkIsUpWhenTheNodeLeads() throws {
        var peer = try Peer()
        try peer.welcome()
        var id = try peer.follow()
        try peer.receive(LogHead(epoch: 4, position: 10), id: id)
        try peer.receive(LogBehind(), id: id)
        #expect(peer.ups.isEmpty && peer.output.state == .behind)
        try peer.send(Self.open(1), Self.request(1, 1))
        #expect(peer.sent.isEmpty)
        peer.now = peer.now + LinkConnection.followPause
        peer.connection.tick(now: peer.now, isReading: true)
        try peer.settle()
        #expect(peer.output.mustFollow)
        id = try peer.follow()
        try peer.receive(LogHead(epoch: 6, position: 12), id: id)
        #expect(peer.ups == [6] && peer.output.state == .streaming(head: 12))
        try peer.receive(LogHead(epoch: 6, position: 13), id: id)
        #expect(peer.ups == [6] && peer.output.state == .streaming(head: 13))
        try peer.receive(LogHead(epoch: 7, position: 13), id: id)
        #expect(peer.output.end == "the node leads in another epoch now")
    }

    /// A leader of an earlier version knows no nodes: the link ends, and the node reads the log.
    @Test func aLeaderThatKnowsNoNodesIsNotFollowed() throws {
        var peer = try Peer()
        try peer.welcome()
        let id = try peer.follow()
        try peer.receive(ErrorMessage(NestError(.unsupportedMessage, "message type 0x68 is not known here")), id: id)
        #expect(peer.output.end?.contains("refused FOLLOW") == true && peer.ups.isEmpty)
    }

    // MARK: Records

    @Test func recordsAreJoinedAndComeWithoutAGap() throws {
        var (peer, id) = try Peer.up()
        try peer.receive(Self.record(10), id: id)
        try peer.receive(Self.record(11, [1, 2]), id: id, flags: .more)
        try peer.receive(Self.record(11, [3]), id: id, flags: .more)
        #expect(peer.records.isEmpty)
        try peer.receive(Self.record(11, [4]), id: id)
        try peer.receive(Self.record(12, []), id: id)
        try peer.receive(Self.record(13), id: id + 7)
        #expect(peer.records.map(\.position.position) == [11, 12])
        #expect(try peer.records[0].bytes.all() == [1, 2, 3, 4])
        #expect(peer.records[0].position.chain == Chain(Identifier128(high: 11, low: 0)))
        try peer.receive(Self.record(14), id: id)
        #expect(peer.records.count == 2 && peer.output.state == .behind && peer.output.end == nil)
        try peer.receive(Self.record(13), id: id)
        #expect(peer.records.count == 2)
        let next = try peer.follow(from: LogPosition(position: 12, chain: .empty))
        try peer.receive(Self.record(13), id: id)
        try peer.receive(Self.record(13), id: next)
        #expect(peer.records.map(\.position.position) == [11, 12, 13])
    }

    @Test func aRecordHasABound() throws {
        var (peer, id) = try Peer.up()
        let piece = [UInt8](repeating: 0, count: 1 << 20)
        for _ in 0..<Limits.logRingBytes >> 20 { try peer.receive(Self.record(11, piece), id: id, flags: .more) }
        #expect(peer.output.end == nil)
        try peer.receive(Self.record(11, [1]), id: id, flags: .more)
        #expect(peer.output.end?.contains("larger than") == true)

        (peer, id) = try Peer.up()
        try peer.receive(Self.record(11), id: id, flags: .more)
        try peer.receive(Self.record(12), id: id)
        #expect(peer.output.end?.contains("before 11 was whole") == true)
    }

    // MARK: Requests

    /// The leader knows the label of a token; that of a client without one goes with the port.
    @Test func portsOfClientsWithoutATokenNameTheirUser() throws {
        var (peer, _) = try Peer.up()
        let ann = UserLabel("Ann", isClaimed: true)
        try peer.send(
            Self.open(1, user: ann),
            Self.request(1, 100),
            Self.open(2, token: 7, user: UserLabel("Bob")),
            Self.request(2, 101),
            Self.open(3),
            Self.request(3, 102)
        )
        let ports = try [0, 2, 4].map { try PeerOpen(body: peer.sent[$0].body) }
        #expect(ports.map(\.user) == ["Ann", "", ""] && ports.map(\.token) == [0, 7, 0])
    }

    @Test func requestsGoThroughPortsAndAreAnswered() throws {
        var (peer, _) = try Peer.up()
        try peer.send(Self.open(1), Self.request(1, 100), Self.open(2), Self.request(2, 101, .endGroup))
        #expect(peer.types == [.peerOpen, .peerRequest, .peerOpen, .peerRequest])
        let ports = [try PeerOpen(body: peer.sent[0].body).port, try PeerOpen(body: peer.sent[2].body).port]
        let requests = try [1, 3].map { try PeerRequest(body: peer.sent[$0].body) }
        #expect(requests.map(\.port) == ports && ports[0] != ports[1])
        #expect(requests.map(\.request) == [MessageType.undo.rawValue, MessageType.endGroup.rawValue])
        let ids = [peer.sent[1].id, peer.sent[3].id]
        try peer.receive(Done(), id: ids[1])
        try peer.receive(Self.receipt, id: ids[0])
        #expect(peer.answers == [101, 100])
        guard case .answer(_, .receipt(let receipt))? = peer.events.last else {
            throw NestError(.invalid, "no receipt")
        }
        #expect(receipt == Self.receipt.receipt)
        // An answer comes once.
        try peer.receive(Self.receipt, id: ids[0])
        #expect(peer.answers.count == 2 && peer.output.end == nil)
        try peer.receive(Self.receipt, id: 4_000)
        #expect(peer.output.end?.contains("does not fit") == true)
    }

    @Test func whatAConnectionSentIsForgottenWhenItCloses() throws {
        var (peer, _) = try Peer.up()
        try peer.send(Self.open(1), Self.request(1, 100), .close(ConnectionID(1)), Self.request(1, 101))
        #expect(peer.types == [.peerOpen, .peerRequest, .peerClose])
        try peer.receive(Self.receipt, id: peer.sent[1].id)
        #expect(peer.answers.isEmpty && peer.output.end == nil)
    }

    /// Requests that the engine sent before it knew of a reconnection must not mix with those that it sends again.
    @Test func requestsThatCrossAReconnectionBeginItAgain() throws {
        var (peer, _) = try Peer.up()
        try peer.send(Self.request(1, 100))
        #expect(peer.sent.isEmpty)
        try peer.send(Self.open(1), Self.request(1, 100))
        try peer.send(Self.open(1))
        #expect(peer.output.end?.contains("crossed") == true)
    }

    @Test(arguments: [ErrorCode.notLeader, .shuttingDown]) func aNodeThatLeadsNoMoreExecutesNothing(
        code: ErrorCode
    ) throws {
        var (peer, _) = try Peer.up()
        try peer.send(Self.open(1), Self.request(1, 100))
        try peer.receive(ErrorMessage(NestError(code, "")), id: peer.sent[1].id)
        #expect(peer.answers.isEmpty && peer.output.end != nil)
    }

    @Test func aNodeThatGoesAwayAnswersWhatItHas() throws {
        var (peer, _) = try Peer.up()
        try peer.send(Self.open(1), Self.request(1, 100))
        let id = peer.sent[1].id
        try peer.receive(GoAway(code: .shuttingDown, lastRequestID: 9, retryAfterMilliseconds: 0, message: ""))
        #expect(peer.output.end == nil)
        try peer.send(Self.request(1, 101))
        #expect(peer.sent.isEmpty)
        try peer.receive(Self.receipt, id: id)
        #expect(peer.answers == [100] && peer.output.end == "the node goes away")
    }

    /// The leader refuses larger ids, and that would be the answer to a correct write.
    @Test func theIdsOfALinkEndAtTheLargestThatALeaderAccepts() throws {
        var requests = LinkRequests()
        requests.nextID = Limits.requestIDMax
        let session = Identifier128(high: 9, low: 1)
        let isOpen = requests.open(ConnectionID(1), session: session, token: nil, user: nil)
        let write = ForwardedRequest(number: 1, request: .undo(key: nil))
        let isSent = [requests.send(write, of: ConnectionID(1)), requests.send(write, of: ConnectionID(1))]
        #expect(isOpen && isSent == [true, false])
    }

    @Test func aRequestThatIsTooLargeIsRefused() throws {
        var (peer, _) = try Peer.up()
        let title = String(repeating: "x", count: LinkRequests.bodyBytesMax)
        try peer.send(Self.open(1), Self.request(1, 100, .transaction(.insert(title))))
        #expect(peer.types == [.peerOpen])
        guard case .answer(100, .failure(let error))? = peer.events.last else { throw NestError(.invalid, "no error") }
        #expect(error.code == .valueTooLarge)
    }

    // MARK: Silence and strange bytes

    @Test func aSilentNodeIsGivenUp() throws {
        var (peer, _) = try Peer.up()
        peer.now = peer.now + LinkConnection.pingTime
        peer.connection.tick(now: peer.now, isReading: true)
        try peer.settle()
        #expect(peer.types == [.ping])
        try peer.receive(Pong(payload: 0))
        let last = peer.now
        peer.now = last + LinkConnection.silenceMax - .milliseconds(1)
        peer.connection.tick(now: peer.now, isReading: true)
        try peer.settle()
        #expect(peer.output.end == nil)
        // Nothing is received while the link does not read.
        peer.now = last + LinkConnection.silenceMax
        peer.connection.tick(now: peer.now, isReading: false)
        peer.now = peer.now + LinkConnection.silenceMax
        peer.connection.tick(now: peer.now, isReading: true)
        try peer.settle()
        #expect(peer.output.end == "the node is silent")
    }

    @Test func framesThatDoNotFitEndTheConnection() throws {
        for type in MessageType.allCases {
            for id: UInt32 in [0, 1, 2, 900] {
                var (peer, _) = try Peer.up()
                try peer.send(Self.open(1), Self.request(1, 100))
                for body in [[], [0], [UInt8](repeating: 0xff, count: 40)] {
                    peer.connection.received(
                        Frame(type: type.rawValue, id: id, body: ByteBuffer(bytes: body)),
                        now: peer.now
                    )
                }
                try peer.settle()
            }
        }
        var (peer, _) = try Peer.up()
        try peer.receive(Ping(payload: 5))
        #expect(try Pong(body: try #require(peer.sent.first).body).payload == 5)
        try peer.receive(Progress(revision: Revision(1)))
        #expect(peer.output.end?.contains("does not fit") == true)
    }
}
