import NIOCore
import NestFraming
import NestModel
import NestProtocol
import NestTestSupport
import Testing

@testable import NestClient

/// A client of a cluster, step by step.
@Suite struct ClientLeaderTests: ClientSteps {
    private static let leader = ServerAddress(host: "b", port: 7001)

    private static func notLeader(_ leader: String?, id: UInt32) -> Frame {
        Self.frame(ErrorMessage(NestError(.notLeader, "this node follows", leader: leader)), id: id)
    }

    private static func receipt(id: UInt32) -> Frame {
        Self.frame(ReceiptMessage(Receipt(revision: Revision(9), isChanged: true)), id: id)
    }

    private static func pause(_ actions: [ClientAction]) -> Int? {
        actions.lazy.compactMap { if case .retryAfter(let milliseconds) = $0 { milliseconds } else { nil } }.first
    }

    private static func failures(_ actions: [ClientAction]) -> [RequestToken: NestError] {
        var failures: [RequestToken: NestError] = [:]
        for case .fail(let token, let error) in actions { failures[token] = error }
        return failures
    }

    private static func ready(_ role: ReplicaRole = .follower, leader: String? = nil, follows: Bool = true)
        -> ClientStateMachine
    {
        let hello = Hello(clientName: "t", session: Identifier128(high: 1, low: 2))
        var machine = ClientStateMachine(hello: hello, seed: 1, followsLeader: follows)
        _ = machine.connect()
        Self.welcome(&machine, role, leader: leader)
        return machine
    }

    /// Moves the client to the leader after a refusal.
    private static func move(_ machine: inout ClientStateMachine, now: NIODeadline = Self.start) -> [MessageType] {
        #expect(machine.channelClosed(nil, now: now).last == .openChannelAfter(milliseconds: 0))
        #expect(machine.backoffEnded() == [.openChannel])
        return Self.sent(Self.welcome(&machine, .leader, leader: nil, now: now))
    }

    @Test func aRefusedWriteIsSentToTheLeaderWithTheSubscriptions() {
        var machine = Self.ready()
        _ = machine.subscribe(SubscriberID(50), to: Fixtures.request)
        let view: UInt32 = Limits.viewIDMin
        _ = machine.received(Self.frame(Fixtures.subscribed(view, .snapshot), id: 1), now: Self.start)
        _ = machine.submit(Self.write(1))
        _ = machine.submit(Self.read(2))
        #expect(machine.received(Self.notLeader("b:7001", id: 2), now: Self.start) == [.closeChannel])
        #expect(Self.move(&machine) == [.transaction, .getObject, .subscribe])
        #expect(machine.route.current == Self.leader)
        #expect(machine.received(Self.receipt(id: 1), now: Self.start).first.map(Self.isSuccess) == true)
        // The client stays, and the next write goes there at once.
        #expect(Self.sent(machine.submit(Self.write(3))) == [.transaction])
    }

    private static func isSuccess(_ action: ClientAction) -> Bool {
        if case .succeed = action { true } else { false }
    }

    @Test func writesWaitBehindARefusedOneAndReadsDoNot() {
        var machine = Self.ready()
        _ = machine.submit(Self.write(1))
        let pause = Self.pause(machine.received(Self.notLeader(nil, id: 1), now: Self.start))
        #expect(pause ?? 0 > 0)
        #expect(Self.sent(machine.submit(Self.write(2))).isEmpty)
        #expect(Self.sent(machine.submit(Self.read(3))) == [.getObject])
        #expect(Self.sent(machine.pauseEnded(now: Self.start)) == [.transaction, .transaction])
        #expect(machine.pauseEnded(now: Self.start).isEmpty)
    }

    /// The node began to lead between two writes: the second was taken, and the first is sent again.
    @Test func aWriteBehindARefusedOneMayBeTaken() {
        var machine = Self.ready()
        _ = machine.submit(Self.write(1))
        _ = machine.submit(Self.write(2))
        _ = machine.received(Self.notLeader(nil, id: 1), now: Self.start)
        #expect(Self.pause(machine.pauseEnded(now: Self.start)) != nil)
        #expect(machine.received(Self.receipt(id: 2), now: Self.start).first.map(Self.isSuccess) == true)
        #expect(Self.sent(machine.pauseEnded(now: Self.start)) == [.transaction])
    }

    /// Refuses the write 1 until it fails. Returns its error, the time, and the next id.
    private static func refused(_ machine: inout ClientStateMachine) -> (NestError?, NIODeadline, UInt32) {
        var (now, id, failure) = (Self.start, UInt32(1), NestError?.none)
        while failure == nil, id < 1_000 {
            let actions = machine.received(Self.notLeader(nil, id: id), now: now)
            failure = Self.failures(actions)[RequestToken(1)]
            now = now + .milliseconds(Int64(Self.pause(actions) ?? 0))
            _ = machine.pauseEnded(now: now)
            id += 1
        }
        return (failure, now, id)
    }

    @Test func withoutALeaderARequestFailsAfterTheLimit() {
        var machine = Self.ready()
        _ = machine.submit(Self.write(1))
        let (failure, now, id) = Self.refused(&machine)
        #expect(failure?.code == .notLeader && failure?.message.contains("cluster status") == true)
        #expect(now - Self.start >= .seconds(Int64(Limits.leaderWaitSeconds)))
        #expect(id < 100, "\(id) attempts")
    }

    @Test func anUnavailableLogIsWaitedForUntilTheRequestTimesOut() {
        var machine = Self.ready(.leader)
        _ = machine.submit(Self.write(1))
        let refusal = ErrorMessage(NestError(.logUnavailable, "the log cannot be reached"))
        let late = Self.start + .hours(1)
        #expect(Self.pause(machine.received(Self.frame(refusal, id: 1), now: Self.start)) != nil)
        #expect(Self.sent(machine.pauseEnded(now: Self.start)) == [.transaction])
        #expect(Self.pause(machine.received(Self.frame(refusal, id: 2), now: late)) != nil)
        let failure = Self.failures(machine.abandon(RequestToken(1), isTimeout: true))[RequestToken(1)]
        #expect(failure == refusal.error)
        #expect(machine.pauseEnded(now: Self.start).isEmpty)
    }

    /// What a lost connection may have executed stays unknown, whatever another node says later.
    @Test func aRefusalDoesNotHideAnUnknownOutcome() {
        var machine = Self.ready(.leader)
        _ = machine.submit(Self.write(1))
        _ = machine.channelClosed(nil, now: Self.start)
        _ = machine.backoffEnded()
        #expect(Self.sent(Self.welcome(&machine, .follower, leader: nil)) == [.transaction])
        _ = machine.received(Self.notLeader(nil, id: 1), now: Self.start)
        let failure = Self.failures(machine.abandon(RequestToken(1), isTimeout: true))[RequestToken(1)]
        #expect(failure?.code == .outcomeUnknown)
    }

    /// Also if no node takes the write at all, and the client gives up before its caller does.
    @Test func aWriteThatMayBeExecutedIsNotReportedAsRefused() {
        var machine = Self.ready(.leader)
        _ = machine.submit(Self.write(1))
        _ = machine.channelClosed(nil, now: Self.start)
        _ = machine.backoffEnded()
        #expect(Self.sent(Self.welcome(&machine, .follower, leader: nil)) == [.transaction])
        #expect(Self.refused(&machine).0?.code == .outcomeUnknown)
    }

    @Test func aClientThatMustNotFollowGetsTheError() {
        var machine = Self.ready(follows: false)
        _ = machine.submit(Self.write(1))
        let error = NestError(.notLeader, "this node follows", leader: "b:7001")
        #expect(machine.received(Self.notLeader("b:7001", id: 1), now: Self.start) == [.fail(RequestToken(1), error)])
    }

    @Test func aWriteOfAGroupIsNotSentElsewhere() {
        var machine = Self.ready(.leader)
        let begin = OutgoingRequest(owner: .caller(RequestToken(1)), kind: .connection, BeginGroup(name: nil))
        _ = machine.submit(begin)
        _ = machine.received(Self.frame(Group(number: 4), id: 1), now: Self.start)
        _ = machine.submit(Self.write(2))
        let actions = machine.received(Self.notLeader("b:7001", id: 2), now: Self.start)
        #expect(Self.failures(actions)[RequestToken(2)]?.code == .notLeader && actions.contains(.closeChannel))
        #expect(Self.move(&machine).isEmpty)
        #expect(Self.failures(machine.submit(Self.write(3)))[RequestToken(3)]?.code == .connectionLost)
    }

    @Test func aGroupBeginsAtTheLeader() {
        var machine = Self.ready()
        let begin = OutgoingRequest(owner: .caller(RequestToken(1)), kind: .connection, BeginGroup(name: nil))
        _ = machine.submit(begin)
        #expect(machine.received(Self.notLeader("b:7001", id: 1), now: Self.start) == [.closeChannel])
        #expect(Self.move(&machine) == [.beginGroup])
    }

    /// A follower passes an upload on. If it refuses the upload, the client does not send it twice, but the next one
    /// goes to the leader.
    @Test func anUploadStaysAtTheNode() {
        var machine = Self.ready(.follower, leader: "b:7001")
        let target = SubtreeImport(
            entity: EntityNumber(1),
            placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last),
            properties: []
        )
        func upload(_ token: UInt64) -> OutgoingRequest {
            OutgoingRequest(owner: .caller(RequestToken(token)), kind: .upload(isEnded: false), ImportSubtree(target))
        }
        #expect(Self.sent(machine.submit(upload(1))) == [.importSubtree])
        let actions = machine.received(Self.notLeader("b:7001", id: 1), now: Self.start)
        #expect(Self.failures(actions)[RequestToken(1)]?.code == .notLeader && actions.contains(.closeChannel))
        #expect(Self.move(&machine).isEmpty && machine.route.current == Self.leader)
        #expect(Self.sent(machine.submit(upload(2))) == [.importSubtree])
    }

    /// The client tries the address of the leader and its user's in turn, and pauses after both have failed.
    @Test func afterALossBothAddressesAreTried() {
        var machine = Self.ready()
        _ = machine.submit(Self.write(1))
        _ = machine.received(Self.notLeader("b:7001", id: 1), now: Self.start)
        _ = Self.move(&machine)
        var tried: [(ServerAddress, Int)] = []
        let lost = Self.start + .seconds(Int64(Limits.reconnectNodeHealthySeconds))
        for _ in 0..<5 {
            guard case .openChannelAfter(let pause)? = machine.channelClosed(nil, now: lost).last else { break }
            tried.append((machine.route.current, pause))
            _ = machine.backoffEnded()
        }
        #expect(tried.map(\.0) == [Self.leader, ServerAddress(), Self.leader, ServerAddress(), Self.leader])
        #expect(tried.map { $0.1 > 0 } == [false, false, true, false, true])
    }

    /// A leader that this client must not use, because its certificate is wrong for example: the write fails at once.
    @Test func aLeaderThatCannotBeTrustedIsNamedInTheError() {
        var machine = Self.ready()
        _ = machine.submit(Self.write(1))
        _ = machine.received(Self.notLeader("b:7001", id: 1), now: Self.start)
        _ = machine.channelClosed(nil, now: Self.start)
        _ = machine.backoffEnded()
        let untrusted = NestError(.untrusted, "the certificate is for another name")
        #expect(machine.channelClosed(untrusted, now: Self.start) == [.openChannelAfter(milliseconds: 0)])
        _ = machine.backoffEnded()
        #expect(machine.route.current == ServerAddress())
        #expect(Self.sent(Self.welcome(&machine, .follower, leader: nil)) == [.transaction])
        let failure = Self.failures(machine.received(Self.notLeader("b:7001", id: 1), now: Self.start))[RequestToken(1)]
        #expect(failure?.code == .notLeader && failure?.message.contains(untrusted.message) == true)
    }

    /// A leader that is not there: the client asks the node again, which names another one sooner or later.
    @Test func aLostLeaderIsNotTriedAgainAtOnce() {
        var machine = Self.ready()
        _ = machine.submit(Self.write(1))
        _ = machine.received(Self.notLeader("b:7001", id: 1), now: Self.start)
        _ = machine.channelClosed(nil, now: Self.start)
        _ = machine.backoffEnded()
        _ = machine.channelClosed(NestError(.unreachable, "nothing listens there"), now: Self.start)
        _ = machine.backoffEnded()
        #expect(Self.sent(Self.welcome(&machine, .follower, leader: nil)) == [.transaction])
        #expect(Self.pause(machine.received(Self.notLeader("b:7001", id: 1), now: Self.start)) != nil)
        #expect(Self.sent(machine.pauseEnded(now: Self.start)) == [.transaction])
        #expect(machine.received(Self.notLeader("c:7002", id: 2), now: Self.start).contains { $0 != .closeChannel })
        #expect(machine.pauseEnded(now: Self.start) == [.closeChannel])
        _ = machine.channelClosed(nil, now: Self.start)
        #expect(machine.route.current == ServerAddress(host: "c", port: 7002))
    }

    /// What a named leader refuses for good ends the connection, not the client.
    @Test func aLeaderThatRefusesTheClientDoesNotEndIt() {
        var machine = Self.ready()
        _ = machine.submit(Self.write(1))
        _ = machine.received(Self.notLeader("b:7001", id: 1), now: Self.start)
        _ = machine.channelClosed(nil, now: Self.start)
        _ = machine.backoffEnded()
        _ = machine.channelOpened(now: Self.start)
        let refusal = ErrorMessage(NestError(.unauthenticated, "no such token"))
        #expect(machine.received(Self.frame(refusal, id: 0), now: Self.start) == [.closeChannel])
        _ = machine.channelClosed(nil, now: Self.start)
        #expect(machine.phase == .backingOff && machine.route.current == ServerAddress())
    }

    @Test(arguments: ["", "b:port", "http://b", String(repeating: "x", count: 100) + ":99999"])
    func anAddressThatIsNoneIsLikeNoAddress(_ address: String) {
        var machine = Self.ready()
        _ = machine.submit(Self.write(1))
        #expect(Self.pause(machine.received(Self.notLeader(address, id: 1), now: Self.start)) != nil)
        #expect(machine.route.current == ServerAddress())
    }
}

extension SocketTests {
    @Suite struct ClientLeaderSocketTests {
        @Test func aWriteGoesToTheLeaderThatAFollowerNames() async throws {
            try await FakeServer.run { leader in
                try await leader.welcome()
                let (id, _) = try await leader.expect(TransactionMessage.self)
                try await leader.send(ReceiptMessage(Receipt(revision: Revision(8), isChanged: true)), id: id)
                await leader.untilClosed()
            } client: { leaderPort in
                try await FakeServer.run { follower in
                    try await follower.welcome()
                    let (id, _) = try await follower.expect(TransactionMessage.self)
                    let error = NestError(.notLeader, "this node follows", leader: "127.0.0.1:\(leaderPort)")
                    try await follower.send(ErrorMessage(error), id: id)
                    await follower.untilClosed()
                } client: { port in
                    try await NestClient.withClient(Fixtures.configuration(port)) { client in
                        #expect(await client.address.port == port)
                        let receipt = try await client.transaction(Fixtures.insert)
                        #expect(receipt.revision == Revision(8))
                        #expect(await client.address.port == leaderPort)
                    }
                }
            }
        }
    }
}
