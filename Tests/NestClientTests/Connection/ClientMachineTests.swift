import NIOCore
import NestClient
import NestModel
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

@Suite struct BackoffTests {
    @Test func pausesDoubleFromZeroToTheMaximum() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var backoff = Backoff()
            #expect(backoff.nextMilliseconds(using: &random) == 0, "seed \(seed)")
            for attempt in 0..<40 {
                let longest = min(
                    Limits.reconnectMillisecondsMin << min(attempt, 20),
                    Limits.reconnectMillisecondsMax
                )
                let pause = backoff.nextMilliseconds(using: &random)
                #expect((longest / 2...longest).contains(pause), "seed \(seed), attempt \(attempt)")
            }
            backoff.connectionLived(milliseconds: Limits.reconnectHealthySeconds * 1_000 - 1)
            #expect(backoff.nextMilliseconds(using: &random) > 0, "seed \(seed)")
            backoff.connectionLived(milliseconds: Limits.reconnectHealthySeconds * 1_000)
            #expect(backoff.nextMilliseconds(using: &random) == 0, "seed \(seed)")
        }
    }
}

@Suite struct KeepAliveTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private static func at(_ seconds: Int64) -> NIODeadline { Self.start + .seconds(seconds) }

    @Test func aSilentServerIsPingedAndThenTheConnectionEnds() {
        var keepAlive = KeepAlive(interval: .seconds(20), now: Self.start)
        #expect(keepAlive.check(now: Self.at(19), isReading: true) == .none)
        #expect(keepAlive.check(now: Self.at(20), isReading: true) == .ping)
        #expect(keepAlive.check(now: Self.at(29), isReading: true) == .none)
        #expect(keepAlive.check(now: Self.at(30), isReading: true) == .dead)
    }

    @Test func anyBytesPostponeThePing() {
        var keepAlive = KeepAlive(interval: .seconds(20), now: Self.start)
        #expect(keepAlive.check(now: Self.at(20), isReading: true) == .ping)
        keepAlive.received(now: Self.at(25))
        #expect(keepAlive.check(now: Self.at(44), isReading: true) == .none)
        #expect(keepAlive.check(now: Self.at(45), isReading: true) == .ping)
    }

    @Test func anUnreadSocketDoesNotCountAsSilent() {
        var keepAlive = KeepAlive(interval: .seconds(20), now: Self.start)
        #expect(keepAlive.check(now: Self.at(100), isReading: false) == .none)
        #expect(keepAlive.check(now: Self.at(119), isReading: true) == .none)
    }
}

/// The client state machine as a value, without socket, task or clock.
@Suite struct ClientStateMachineTests {
    private static let now = NIODeadline.uptimeNanoseconds(0)
    private static let session = Identifier128(high: 1, low: 2)

    private static func welcome(inFlightMax: Int = 2, features: Features = .all, user: String? = nil) -> Frame {
        var welcome = Welcome(
            serverName: "s",
            features: features,
            historyID: Identifier128(high: 0, low: 7),
            revision: Revision(0),
            oldestRevision: Revision(0),
            modelHash: 0,
            sessionNumber: 1,
            requestsInFlightMax: inFlightMax
        )
        welcome.user = user
        return Frame(type: MessageType.welcome.rawValue, id: 0, body: ByteBuffer(bytes: welcome.body))
    }

    private static func frame(_ message: some Message, id: UInt32) -> Frame {
        Frame(type: Swift.type(of: message).type.rawValue, id: id, body: ByteBuffer(bytes: message.body))
    }

    private static func ready(
        inFlightMax: Int = 2,
        features: Features = .all,
        user: String? = nil
    ) -> ClientStateMachine {
        var machine = ClientStateMachine(hello: Hello(clientName: "t", session: Self.session), seed: 1)
        #expect(machine.connect() == [.openChannel])
        #expect(machine.channelOpened(now: Self.now).count == 1)
        #expect(machine.received(.server(chosen: 1)) == [])
        let welcome = Self.welcome(inFlightMax: inFlightMax, features: features, user: user)
        #expect(machine.received(welcome, now: Self.now).contains(.connected))
        return machine
    }

    private static func read(_ token: UInt64) -> OutgoingRequest {
        OutgoingRequest(owner: .caller(RequestToken(token)), kind: .read, GetObject(id: ObjectID(1)))
    }

    private static func sentCount(_ actions: [ClientAction]) -> Int {
        actions.count { if case .send = $0 { true } else { false } }
    }

    @Test func requestsInFlightAreLimited() {
        var machine = Self.ready(inFlightMax: 2)
        #expect(Self.sentCount(machine.submit(Self.read(1))) == 1)
        #expect(Self.sentCount(machine.submit(Self.read(2))) == 1)
        #expect(Self.sentCount(machine.submit(Self.read(3))) == 0)
        let error = NestError(.notFound, "no")
        let actions = machine.received(Self.frame(ErrorMessage(error), id: RequestTable.firstID), now: Self.now)
        #expect(actions.first == .fail(RequestToken(1), error))
        #expect(Self.sentCount(actions) == 1)
    }

    @Test func aFailedFirstAttemptFailsWaitingRequests() {
        var machine = ClientStateMachine(hello: Hello(clientName: "t", session: Self.session), seed: 1)
        #expect(machine.submit(Self.read(1)) == [.openChannel])
        let error = NestError(.unreachable, "no server")
        #expect(machine.channelClosed(error, now: Self.now) == [.connectFailed(error), .fail(RequestToken(1), error)])
        #expect(machine.phase == .idle)
    }

    /// Another attempt would fail too: the client ends at once, and says why.
    @Test func anExpiredTokenEndsTheClient() {
        var machine = Self.ready()
        _ = machine.submit(Self.read(1))
        let error = NestError(.tokenExpired, "the token has expired")
        let actions = machine.received(Self.frame(ErrorMessage(error), id: 0), now: Self.now)
        #expect(actions.contains(.connectFailed(error)) && actions.contains(.fail(RequestToken(1), error)))
        #expect(actions.contains(.closeChannel) && machine.phase == .closed(error))
        #expect(machine.channelClosed(nil, now: Self.now) == [])
        #expect(machine.connect() == [.connectFailed(error)])
    }

    /// Of a write that was sent, the outcome is unknown.
    @Test func anExpiredTokenLeavesTheOutcomeOfAWriteOpen() {
        var machine = Self.ready()
        let write = OutgoingRequest(
            owner: .caller(RequestToken(1)),
            kind: .write,
            TransactionMessage(WriteTransaction(mutations: [.delete(.object(ObjectID(2)))]))
        )
        _ = machine.submit(write)
        let error = NestError(.tokenExpired, "the token has expired")
        let actions = machine.received(Self.frame(ErrorMessage(error), id: 0), now: Self.now)
        let codes = actions.compactMap { if case .fail(_, let error) = $0 { error.code } else { nil } }
        #expect(codes == [.outcomeUnknown])
    }

    @Test func readsWaitForTheNextConnection() {
        var machine = Self.ready()
        _ = machine.submit(Self.read(1))
        #expect(machine.channelClosed(nil, now: Self.now) == [.openChannelAfter(milliseconds: 0)])
        #expect(machine.backoffEnded() == [.openChannel])
        // The second failure is followed by a pause.
        let again = machine.channelClosed(nil, now: Self.now)
        guard again.count == 1, case .openChannelAfter(let pause) = again[0] else {
            Issue.record("no pause: \(again)")
            return
        }
        #expect(pause > 0)
        _ = machine.backoffEnded()
        _ = machine.channelOpened(now: Self.now)
        #expect(Self.sentCount(machine.received(Self.welcome(), now: Self.now)) == 1)
    }

    /// A server that knows no expiries would make a token that never expires. It gets no such request, also if it is
    /// the next server, after one that knows them.
    @Test func onlyAServerThatKnowsUsersGetsARequestThatNeedsThem() {
        var request = Self.read(1)
        request.needsUsers = true
        let error = NestError(.unsupported, "the server is too old for tokens with a user or an expiry")
        var old = Self.ready()
        #expect(old.submit(request) == [.fail(RequestToken(1), error)])
        for user in ["", nil] {
            var machine = Self.ready(user: "")
            #expect(Self.sentCount(machine.submit(request)) == 1)
            _ = machine.channelClosed(nil, now: Self.now)
            #expect(machine.backoffEnded() == [.openChannel])
            _ = machine.channelOpened(now: Self.now)
            _ = machine.received(.server(chosen: 1))
            let actions = machine.received(Self.welcome(user: user), now: Self.now)
            #expect(actions.contains(.fail(RequestToken(1), error)) == (user == nil))
            #expect(Self.sentCount(actions) == (user == nil ? 0 : 1))
        }
    }

    @Test func goAwayDelaysTheNextAttempt() {
        var machine = Self.ready()
        let goAway = GoAway(code: .shuttingDown, lastRequestID: 0, retryAfterMilliseconds: 700, message: "")
        #expect(machine.received(Self.frame(goAway, id: 0), now: Self.now) == [.closeChannel])
        #expect(machine.channelClosed(nil, now: Self.now) == [.openChannelAfter(milliseconds: 700)])
    }

    @Test func aFullQueueStopsReadingUnlessAReplyIsDue() {
        var machine = Self.ready()
        #expect(machine.wantsToRead)
        machine.queuesChanged(by: Limits.clientQueueBytesMax)
        #expect(!machine.wantsToRead)
        _ = machine.submit(Self.read(1))
        #expect(machine.wantsToRead)
        machine.queuesChanged(by: Limits.clientQueueBytesHardMax)
        #expect(!machine.wantsToRead)
        machine.queuesChanged(by: -Limits.clientQueueBytesHardMax - 1)
        #expect(machine.wantsToRead)
    }

    @Test func invalidFramesCloseTheConnection() {
        for frame in [
            Frame(type: 0x7f, id: 0), Frame(type: MessageType.hello.rawValue, id: 0),
            Frame(type: MessageType.progress.rawValue, id: 0),
            Frame(type: MessageType.done.rawValue, flags: Frame.Flags(rawValue: 0x04), id: 1),
            // A view whose id is in the range of request ids.
            Self.frame(Fixtures.subscribed(Limits.requestIDMax, .snapshot), id: 1),
        ] {
            var machine = Self.ready()
            #expect(machine.received(frame, now: Self.now) == [.closeChannel], "type \(frame.type)")
        }
        var machine = Self.ready()
        #expect(machine.received(Frame(type: 0x80, id: 0), now: Self.now) == [])
    }

    /// Frames with a compressed flag that is not allowed, or with an invalid compressed body. The client's HELLO lists
    /// all features.
    @Test(arguments: try Vectors.negative("compressed"))
    func invalidCompressedFramesCloseTheConnection(_ vector: Vectors.Negative) throws {
        var bytes = ByteBuffer(bytes: try Hex.bytes(vector.json["hex"].text))
        let frame = try #require(try FrameDecoder(bodyBytesMax: Limits.frameBytesMax).next(from: &bytes))
        var machine = Self.ready(features: Features(rawValue: UInt64(try vector.json["features"].int)))
        #expect(machine.received(frame, now: Self.now) == [.closeChannel])
        var unwelcomed = Self.ready(features: [])
        #expect(unwelcomed.received(frame, now: Self.now) == [.closeChannel])
    }

    private static func write(_ token: UInt64) -> OutgoingRequest {
        OutgoingRequest(owner: .caller(RequestToken(token)), kind: .write, TransactionMessage(Fixtures.insert))
    }

    /// The server may have forgotten the key, and would carry the write out a second time.
    @Test func aWriteIsNotSentAgainADayLater() {
        for (hours, isSent) in [(22, true), (24, false)] {
            let begin = ContinuousClock.now
            var machine = Self.ready(inFlightMax: 4)
            machine.instant = { begin }
            _ = machine.submit(Self.write(1))
            _ = machine.submit(Self.read(2))
            _ = machine.channelClosed(nil, now: Self.now)
            _ = machine.backoffEnded()
            // A second loss does not make it younger.
            machine.instant = { begin + .seconds(3_600) }
            _ = machine.channelOpened(now: Self.now)
            _ = machine.received(Self.welcome(inFlightMax: 4), now: Self.now)
            _ = machine.channelClosed(nil, now: Self.now)
            // This one was not sent before.
            _ = machine.submit(Self.write(3))
            _ = machine.backoffEnded()
            machine.instant = { begin + .seconds(hours * 3_600) }
            _ = machine.channelOpened(now: Self.now)
            let actions = machine.received(Self.welcome(inFlightMax: 4), now: Self.now)
            var codes: [RequestToken: ErrorCode] = [:]
            for case .fail(let token, let error) in actions { codes[token] = error.code }
            #expect(codes == (isSent ? [:] : [RequestToken(1): .outcomeUnknown]))
        }
    }

    /// Losing the connection fails all writes of a group, sent or unsent. A write from before the group is retried.
    @Test func losingAGroupFailsItsWrites() {
        var machine = Self.ready(inFlightMax: 3)
        _ = machine.submit(Self.write(1))
        let begin = OutgoingRequest(owner: .caller(RequestToken(2)), kind: .connection, BeginGroup(name: nil))
        _ = machine.submit(begin)
        let begun = machine.received(Self.frame(Group(number: 4), id: 2), now: Self.now)
        #expect(begun == [.succeed(RequestToken(2), .group(4))])
        for token in 3...5 as ClosedRange<UInt64> { _ = machine.submit(Self.write(token)) }
        let undo = OutgoingRequest(owner: .caller(RequestToken(6)), kind: .write, Undo(key: nil))
        _ = machine.submit(undo)
        var codes: [RequestToken: ErrorCode] = [:]
        for case .fail(let token, let error) in machine.channelClosed(nil, now: Self.now) { codes[token] = error.code }
        #expect(
            codes == [
                RequestToken(3): .outcomeUnknown, RequestToken(4): .outcomeUnknown, RequestToken(5): .connectionLost,
            ]
        )
        #expect(machine.submit(Self.write(7)).contains { if case .fail = $0 { true } else { false } })
        _ = machine.backoffEnded()
        _ = machine.channelOpened(now: Self.now)
        // The first write and the undo.
        #expect(Self.sentCount(machine.received(Self.welcome(inFlightMax: 3), now: Self.now)) == 2)
        #expect(machine.endGroup(nil) == [])
        #expect(Self.sentCount(machine.submit(Self.write(8))) == 1)
    }

    /// Random frames in any state are handled or end the connection; nothing traps.
    @Test func randomFramesNeverTrap() {
        for seed in 0..<500 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var machine = Self.ready(inFlightMax: 1 + random.below(4))
            let types = MessageType.allCases
            for step in 0..<40 {
                switch random.below(11) {
                case 0: _ = machine.submit(Self.read(UInt64(step + 1)))
                case 1: _ = machine.subscribe(SubscriberID(UInt64(step + 1)), to: Fixtures.request)
                case 2: _ = machine.unsubscribe(SubscriberID(UInt64(random.below(step + 1) + 1)))
                case 3: _ = machine.abandon(RequestToken(UInt64(random.below(step + 1) + 1)), isTimeout: true)
                case 4: _ = machine.followUndoState()
                case 5: _ = random.oneIn(2) ? machine.unfollowUndoState() : machine.askUndoState(RequestToken(900))
                case 6 where random.oneIn(2): _ = machine.endGroup(random.oneIn(2) ? nil : RequestToken(901))
                case 6: _ = machine.submit(Self.write(UInt64(1_000 + step)))
                case 7 where random.oneIn(4):
                    _ = machine.channelClosed(nil, now: Self.now)
                    _ = machine.backoffEnded()
                    _ = machine.channelOpened(now: Self.now)
                    _ = machine.received(Self.welcome(), now: Self.now)
                default:
                    let body = (0..<random.below(24)).map { _ in UInt8(random.oneIn(2) ? 0 : random.below(256)) }
                    let id = UInt32(random.below(4)) + (random.oneIn(2) ? Limits.viewIDMin : 0)
                    let type = types[random.below(types.count)].rawValue
                    let flags: Frame.Flags = random.oneIn(2) ? .more : []
                    let frame = Frame(type: type, flags: flags, id: id, body: ByteBuffer(bytes: body))
                    _ = machine.received(frame, now: Self.now)
                }
            }
            if case .closed = machine.phase { Issue.record("seed \(seed): the client stopped reconnecting") }
        }
    }
}
