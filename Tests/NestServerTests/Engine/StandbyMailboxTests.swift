import NestEngine
import NestModel
import NestServer
import NestTestSupport
import Testing

/// A mailbox as a reference type, so that an expectation can mutate it.
private final class SharedMailbox {
    var mailbox: Mailbox

    init(_ mailbox: Mailbox = Mailbox()) { self.mailbox = mailbox }

    func append(_ inputs: [EngineInput]) -> Bool { self.mailbox.append(inputs) }
    func next(hasBacklog: Bool = false) -> Mailbox.Next { self.mailbox.next(hasBacklog: hasBacklog) }
    func stop() -> Bool { self.mailbox.stop() }
    func standbyMustWake() -> Bool { self.mailbox.standbyMustWake() }
    func watch() -> UInt64? { self.mailbox.watch() }
    func listen(turn: UInt64) -> Bool { self.mailbox.listen(turn: turn) }
    func closeRunning() -> AnsweredByStandby { self.mailbox.closeRunning() }

    func claims(turn: UInt64, isDelivered: Bool) -> [StandbyClaim]? {
        self.mailbox.claims(turn: turn, isDelivered: isDelivered)
    }

    func begin(_ claim: StandbyClaim, turn: UInt64, isDelivered: Bool) -> Bool {
        self.mailbox.begin(claim, turn: turn, isDelivered: isDelivered)
    }

    func turn() throws -> Mailbox.Batch {
        guard case .batch(let batch) = self.next() else { throw NestError(.internalError, "expected a batch") }
        return batch
    }
}

/// The inputs that a standby may claim from the mailbox, and those that it must leave.
struct StandbyMailboxTests {
    private static func write(_ connection: UInt64, _ id: UInt32) -> EngineInput {
        .request(ConnectionID(connection), requestID: id, .undo(key: nil))
    }

    private static func read(_ connection: UInt64, _ id: UInt32) -> EngineInput {
        .request(ConnectionID(connection), requestID: id, .object(ObjectID(1)))
    }

    private static func fetch(_ connection: UInt64, _ id: UInt32) -> EngineInput {
        .request(
            ConnectionID(connection),
            requestID: id,
            .fetch(ObjectFetchRequest(entity: EntityNumber(1)), atLeast: Revision(0))
        )
    }

    private static func hello(_ connection: UInt64) -> EngineInput {
        .connected(ConnectionID(connection), session: Identifier128(high: 1, low: connection), scope: .everything)
    }

    /// Returns the connection and the request's id, 0 for the handshake of a connection, `nil` for other inputs.
    private static func name(_ input: EngineInput) -> (connection: UInt64, id: UInt32)? {
        switch input {
        case .request(let connection, let id, _): (connection.rawValue, id)
        case .connected(let connection, _, _, _, _, _, _, _, _, _): (connection.rawValue, 0)
        default: nil
        }
    }

    private static func ids(_ claims: [StandbyClaim]?) -> [UInt32] {
        (claims ?? []).compactMap { Self.name($0.input)?.id }
    }

    @Test func theStandbyIsWokenOnceWhileTheEngineWorks() throws {
        let mailbox = SharedMailbox()
        _ = mailbox.append([Self.write(1, 1)])
        #expect(!mailbox.standbyMustWake())
        #expect(mailbox.watch() == nil)
        let batch = try mailbox.turn()
        _ = mailbox.append([.tick])
        #expect(mailbox.standbyMustWake())
        _ = mailbox.append([Self.read(2, 2)])
        #expect(!mailbox.standbyMustWake())
        #expect(mailbox.watch() == batch.turn)
        #expect(mailbox.claims(turn: batch.turn, isDelivered: false)?.count == 1)
        #expect(mailbox.listen(turn: batch.turn))
        _ = mailbox.append([Self.read(2, 3)])
        #expect(mailbox.standbyMustWake())
        #expect(!mailbox.listen(turn: batch.turn))
        // The engine ends the turn and then becomes idle.
        #expect(try mailbox.turn().turn == batch.turn + 1)
        #expect(mailbox.claims(turn: batch.turn, isDelivered: true) == nil)
        while case .batch = mailbox.next() {}
        #expect(mailbox.watch() == nil)
        _ = mailbox.append([.tick])
        #expect(!mailbox.standbyMustWake())
    }

    @Test func theClockAloneDoesNotWakeTheStandby() throws {
        let mailbox = SharedMailbox()
        _ = mailbox.append([.positionTimer])
        _ = try mailbox.turn()
        _ = mailbox.append([.tick])
        #expect(!mailbox.standbyMustWake())
        _ = mailbox.append([Self.read(1, 1)])
        #expect(mailbox.standbyMustWake())
    }

    @Test func aBacklogCountsAsATurn() {
        let mailbox = SharedMailbox()
        guard case .batch(let batch) = mailbox.next(hasBacklog: true) else {
            Issue.record("expected a batch")
            return
        }
        #expect(batch.inputs.isEmpty && mailbox.watch() == batch.turn)
        _ = mailbox.stop()
        guard case .end = mailbox.next(hasBacklog: true) else {
            Issue.record("a stopped mailbox must end")
            return
        }
        #expect(mailbox.watch() == nil)
    }

    @Test func readsAreClaimedUnlessAnEarlierRequestWaits() throws {
        let mailbox = SharedMailbox()
        _ = mailbox.append([Self.write(1, 1)])
        let turn = try mailbox.turn().turn
        _ = mailbox.append([
            Self.read(1, 2), Self.read(2, 3), Self.write(2, 4), Self.read(2, 5),
            .blocked(ConnectionID(3)), Self.read(3, 6), Self.hello(4), Self.read(5, 7),
            .request(
                ConnectionID(5),
                requestID: 8,
                .subscribe(ObjectFetchRequest(entity: EntityNumber(1)), resume: nil, atLeast: Revision(0))
            ),
            Self.fetch(5, 9), Self.read(5, 10), Self.fetch(6, 11),
            .request(ConnectionID(6), requestID: 12, .statistics),
        ])
        let claims = try #require(mailbox.claims(turn: turn, isDelivered: false))
        #expect(Self.ids(claims) == [3, 0, 7, 10, 11])
        #expect(claims.allSatisfy { mailbox.begin($0, turn: turn, isDelivered: false) })
        #expect(!mailbox.begin(claims[0], turn: turn, isDelivered: false))
        // The writes of the turn are visible now; waiting writes are not.
        let later = try #require(mailbox.claims(turn: turn, isDelivered: true))
        #expect(Self.ids(later) == [2])
        // The standby did not begin read 2: the engine gets it, after the connection that the standby welcomed.
        let next = try mailbox.turn()
        #expect(next.inputs.compactMap { Self.name($0)?.id } == [0, 2])
        guard case .connected(_, _, _, _, _, _, _, _, _, isWelcomed: true) = next.inputs[0] else {
            Issue.record("expected a connection that is already welcomed")
            return
        }
        #expect(try mailbox.turn().inputs.compactMap { Self.name($0)?.id } == [4, 5, 6, 8, 9, 12])
    }

    @Test func aBlockedConnectionGetsNoMoreReplies() throws {
        let mailbox = SharedMailbox()
        _ = mailbox.append([Self.write(1, 1)])
        let turn = try mailbox.turn().turn
        _ = mailbox.append([Self.read(2, 2), Self.read(2, 3)])
        let claims = try #require(mailbox.claims(turn: turn, isDelivered: false))
        #expect(mailbox.begin(claims[0], turn: turn, isDelivered: false))
        _ = mailbox.append([.blocked(ConnectionID(2))])
        #expect(!mailbox.begin(claims[1], turn: turn, isDelivered: false))
        #expect(try mailbox.turn().inputs.compactMap { Self.name($0)?.id } == [3])
    }

    /// Reads in the same batch as a long write.
    @Test func readsOfTheBatchAreClaimedUntilItsWritesAreDone() throws {
        let mailbox = SharedMailbox()
        _ = mailbox.append([Self.write(1, 1), Self.read(1, 2), Self.read(2, 3), Self.read(2, 4), Self.hello(3)])
        let batch = try mailbox.turn()
        #expect(batch.isMixed && batch.inputs.count == 5)
        let claims = try #require(mailbox.claims(turn: batch.turn, isDelivered: false))
        #expect(Self.ids(claims) == [3, 4, 0])
        #expect(mailbox.begin(claims[0], turn: batch.turn, isDelivered: false))
        #expect(mailbox.begin(claims[2], turn: batch.turn, isDelivered: false))
        let answered = mailbox.closeRunning()
        #expect(answered.requests == [.init(ConnectionID(2), 3)] && answered.welcomed == [ConnectionID(3)])
        #expect(!mailbox.begin(claims[1], turn: batch.turn, isDelivered: false))
        #expect(mailbox.closeRunning().requests.isEmpty)
        guard case .wait = mailbox.next() else {
            Issue.record("no input must return to the mailbox")
            return
        }
    }

    /// A deferred write, which is not in the batch, may take long too.
    @Test func readsAreClaimedDuringDeferredWork() throws {
        let mailbox = SharedMailbox()
        _ = mailbox.append([Self.read(1, 1), Self.hello(2)])
        guard case .batch(let batch) = mailbox.next(hasBacklog: true) else {
            Issue.record("expected a batch")
            return
        }
        #expect(batch.isMixed)
        let claims = try #require(mailbox.claims(turn: batch.turn, isDelivered: false))
        #expect(Self.ids(claims) == [1, 0])
        #expect(mailbox.begin(claims[0], turn: batch.turn, isDelivered: false))
        #expect(mailbox.closeRunning().requests == [.init(ConnectionID(1), 1)])
    }

    /// For any claims of the standby, each input is handled once and no read overtakes a write of its connection.
    @Test func everythingIsAnsweredOnceAndNoReadOvertakesAWrite() throws {
        for seed in 0..<300 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let mailbox = SharedMailbox(Mailbox(writesMax: Int.random(in: 1...4, using: &random)))
            var nextConnection: UInt64 = 4
            var nextID: UInt32 = 0
            var sent = Set<UInt32>()
            var done = Set<UInt32>()
            /// The sent writes whose replies are not delivered yet, by connection number.
            var open: [UInt64: Set<UInt32>] = [:]
            var isKnown: Set<UInt64> = [1, 2, 3]
            var welcomed = isKnown
            func input() -> EngineInput {
                nextID += 1
                sent.insert(nextID)
                // A client sends nothing before its WELCOME.
                let connection = welcomed.sorted().randomElement(using: &random)!
                switch Int.random(in: 0..<6, using: &random) {
                case 0:
                    open[connection, default: []].insert(nextID)
                    return Self.write(connection, nextID)
                case 1: return Self.fetch(connection, nextID)
                default: return Self.read(connection, nextID)
                }
            }
            func fill() {
                for _ in 0..<Int.random(in: 0...8, using: &random) { _ = mailbox.append([input()]) }
                guard Int.random(in: 0..<4, using: &random) == 0 else { return }
                _ = mailbox.append([Self.hello(nextConnection)])
                nextConnection += 1
            }
            func answer(_ input: EngineInput, isStandby: Bool) {
                guard let (connection, id) = Self.name(input) else { return }
                guard id > 0 else {
                    #expect(welcomed.insert(connection).inserted || !isStandby, "seed \(seed): welcomed twice")
                    if !isStandby { isKnown.insert(connection) }
                    return
                }
                #expect(done.insert(id).inserted, "seed \(seed): \(id) is answered twice")
                if !isStandby { #expect(isKnown.contains(connection), "seed \(seed): \(id) before its handshake") }
                let before = (open[connection] ?? []).filter { $0 < id }
                if isStandby { #expect(before.isEmpty, "seed \(seed): \(id) overtakes \(before)") }
            }
            func standby(_ batch: Mailbox.Batch, isDelivered: Bool, _ pending: inout [StandbyClaim]) {
                pending += mailbox.claims(turn: batch.turn, isDelivered: isDelivered) ?? []
                for claim in pending where Int.random(in: 0..<2, using: &random) == 0 {
                    guard mailbox.begin(claim, turn: batch.turn, isDelivered: isDelivered) else { continue }
                    answer(claim.input, isStandby: true)
                }
            }
            for round in 0..<30 {
                if round < 25 { fill() }
                guard case .batch(let batch) = mailbox.next() else { continue }
                var pending: [StandbyClaim] = []
                if Bool.random(using: &random) { standby(batch, isDelivered: false, &pending) }
                fill()
                if Bool.random(using: &random) { standby(batch, isDelivered: false, &pending) }
                // The engine handles the handshakes of a batch first, then the writes.
                for input in batch.inputs where Self.name(input)?.id == 0 { answer(input, isStandby: false) }
                let answered = batch.isMixed ? mailbox.closeRunning() : AnsweredByStandby()
                for case .request(let connection, let id, let request) in batch.inputs {
                    guard !answered.requests.contains(.init(connection, id)) else { continue }
                    answer(.request(connection, requestID: id, request), isStandby: false)
                }
                for case .request(let connection, let id, .undo) in batch.inputs {
                    open[connection.rawValue]?.remove(id)
                }
                if Bool.random(using: &random) { standby(batch, isDelivered: true, &pending) }
                fill()
                if Bool.random(using: &random) { standby(batch, isDelivered: true, &pending) }
            }
            while case .batch(let batch) = mailbox.next() {
                for input in batch.inputs where Self.name(input)?.id == 0 { answer(input, isStandby: false) }
                for input in batch.inputs where Self.name(input)?.id != 0 { answer(input, isStandby: false) }
            }
            #expect(done == sent, "seed \(seed)")
        }
    }

    /// A FETCH behind a SET_EXPANDED of its connection is not answered before what that shows.
    @Test func fetchesStayBehindFoldsOfTheirConnection() throws {
        let mailbox = SharedMailbox()
        _ = mailbox.append([Self.write(1, 1)])
        let batch = try mailbox.turn()
        let states = [ExpandedState(ObjectID(1), isExpanded: true)]
        let folds = EngineInput.request(ConnectionID(2), requestID: 2, .setExpanded(view: 7, states))
        _ = mailbox.append([folds, Self.fetch(2, 3), Self.fetch(3, 4)])
        #expect(Self.ids(mailbox.claims(turn: batch.turn, isDelivered: true)) == [4])
    }
}
