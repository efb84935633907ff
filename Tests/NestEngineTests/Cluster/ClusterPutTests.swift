import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

@testable import NestEngine

/// Large values in parts, on a cluster whose log loses answers and whose leader changes.
@Suite struct ClusterPutTests {
    private static let part = Limits.valuePartBytes

    private let fixture: ReplicaFixture

    init() throws {
        self.fixture = try ReplicaFixture(hasValues: true)
    }

    private var leader: SimulatedNode { self.fixture.leader }
    private var follower: SimulatedNode { self.fixture.follower }

    private func expectEqual() throws {
        try self.fixture.stream()
        #expect(try self.leader.digest() == self.follower.digest())
    }

    /// Sends a value of three parts. `fate`: of the append of one of them.
    private func put(_ fate: SimulatedAppender.Fate?, ofPart number: Int = 1) throws -> (
        client: SimulatedClient, id: UInt32
    ) {
        let client = try self.fixture.connect(session: 1, to: self.leader)
        self.leader.appender!.nextFate = fate
        self.leader.appender!.appendsBeforeFate = number - 1
        return (client, try self.fixture.send(client, EngineFixture.putting(3 * Self.part)).id)
    }

    /// The other node has the parts, too, and the value when it is complete.
    @Test func everyPartIsARecord() throws {
        let before = self.fixture.log.head.position
        let (client, id) = try self.put(nil)
        let value = try #require(client.replies[id]?.largeValue)
        #expect(self.fixture.log.head.position == before + 3)
        for entry in self.fixture.log.entries(after: before) {
            try self.follower.perform([.log(.entries([entry]))])
            #expect(try self.follower.store!.reader.check(deadline: .none) { _ in }.problems == [])
        }
        let insert = try self.fixture.send(client, self.fixture.insert("one"))
        let item = try #require(insert.reply?.receipt?.firstInserted)
        let set = EngineRequest.transaction(WriteTransaction(mutations: [EngineFixture.setting(item, value)]))
        #expect(try self.fixture.send(client, set).reply?.receipt?.isChanged ?? false)
        try self.expectEqual()
    }

    /// `number`: the part whose append has no answer. It is in the log or not.
    @Test(arguments: [1, 2, 3], [true, false])
    func aPartWithoutAnswerIsSettled(number: Int, arrives: Bool) throws {
        let (client, id) = try self.put(arrives ? .arrivesWithoutAnswer : .neverArrives, ofPart: number)
        #expect(client.replies[id] == nil && self.leader.store!.uncertain != nil)
        try self.fixture.run(turns: 60)
        #expect(client.replies[id]?.largeValue != nil, "\(String(describing: client.replies[id]))")
        try self.expectEqual()
        #expect(try self.leader.store!.valueRows("nest_value_piece") == 3 * Self.part / Limits.largeValuePieceBytes)
    }

    /// A refused part fails the value, and its earlier parts are dropped at both nodes.
    @Test func aRefusedPartLeavesNothing() throws {
        let (client, id) = try self.put(.refused(.diskFull), ofPart: 2)
        #expect(client.replies[id]?.error?.code == .diskFull)
        #expect(try self.leader.store!.valueRows("nest_value_piece") == 0)
        try self.expectEqual()
    }

    /// The log does not answer for so long that the client gets an error. The part comes into the log all the same.
    @Test func aPartThatIsUnansweredForLongIsAbandoned() throws {
        let (client, id) = try self.put(.arrivesWithoutAnswer, ofPart: 2)
        try self.leader.perform([.log(.unanswered)])
        #expect(client.replies[id]?.error?.code == .storageFailure)
        #expect(!self.leader.engine!.hasBacklog)
        try self.fixture.run(turns: 60)
        #expect(try self.leader.store!.valueRows("nest_value") == 0)
        try self.expectEqual()
    }

    /// A value that a follower forwards is written in parts at the leader; when the link breaks, it is sent again.
    @Test func aForwardedValueIsSentAgain() throws {
        try self.follower.link.connect(to: self.leader)
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let put = try self.fixture.send(client, EngineFixture.putting(2 * Self.part))
        self.leader.appender!.nextFate = .arrivesWithoutAnswer
        self.leader.appender!.appendsBeforeFate = 1
        _ = try self.follower.link.carryRequests()
        #expect(try self.leader.store!.valueRows("nest_value", where: "descriptor = x''") == 1)
        try self.follower.link.cut()
        let (position, outcome) = try #require(self.leader.appender?.retry())
        try self.leader.perform([.log(.resolved(outcome, of: position))])
        #expect(try self.leader.store!.valueRows("nest_value", where: "descriptor = x''") == 0)
        try self.follower.link.connect(to: self.leader)
        for _ in 0..<4 { try self.fixture.exchange() }
        #expect(client.replies[put.id]?.largeValue != nil, "\(String(describing: client.replies[put.id]))")
        try self.expectEqual()
    }
}
