import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// Writes at a follower: the leader executes them, and the follower answers them from the log.
@Suite struct ForwardingTests {
    private let fixture: ReplicaFixture
    private let key = Identifier128(high: 1, low: 1)
    private var follower: SimulatedNode { self.fixture.follower }
    private var leader: SimulatedNode { self.fixture.leader }

    init() throws {
        self.fixture = try ReplicaFixture()
        try self.follower.link.connect(to: self.leader)
    }

    // MARK: Answers

    @Test func aWriteIsAnsweredByItsRecordAfterTheDiffsThatContainIt() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        try self.follower.perform([client.subscribe(EngineFixture.root)])
        let write = try self.fixture.send(client, self.fixture.insert("one"))
        #expect(try self.follower.link.carryRequests())
        // The leader's answer does not arrive.
        self.fixture.forgetEffects()
        try self.fixture.stream()
        let order = self.fixture.effects.compactMap { effect in
            switch effect {
            case .own: "own"
            case .push: "push"
            case .reply: "reply"
            default: nil
            }
        }
        #expect(order == ["own", "push", "reply"])
        let receipt = try #require(client.replies[write.id]?.receipt)
        #expect(receipt.revision == self.leader.engine!.head && receipt.isChanged && !receipt.isReplayed)
        // The answer comes later, and is not needed.
        try self.follower.link.exchange()
    }

    @Test func anAnswerWaitsUntilTheNodeHasTheRevision() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let write = try self.fixture.send(client, self.fixture.insert("one"))
        try self.follower.link.exchange()
        #expect(client.replies[write.id] == nil)
        try self.fixture.stream()
        #expect(client.replies[write.id]?.receipt?.isReplayed == false)
    }

    @Test func aWriteThatChangesNothingIsAnsweredByTheLeader() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let empty = EngineRequest.transaction(WriteTransaction(mutations: [EngineFixture.edit(EngineFixture.root, "")]))
        let first = try self.fixture.send(client, empty)
        let second = try self.fixture.send(client, empty)
        try self.fixture.exchange()
        #expect(client.replies[first.id] != nil && client.replies[second.id]?.receipt?.isChanged == false)
    }

    @Test func aRefusedWriteIsAnsweredByTheLeader() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let edit = EngineRequest.transaction(WriteTransaction(mutations: [EngineFixture.edit(ObjectID(77), "x")]))
        let write = try self.fixture.send(client, edit)
        try self.follower.link.exchange()
        #expect(client.replies[write.id]?.error?.code == .notFound)
    }

    @Test func aWriteWithoutAKeyGetsOne() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let requests = [self.fixture.insert("one"), .undo(key: nil)]
        let writes = try requests.map { try self.fixture.send(client, $0) }
        try self.fixture.exchange()
        let keys = try writes.map { write in
            let revision = try #require(client.replies[write.id]?.receipt).revision
            return try #require(try self.header(revision)?.key)
        }
        #expect(Set(keys).count == 2)
    }

    @Test func requestsBehindAWriteWaitForIt() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let other = try self.fixture.connect(session: 2, to: self.follower)
        let (write, writing) = client.request(self.fixture.insert("one"))
        let (read, reading) = client.request(.object(ObjectID(2)))
        let (otherRead, otherReading) = other.request(.object(EngineFixture.root))
        try self.follower.perform([writing, reading, otherReading])
        #expect(client.replies[read] == nil && other.replies[otherRead] != nil)
        // The standby must not answer for it either.
        self.follower.engine!.takeHandOut(turn: 1, hasWrites: true)() {}
        #expect(self.follower.engine!.share.client(client.connection) == nil)
        #expect(self.follower.engine!.share.client(other.connection) != nil)
        let (later, laterReading) = client.request(.object(ObjectID(2)))
        try self.follower.perform([laterReading])
        #expect(client.replies[later] == nil)
        try self.fixture.exchange()
        #expect(client.replies[write]?.receipt != nil)
        guard case .object? = client.replies[read], case .object? = client.replies[later] else {
            Issue.record("the read does not see the write")
            return
        }
        self.follower.engine!.takeHandOut(turn: 2, hasWrites: true)() {}
        #expect(self.follower.engine!.share.client(client.connection) != nil)
    }

    @Test func readsWaitOnlyForTheWritesBeforeThemAndKeepTheirOrder() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        var reads: [UInt32] = []
        for index in 0..<3 {
            _ = try self.fixture.send(client, self.fixture.insert("\(index)"))
            for _ in 0..<2 { reads.append(try self.fixture.send(client, .object(EngineFixture.root)).id) }
        }
        for count in 1...3 {
            self.fixture.forgetEffects()
            _ = try self.follower.link.carryRequests(countMax: count == 1 ? 2 : 1)
            try self.fixture.stream()
            let replies = self.fixture.effects.compactMap { effect -> UInt32? in
                if case .reply(client.connection, let id, _) = effect { id } else { nil }
            }
            #expect(replies.suffix(2) == reads[(2 * count - 2)..<(2 * count)] && replies.count == 3)
        }
    }

    @Test func whatFollowsATokenRequestWaitsForItToo() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let secret = TokenSecret(high: Identifier128(high: 1, low: 2), low: Identifier128(high: 3, low: 4))
        let create = EngineRequest.createToken(TokenGrant(name: "a", role: .admin), secretHash: secret)
        let requests = [self.fixture.insert("one"), create, .query(ListTokens())].map { client.request($0) }
        try self.follower.perform(requests.map(\.input))
        try self.follower.link.exchange()
        #expect(client.replies[requests[2].id] == nil)
        try self.fixture.stream()
        guard case .tokenCreated? = client.replies[requests[1].id],
            case .answer(let message, _)? = client.replies[requests[2].id]
        else {
            Issue.record("no answers")
            return
        }
        #expect("\(message)".contains("\"a\""), "\(message)")
    }

    @Test func aRetryOfAnUnknownWriteIsMarkedAndReportedAsOwn() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        try self.follower.perform([client.subscribe(EngineFixture.root)])
        let request = self.fixture.insert("one", key: self.key)
        let first = try self.fixture.send(client, request)
        _ = try self.follower.link.carryRequests()
        try self.follower.link.cut()
        for _ in 0...Limits.forwardWaitSeconds { try self.follower.perform([.tick]) }
        #expect(client.replies[first.id]?.error?.code == .storageFailure)
        let second = try self.fixture.send(client, request)
        try self.fixture.stream()
        #expect(client.replies[second.id]?.receipt?.isReplayed == true && client.ownDiffs == 1)
    }

    /// The diff is the client's own work, though an earlier connection has sent the write.
    @Test func aRetryOfAnEarlierConnectionIsReportedAsOwnIfTheRecordComesLater() throws {
        let earlier = try self.fixture.connect(session: 1, to: self.leader)
        let client = try self.fixture.connect(session: 1, to: self.follower)
        try self.follower.perform([client.subscribe(EngineFixture.root)])
        try self.follower.link.cut()
        let request = self.fixture.insert("one", key: self.key)
        _ = try self.fixture.send(earlier, request)
        let again = try self.fixture.send(client, request)
        try self.fixture.stream()
        #expect(client.replies[again.id]?.receipt?.isReplayed == true && client.ownDiffs == 1)
        let known = self.fixture.insert("two", key: Identifier128(high: 1, low: 2))
        _ = try self.fixture.send(earlier, known)
        try self.fixture.stream()
        #expect(try self.fixture.send(client, known).reply?.receipt?.isReplayed == true && client.ownDiffs == 1)
    }

    @Test func aRetryIsAnsweredOnceAndMarked() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let request = self.fixture.insert("one", key: self.key)
        let first = try self.fixture.send(client, request)
        let second = try self.fixture.send(client, request)
        try self.fixture.exchange()
        #expect(client.replies[first.id]?.receipt?.isReplayed == false)
        #expect(client.replies[second.id]?.receipt?.isReplayed == true)
        let third = try self.fixture.send(client, request)
        #expect(third.reply?.receipt?.isReplayed == true)
        let other = try self.fixture.send(client, self.fixture.insert("two", key: self.key))
        #expect(other.reply?.error?.code == .keyReused)
        #expect(self.follower.link.isIdle)
    }

    @Test func aProgressMarkComesBeforeTheReceiptOfARetry() throws {
        let writer = try self.fixture.connect(session: 1, to: self.leader)
        _ = try self.fixture.send(writer, self.fixture.insert("one"))
        try self.fixture.stream()
        let client = try self.fixture.connect(session: 1, to: self.follower)
        // The write does not concern its subscription.
        try self.follower.perform([client.subscribe(ObjectID(2))])
        let request = self.fixture.insert("two", key: self.key)
        _ = try self.fixture.send(writer, request)
        try self.fixture.stream()
        #expect(client.progress < self.follower.engine!.head)
        #expect(try self.fixture.send(client, request).reply?.receipt?.isReplayed == true)
        let order = self.fixture.effects.compactMap { effect in
            switch effect {
            case .progress(let revision, let ids) where ids.contains(client.connection): "\(revision.rawValue)"
            case .reply: "reply"
            default: nil
            }
        }
        #expect(order == ["\(self.follower.engine!.head.rawValue)", "reply"])
    }

    // MARK: The link

    @Test func aWriteWhoseAnswerIsLostIsAnsweredFromTheLog() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let write = try self.fixture.send(client, self.fixture.insert("one"))
        _ = try self.follower.link.carryRequests()
        try self.follower.link.cut()
        try self.fixture.stream()
        #expect(client.replies[write.id]?.receipt?.isReplayed == false)
        try self.follower.link.connect(to: self.leader)
        #expect(self.follower.link.isIdle)
    }

    @Test func writesOfALostLinkAreSentAgainInOrderAndExecutedOnce() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let writes = try (0..<4).map { try self.fixture.send(client, self.fixture.insert("\($0)")).id }
        _ = try self.follower.link.carryRequests(countMax: 3)
        try self.follower.link.cut()
        try self.follower.link.connect(to: self.leader)
        try self.fixture.exchange()
        let revisions = try writes.map { try #require(client.replies[$0]?.receipt).revision }
        #expect(revisions == revisions.sorted() && Set(revisions).count == 4)
        #expect(self.leader.engine!.head == revisions.last)
    }

    @Test func nothingIsSentBeforeTheNodeHasARecordOfTheLeader() throws {
        try self.follower.link.cut()
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let write = try self.fixture.send(client, self.fixture.insert("one"))
        let epoch = try #require(self.leader.store!.logState).writer.epoch
        try self.follower.link.connect(to: self.leader, epoch: epoch + 1)
        #expect(self.follower.link.isIdle)
        // The same node leads again, in the next epoch.
        try self.leader.perform([.log(.follow)])
        for _ in 0..<200 where !self.leader.engine!.isLeading {
            self.fixture.log.now += 2
            try self.leader.step()
        }
        try self.fixture.exchange()
        #expect(client.replies[write.id]?.receipt != nil)
    }

    @Test func aWriteFailsAfterTheWaitForALeader() throws {
        try self.follower.link.cut()
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let write = try self.fixture.send(client, self.fixture.insert("one"))
        let (read, reading) = client.request(.object(EngineFixture.root))
        try self.follower.perform([reading])
        for _ in 0..<Limits.forwardWaitSeconds { try self.follower.perform([.tick]) }
        #expect(client.replies[write.id] == nil && client.replies[read] == nil)
        try self.follower.perform([.tick])
        #expect(client.replies[write.id]?.error?.code == .logUnavailable)
        #expect(client.replies[read] != nil)
    }

    @Test func aWriteThatTheLeaderKeepsRefusingFailsInTheEnd() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        try self.leader.perform([.log(.follow)])
        let write = try self.fixture.send(client, self.fixture.insert("one"))
        for _ in 0..<Limits.forwardWaitSeconds {
            try self.follower.link.exchange()
            try self.follower.perform([.tick])
        }
        #expect(client.replies[write.id] == nil && self.follower.link.sentCount == Limits.forwardWaitSeconds + 1)
        try self.follower.link.exchange()
        try self.follower.perform([.tick])
        #expect(client.replies[write.id]?.error?.code == .logUnavailable)
    }

    @Test func aWriteThatMayHaveBeenExecutedFailsAsUnknown() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let request = self.fixture.insert("one", key: self.key)
        let write = try self.fixture.send(client, request)
        _ = try self.follower.link.carryRequests()
        // The leader works on it: no time limit.
        for _ in 0..<2 * Limits.forwardWaitSeconds { try self.follower.perform([.tick]) }
        #expect(client.replies[write.id] == nil)
        try self.follower.link.cut()
        for _ in 0...Limits.forwardWaitSeconds { try self.follower.perform([.tick]) }
        #expect(client.replies[write.id]?.error?.code == .storageFailure)
        try self.fixture.stream()
        #expect(try self.fixture.send(client, request).reply?.receipt?.isReplayed == true)
    }

    @Test func aLeaderThatNoLongerLeadsIsAskedAgainInOrder() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        try self.leader.perform([.log(.follow)])
        let first = try self.fixture.send(client, self.fixture.insert("one"))
        _ = try self.follower.link.carryRequests()
        for _ in 0..<200 where !self.leader.engine!.isLeading {
            self.fixture.log.now += 2
            try self.leader.step()
        }
        // It was under way when the first one was refused, and comes to a node that leads again.
        let second = try self.fixture.send(client, self.fixture.insert("two"))
        try self.follower.link.exchange()
        try self.fixture.stream()
        #expect(client.replies[first.id] == nil && client.replies[second.id] == nil)
        try self.follower.perform([.tick])
        try self.fixture.exchange()
        let revisions = try [first, second].map { try #require(client.replies[$0.id]?.receipt).revision }
        #expect(revisions[0] < revisions[1])
        #expect(self.follower.link.sentAgainCount == 2)
    }

    @Test func aConnectionThatLeavesIsClosedAtTheLeader() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        _ = try self.fixture.send(client, self.fixture.insert("one"))
        self.fixture.forgetEffects()
        try self.follower.perform([.disconnected(client.connection)])
        let closes = self.fixture.effects.count { if case .forward(.close) = $0 { true } else { false } }
        #expect(closes == 1)
        try self.fixture.exchange()
        #expect(self.follower.engine!.head == self.leader.engine!.head)
    }

    // MARK: Groups

    @Test func aGroupAtAFollowerIsOneEntry() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        _ = try self.fixture.send(client, .undoState(follows: true))
        let requests =
            [EngineRequest.beginGroup(name: "both", joined: nil)]
            + [self.fixture.insert("one"), self.fixture.insert("two"), .endGroup, self.fixture.insert("three")]
        let ids = try requests.map { try self.fixture.send(client, $0).id }
        _ = try self.follower.link.carryRequests()
        while try self.follower.link.carryAnswer() {}
        guard case .group(let number)? = client.replies[ids[0]] else {
            Issue.record("no group")
            return
        }
        #expect(client.undoState?.group == number)
        try self.fixture.exchange()
        let receipts = try [1, 2, 4].map { try #require(client.replies[ids[$0]]?.receipt) }
        let entries = try receipts.map { try #require(try self.header($0.revision)).entry }
        #expect(entries == [nil, receipts[0].revision, nil])
        #expect(client.undoState?.group == nil && client.undoState?.undoCount == 2)
        // A new leader's groups have other numbers.
        #expect(number > 1 << 24)
    }

    @Test func anUndoInAGroupEndsIt() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let requests =
            [EngineRequest.beginGroup(name: nil, joined: nil), self.fixture.insert("one"), .undo(key: nil)]
            + [self.fixture.insert("two"), .endGroup]
        let ids = try requests.map { try self.fixture.send(client, $0).id }
        try self.fixture.exchange()
        try self.fixture.exchange()
        #expect(try #require(client.replies[ids[2]]?.receipt).isChanged)
        #expect(client.replies[ids[3]]?.receipt != nil)
        #expect(client.replies[ids[4]]?.error?.code == .notFound)
    }

    @Test func aLostGroupEndsClearly() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        _ = try self.fixture.send(client, .undoState(follows: true))
        _ = try self.fixture.send(client, .beginGroup(name: nil, joined: nil))
        try self.follower.link.exchange()
        let executed = try self.fixture.send(client, self.fixture.insert("one")).id
        _ = try self.follower.link.carryRequests()
        let lost = try self.fixture.send(client, self.fixture.insert("two")).id
        try self.follower.link.cut()
        #expect(client.undoState?.group == nil)
        try self.follower.link.connect(to: self.leader)
        try self.fixture.exchange()
        #expect(client.replies[executed]?.receipt != nil)
        #expect(client.replies[lost]?.error?.code == .notFound)
        let next = try self.fixture.send(client, self.fixture.insert("three")).id
        try self.fixture.exchange()
        #expect(client.replies[next]?.receipt != nil)
    }

    @Test func theNextWriteAfterALostGroupIsRefusedOnce() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        _ = try self.fixture.send(client, .beginGroup(name: nil, joined: nil))
        try self.follower.link.exchange()
        try self.follower.link.cut()
        #expect(try self.fixture.send(client, self.fixture.insert("one")).reply?.error?.code == .notFound)
        try self.follower.link.connect(to: self.leader)
        let next = try self.fixture.send(client, self.fixture.insert("two")).id
        try self.fixture.exchange()
        #expect(client.replies[next]?.receipt != nil)
    }

    @Test func aGroupWhoseBeginWasLostBeginsAtTheNextLeader() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let requests =
            [EngineRequest.beginGroup(name: nil, joined: nil), self.fixture.insert("one")]
            + [self.fixture.insert("two"), .endGroup]
        let ids = try requests.map { try self.fixture.send(client, $0).id }
        _ = try self.follower.link.carryRequests()
        try self.follower.link.cut()
        try self.follower.link.connect(to: self.leader)
        try self.fixture.exchange()
        let revisions = try [1, 2].map { try #require(client.replies[ids[$0]]?.receipt).revision }
        let last = try #require(try self.header(revisions[1]))
        #expect(last.entry == revisions[0])
        guard case .done? = client.replies[ids[3]] else {
            Issue.record("the group did not end")
            return
        }
    }

    // MARK: Tokens

    @Test func tokensAreCreatedAndRevokedOnce() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let grant = TokenGrant(name: "a", role: .admin)
        let secrets = (1...2).map {
            TokenSecret(high: Identifier128(high: 1, low: 2), low: Identifier128(high: 3, low: $0))
        }
        let creations = try secrets.map { try self.fixture.send(client, .createToken(grant, secretHash: $0)).id }
        _ = try self.follower.link.carryRequests()
        try self.follower.link.cut()
        try self.follower.link.connect(to: self.leader)
        try self.fixture.exchange()
        let numbers = creations.compactMap { id -> UInt64? in
            if case .tokenCreated(let number)? = client.replies[id] { number } else { nil }
        }
        #expect(numbers == [1, 2] && self.leader.engine!.tokens.all.count == 2)
        let revocation = try self.fixture.send(client, .revokeToken(2)).id
        let (list, listing) = client.request(.query(ListTokens()))
        try self.follower.perform([listing])
        _ = try self.follower.link.carryRequests()
        try self.follower.link.cut()
        try self.follower.link.connect(to: self.leader)
        try self.follower.link.exchange()
        #expect(client.replies[revocation] == nil && client.replies[list] == nil)
        try self.fixture.stream()
        guard case .done? = client.replies[revocation] else {
            Issue.record("no answer to the revocation")
            return
        }
        #expect(client.replies[list] != nil && self.follower.engine!.tokens.all.count == 1)
    }

    // MARK: Leading

    @Test func aNewLeaderExecutesItsForwards() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let other = try self.fixture.connect(session: 2, to: self.follower)
        _ = try self.fixture.send(other, .beginGroup(name: nil, joined: nil))
        try self.follower.link.exchange()
        let grouped = try self.fixture.send(other, self.fixture.insert("grouped")).id
        let known = try self.fixture.send(client, self.fixture.insert("known")).id
        _ = try self.follower.link.carryRequests(countMax: 2)
        let open = try self.fixture.send(client, self.fixture.insert("open")).id
        let (read, reading) = client.request(.object(EngineFixture.root))
        try self.follower.perform([reading])
        try self.leader.crash()
        try self.fixture.run(turns: 120)
        #expect(self.follower.engine!.isLeading)
        #expect(client.replies[known]?.receipt?.isReplayed == false)
        #expect(client.replies[open]?.receipt?.isReplayed == false)
        #expect(client.replies[read] != nil)
        #expect(other.replies[grouped]?.receipt != nil)
        let refused = try self.fixture.send(other, self.fixture.insert("outside"))
        #expect(refused.reply?.error?.code == .notFound)
    }

    private func header(_ revision: Revision) throws -> JournalHeader? {
        let store = try #require(self.leader.store)
        return try store.access { try store.pastTransaction(revision) }?.header
    }
}
