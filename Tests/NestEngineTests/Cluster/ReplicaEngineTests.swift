import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// The engine of a node: what followers serve, and what becomes of writes whose append has no answer.
@Suite struct ReplicaEngineTests {
    private let fixture: ReplicaFixture
    private let key = Identifier128(high: 1, low: 1)

    init() throws {
        self.fixture = try ReplicaFixture()
    }

    @Test func followerPushesWhatItApplies() throws {
        let writer = try self.fixture.connect(session: 1, to: self.fixture.leader)
        let reader = try self.fixture.connect(session: 2, to: self.fixture.follower)
        try self.fixture.follower.perform([reader.subscribe(EngineFixture.root)])
        _ = try self.fixture.send(writer, self.fixture.insert("one"))
        try self.fixture.run()
        let rows = try #require(reader.state(EngineFixture.root)).sections.flatMap(\.rows)
        #expect(rows.map { $0.values[0] } == [.string("one")])
        #expect(reader.diffs == 1)
    }

    @Test func followerRefusesRequestsOfAnotherNodeAndNamesTheLeader() throws {
        let port = try self.fixture.connect(session: 1, to: self.fixture.follower)
        let write = EngineRequest.forwarded(self.fixture.insert("one"), group: 0, isAgain: false)
        let error = try self.fixture.send(port, write).reply?.error
        #expect(error?.code == .notLeader)
        #expect(error?.leader == self.fixture.leader.id.hex)
        let create = EngineRequest.createToken(TokenGrant(name: "a", role: .admin), secretHash: Self.secret)
        let token = try self.fixture.send(port, .forwarded(create, group: 0, isAgain: false)).reply?.error
        #expect(token?.code == .notLeader)
    }

    @Test func followerAnswersAWriteThatItKnows() throws {
        let request = self.fixture.insert("one", key: self.key)
        let writer = try self.fixture.connect(session: 1, to: self.fixture.leader)
        let receipt = try #require(try self.fixture.send(writer, request).reply?.receipt)
        let other = try self.fixture.connect(session: 1, to: self.fixture.follower)
        try self.fixture.run()
        let again = try #require(try self.fixture.send(other, request).reply?.receipt)
        #expect(again.isReplayed && again.revision == receipt.revision)
    }

    @Test func followerLearnsASessionsNumberFromItsRecord() throws {
        let other = try self.fixture.connect(session: 1, to: self.fixture.follower)
        #expect(self.welcome(of: other)?.sessionNumber == 0)
        _ = try self.fixture.send(other, .undoState(follows: true))
        let writer = try self.fixture.connect(session: 1, to: self.fixture.leader)
        // Another leader might give its number to another session, as long as the session has not written.
        #expect(self.welcome(of: writer)?.sessionNumber == 0)
        _ = try self.fixture.send(writer, self.fixture.insert("one"))
        let again = try self.fixture.connect(session: 1, to: self.fixture.leader)
        #expect(self.welcome(of: again)?.sessionNumber == 1)
        try self.fixture.run()
        #expect(other.undoState?.undoCount == 1)
        // A preview runs a group and rolls it back.
        let preview = try self.fixture.send(other, .previewUndo(.undo, UndoOptions())).reply?.preview
        #expect(preview != nil)
    }

    @Test func newLeaderGivesNumbersToItsConnections() throws {
        let client = try self.fixture.connect(session: 1, to: self.fixture.follower)
        try self.fixture.leader.crash()
        try self.fixture.run(turns: 120)
        #expect(self.fixture.follower.engine!.isLeading)
        #expect(try self.fixture.send(client, self.fixture.insert("one")).reply?.receipt != nil)
        let undo = try self.fixture.send(client, .undo(key: nil)).reply?.receipt
        #expect(undo?.isChanged ?? false)
    }

    @Test func tokensReachFollowersAndEndTheirConnections() throws {
        let writer = try self.fixture.connect(session: 1, to: self.fixture.leader)
        let grant = TokenGrant(name: "a", role: .admin)
        _ = try self.fixture.send(writer, .createToken(grant, secretHash: Self.secret))
        let other = TokenSecret(high: Identifier128(high: 1, low: 3), low: Identifier128(high: 3, low: 4))
        _ = try self.fixture.send(writer, .createToken(grant, secretHash: other))
        try self.fixture.run()
        #expect(self.fixture.effects.contains { if case .tokensChanged(.created, _) = $0 { true } else { false } })
        let id = ConnectionID(900)
        let session = Identifier128(high: 7, low: 9)
        try self.fixture.follower.perform([.connected(id, session: session, scope: .everything, token: 2)])
        _ = try self.fixture.send(writer, .revokeToken(2))
        try self.fixture.run()
        #expect(self.fixture.effects.contains { if case .end(id, _) = $0 { true } else { false } })
    }

    /// The record is in the log, and the leader does not know it at first.
    @Test func idsAreAnsweredWhenTheFateOfTheirRecordIsKnown() throws {
        let own = try self.fixture.connect(session: 1, to: self.fixture.leader)
        let port = try self.fixture.connect(session: 2, to: self.fixture.leader)
        var seen: [ObjectID] = []
        for (client, request) in [
            (own, EngineRequest.reserveIDs(3)), (port, .forwarded(.reserveIDs(3), group: 0, isAgain: false)),
            (port, .forwarded(.reserveIDs(2), group: 0, isAgain: false)),
        ] {
            self.fixture.leader.appender!.nextFate = .arrivesWithoutAnswer
            let id = try self.fixture.send(client, request).id
            #expect(client.replies[id] == nil)
            try self.settle()
            guard case .reserved(let first, let count)? = client.replies[id] else {
                Issue.record("no ids: \(String(describing: client.replies[id]))")
                continue
            }
            seen += (0..<Int64(count)).map { ObjectID(first.rawValue + $0) }
        }
        #expect(seen.count == 8 && seen == Set(seen).sorted())
        let insert = try self.fixture.send(own, self.fixture.insert("one"))
        #expect(try #require(insert.reply?.receipt?.firstInserted) > seen[7])
    }

    // MARK: Records for the followers

    @Test func leaderReportsEachRecordThatItAppendsInOrder() throws {
        let client = try self.fixture.connect(session: 1, to: self.fixture.leader)
        let before = self.fixture.log.head.position
        self.fixture.startCollecting()
        _ = try self.fixture.send(client, self.fixture.insert("one"))
        _ = try self.fixture.send(client, .createToken(TokenGrant(name: "a", role: .admin), secretHash: Self.secret))
        try self.fixture.leader.perform([.log(.mark(requestedBy: 1))])
        self.fixture.leader.appender!.nextFate = .arrivesWithoutAnswer
        _ = try self.fixture.send(client, self.fixture.insert("two"))
        try self.settle()
        _ = try self.fixture.send(client, self.fixture.insert("three"))
        let reported = self.fixture.collected
        #expect(reported.map(\.position.position) == Array(before + 1...before + 5))
        for entry in reported {
            let logged = try #require(self.fixture.log.entries(after: entry.position.position - 1).first)
            #expect(entry.position == logged.position)
            #expect(try entry.bytes.all() == logged.bytes.all())
        }
        // The follower takes them as they are, and skips what it has.
        try self.fixture.follower.perform([.log(.entries(reported)), .log(.entries(reported))])
        #expect(try self.fixture.leader.digest() == self.fixture.follower.digest())
    }

    @Test func largeRecordsAreNotReported() throws {
        let client = try self.fixture.connect(session: 1, to: self.fixture.leader)
        let before = self.fixture.log.head.position
        self.fixture.startCollecting()
        // Text that does not become small when it is packed.
        var random = SeededRandom(seed: 1)
        let mutations = (0..<12).map { _ in
            EngineFixture.insert(String((0..<4_000).map { _ in "\(random.next())" }.joined().prefix(60_000)))
        }
        _ = try self.fixture.send(client, .transaction(WriteTransaction(mutations: mutations)))
        _ = try self.fixture.send(client, self.fixture.insert("small"))
        let large = try #require(self.fixture.log.entries(after: before).first)
        #expect(large.bytes.count > Limits.logBodyBytesMax)
        #expect(self.fixture.collected.map(\.position.position) == [before + 2])
    }

    @Test func followerLeavesRecordsBehindAGapToTheLog() throws {
        let client = try self.fixture.connect(session: 1, to: self.fixture.leader)
        let before = try #require(self.fixture.follower.store?.logState).position
        self.fixture.startCollecting()
        for title in ["one", "two", "three"] { _ = try self.fixture.send(client, self.fixture.insert(title)) }
        try self.fixture.follower.perform([.log(.entries([self.fixture.collected[2]]))])
        #expect(self.fixture.follower.store?.logState?.position == before)
        try self.fixture.run()
        #expect(try self.fixture.leader.digest() == self.fixture.follower.digest())
    }

    // MARK: Uncertainty

    @Test func writesWithoutAnAnswerOfTheLogWaitAndAreAnsweredWhenItsFateIsKnown() throws {
        let first = try self.fixture.connect(session: 1, to: self.fixture.leader)
        let second = try self.fixture.connect(session: 2, to: self.fixture.leader)
        try self.fixture.leader.perform([second.subscribe(EngineFixture.root)])
        self.fixture.leader.appender!.nextFate = .arrivesWithoutAnswer
        let waiting = try self.fixture.send(first, self.fixture.insert("one"))
        let later = try self.fixture.send(second, self.fixture.insert("two"))
        #expect(waiting.reply == nil && later.reply == nil)
        // Reads of other connections go on, without the write.
        let reader = try self.fixture.connect(session: 3, to: self.fixture.leader)
        guard case .object? = try self.fixture.send(reader, .object(EngineFixture.root)).reply else {
            Issue.record("no read while an append has no answer")
            return
        }
        #expect(second.state(EngineFixture.root)?.sections.flatMap(\.rows).isEmpty ?? false)
        try self.settle()
        #expect(first.replies[waiting.id]?.receipt?.isChanged ?? false)
        #expect(second.replies[later.id]?.receipt?.isChanged ?? false)
        #expect(second.state(EngineFixture.root)?.sections.flatMap(\.rows).count == 2)
    }

    @Test func writesFailWhenTheLogDoesNotAnswerForLong() throws {
        let client = try self.fixture.connect(session: 1, to: self.fixture.leader)
        let other = try self.fixture.connect(session: 2, to: self.fixture.leader)
        self.fixture.leader.appender!.nextFate = .arrivesWithoutAnswer
        let request = self.fixture.insert("one", key: self.key)
        let waiting = try self.fixture.send(client, request)
        let later = try self.fixture.send(other, self.fixture.insert("two"))
        try self.fixture.leader.perform([.log(.unanswered)])
        #expect(client.replies[waiting.id]?.error?.code == .storageFailure)
        #expect(other.replies[later.id]?.error?.code == .logUnavailable)
        #expect(try self.fixture.send(other, self.fixture.insert("three")).reply?.error?.code == .logUnavailable)
        try self.settle()
        // It did happen: the key answers.
        #expect(try self.fixture.send(client, request).reply?.receipt?.isReplayed ?? false)
        #expect(try self.fixture.send(other, self.fixture.insert("three")).reply?.receipt != nil)
    }

    @Test func theFateOfAnotherRecordSettlesNothing() throws {
        let client = try self.fixture.connect(session: 1, to: self.fixture.leader)
        self.fixture.leader.appender!.nextFate = .arrivesWithoutAnswer
        let waiting = try self.fixture.send(client, self.fixture.insert("one"))
        let open = try #require(self.fixture.leader.appender?.open).position
        let other = LogPosition(position: open.position, chain: .empty)
        try self.fixture.leader.perform([.log(.resolved(.taken, of: other))])
        #expect(client.replies[waiting.id] == nil && self.fixture.leader.engine!.isLeading)
        try self.settle()
        #expect(client.replies[waiting.id]?.receipt != nil)
    }

    @Test func overtakenWritesAndThoseBehindThemGoToTheNextLeader() throws {
        let client = try self.fixture.connect(session: 1, to: self.fixture.leader)
        let other = try self.fixture.connect(session: 2, to: self.fixture.leader)
        let first = try self.fixture.send(client, self.fixture.insert("zero"))
        #expect(client.replies[first.id]?.receipt != nil)
        try self.overtake()
        // The undo needs the write before it in the journal: it waits for another group.
        let (write, writing) = client.request(self.fixture.insert("one"))
        let (undo, undoing) = client.request(.undo(key: nil))
        let (read, reading) = client.request(.object(EngineFixture.root))
        try self.fixture.leader.perform([writing, undoing, reading])
        #expect(client.replies[write] == nil && client.replies[undo] == nil && client.replies[read] == nil)
        #expect(!self.fixture.leader.engine!.hasBacklog && !self.fixture.leader.engine!.isLeading)
        let later = try self.fixture.send(other, self.fixture.insert("two"))
        try self.forward()
        #expect(client.replies[write]?.receipt?.isReplayed == false)
        #expect(client.replies[undo]?.receipt?.isChanged == true)
        #expect(client.replies[read] != nil && other.replies[later.id]?.receipt != nil)
    }

    @Test func overtakenWritesOfAGroupAreRefused() throws {
        let client = try self.fixture.connect(session: 1, to: self.fixture.leader)
        _ = try self.fixture.send(client, .beginGroup(name: nil, joined: nil))
        try self.overtake()
        let inputs = ["one", "two"].map { client.request(self.fixture.insert($0)) }
        try self.fixture.leader.perform(inputs.map(\.input))
        for (id, _) in inputs { #expect(client.replies[id]?.error?.code == .notFound) }
        // The client knows it now.
        let next = try self.fixture.send(client, self.fixture.insert("three"))
        try self.forward()
        #expect(client.replies[next.id]?.receipt != nil)
    }

    /// Links the first node, which led, to the second one.
    private func forward() throws {
        try self.fixture.leader.link.connect(to: self.fixture.follower)
        try self.fixture.run()
        try self.fixture.leader.link.exchange()
        try self.fixture.run()
    }

    /// Another node appends, and the leader does not know.
    private func overtake() throws {
        self.fixture.log.sessions.remove(self.fixture.leader.id)
        for _ in 0..<200 where !self.fixture.follower.engine!.isLeading {
            self.fixture.log.now += 2
            try self.fixture.follower.step()
        }
        try #require(self.fixture.follower.engine!.isLeading && self.fixture.leader.engine!.isLeading)
    }

    @Test func aWriteWhoseRecordWasOvertakenGoesToTheNextLeader() throws {
        let client = try self.fixture.connect(session: 1, to: self.fixture.leader)
        self.fixture.leader.appender!.nextFate = .neverArrives
        let waiting = try self.fixture.send(client, self.fixture.insert("one"))
        self.fixture.leader.isCut = true
        // The other node leads: the record's position is taken.
        for _ in 0..<200 where !self.fixture.follower.engine!.isLeading {
            self.fixture.log.now += 2
            try self.fixture.follower.step()
        }
        #expect(self.fixture.follower.engine!.isLeading)
        self.fixture.leader.isCut = false
        try self.settle()
        #expect(client.replies[waiting.id] == nil && !self.fixture.leader.engine!.isLeading)
        try self.forward()
        #expect(client.replies[waiting.id]?.receipt?.isReplayed == false)
        #expect(try self.fixture.leader.digest() == self.fixture.follower.digest())
    }

    @Test func aFullDiskOfTheLogRefusesAGroupAndTheNextOneGoesOn() throws {
        let client = try self.fixture.connect(session: 1, to: self.fixture.leader)
        self.fixture.leader.appender!.nextFate = .refused(.diskFull)
        #expect(try self.fixture.send(client, self.fixture.insert("one")).reply?.error?.code == .diskFull)
        #expect(try self.fixture.send(client, self.fixture.insert("two")).reply?.receipt != nil)
    }

    @Test func openGroupsEndWithTheLead() throws {
        let client = try self.fixture.connect(session: 1, to: self.fixture.leader)
        _ = try self.fixture.send(client, self.fixture.insert("zero"))
        _ = try self.fixture.send(client, .beginGroup(name: nil, joined: nil))
        try self.fixture.leader.perform([.log(.follow)])
        for _ in 0..<200 where !self.fixture.leader.engine!.isLeading {
            self.fixture.log.now += 2
            try self.fixture.leader.step()
        }
        #expect(try self.fixture.send(client, self.fixture.insert("one")).reply?.error?.code == .notFound)
        #expect(try self.fixture.send(client, self.fixture.insert("one")).reply?.receipt != nil)
    }

    private func settle() throws {
        let (position, outcome) = try #require(self.fixture.leader.appender?.retry())
        try self.fixture.leader.perform([.log(.resolved(outcome, of: position))])
    }

    private func welcome(of client: SimulatedClient) -> EngineWelcome? {
        for case .welcome(client.connection, let welcome) in self.fixture.effects { return welcome }
        return nil
    }

    private static let secret = TokenSecret(high: Identifier128(high: 1, low: 2), low: Identifier128(high: 3, low: 4))
}
