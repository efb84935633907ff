import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// Reads that need a later state than a node has.
@Suite struct WaitingReadTests {
    private let fixture: ReplicaFixture
    private let rows = SimulatedClient.children(of: EngineFixture.root)

    init() throws {
        self.fixture = try ReplicaFixture()
    }

    /// Writes at the leader; the follower does not have it yet.
    private func written(_ title: String) throws -> Revision {
        let writer = try self.fixture.connect(session: 1, to: self.fixture.leader)
        return try #require(try self.fixture.send(writer, self.fixture.insert(title)).reply?.receipt).revision
    }

    private func titles(_ reply: EngineReply?) throws -> Int {
        guard case .snapshot(let header, _, _)? = reply else {
            throw NestError(.invalid, "no snapshot: \(String(describing: reply))")
        }
        return header.sections.reduce(0) { $0 + $1.rowCount }
    }

    @Test func aFetchWaitsForItsRevisionAndLaterRequestsStayBehindIt() throws {
        let reader = try self.fixture.connect(session: 2, to: self.fixture.follower)
        let other = try self.fixture.connect(session: 3, to: self.fixture.follower)
        let revision = try self.written("one")
        let fetch = try self.fixture.send(reader, .fetch(self.rows, atLeast: revision))
        let later = try self.fixture.send(reader, .fetch(self.rows, atLeast: Revision(0)))
        let object = try self.fixture.send(reader, .object(EngineFixture.root))
        #expect(fetch.reply == nil && later.reply == nil && object.reply == nil)
        #expect(try self.titles(try self.fixture.send(other, .fetch(self.rows, atLeast: Revision(0))).reply) == 0)
        self.fixture.startOrdering()
        try self.fixture.run()
        #expect(self.fixture.answered == [fetch.id, later.id, object.id])
        #expect(try self.titles(reader.replies[fetch.id]) == 1)
        #expect(try self.titles(reader.replies[later.id]) == 1)
    }

    /// The client may have cancelled its request: only time, or the state, ends the wait.
    @Test func waitingReadersAreLimited() throws {
        let engine = try #require(self.fixture.follower.engine)
        let most = Limits.waitingSubtreesMax
        var (done, late, refused) = (0, 0, 0)
        func fill(_ revision: Revision) {
            (done, late, refused) = (0, 0, 0)
            for _ in 0...most {
                engine.whenReached(revision) { error in
                    switch error?.code {
                    case nil: done += 1
                    case .busy: refused += 1
                    default: late += 1
                    }
                }
            }
            #expect(done == 0 && late == 0 && refused == 1, "one is too many")
        }
        fill(try self.written("one"))
        for _ in 0...Limits.revisionWaitSeconds { try self.fixture.follower.perform([.tick]) }
        #expect(late == most)
        fill(try self.written("two"))
        try self.fixture.run()
        #expect(done == most)
        fill(try self.written("three"))
    }

    @Test func aResumePointAheadOfTheNodeWaitsAndGetsTheNetDifference() throws {
        let reader = try self.fixture.connect(session: 2, to: self.fixture.leader)
        try self.fixture.leader.perform([reader.subscribe(EngineFixture.root)])
        _ = try self.written("one")
        #expect(reader.state(EngineFixture.root)?.sections.flatMap(\.rows).count == 1)
        let held = try #require(reader.state(EngineFixture.root)?.revision)
        try self.fixture.move(reader, to: self.fixture.follower)
        #expect(!reader.pendingSubscriptions.isEmpty && self.fixture.follower.engine!.head < held)
        try self.fixture.run()
        #expect(reader.pendingSubscriptions.isEmpty && reader.refusal == nil)
        #expect(reader.state(EngineFixture.root)?.revision == held, "no snapshot of an earlier state")
        _ = try self.written("two")
        try self.fixture.run()
        #expect(reader.state(EngineFixture.root)?.sections.flatMap(\.rows).count == 2)
    }

    @Test func aResumePointOfAnotherHistoryDoesNotWait() throws {
        let point = ResumePoint(historyID: Identifier128(high: 1, low: 1), revision: Revision(1_000))
        let id = try self.ask(self.fixture.follower, .subscribe(self.rows, resume: point, atLeast: Revision(0)))
        guard case .subscribed(_, .snapshot, let reason, _)? = self.reply(to: id) else {
            Issue.record("no snapshot: \(String(describing: self.reply(to: id)))")
            return
        }
        #expect(!reason.isEmpty)
    }

    @Test func aSubscriptionToChangesWaitsForItsRevision() throws {
        let follower = self.fixture.follower
        let since = ResumePoint(historyID: follower.engine!.historyID, revision: try self.written("one"))
        let waiting = try self.ask(follower, .subscribeChanges(since: since, place: 0, entities: []))
        // The largest number of the wire is no revision to add one to.
        let last = ResumePoint(historyID: since.historyID, revision: Revision(UInt64.max))
        let never = try self.ask(follower, .subscribeChanges(since: last, place: 1, entities: []))
        #expect(self.reply(to: waiting) == nil && self.reply(to: never) == nil)
        try self.fixture.run()
        guard case .subscribed? = self.reply(to: waiting) else {
            Issue.record("\(String(describing: self.reply(to: waiting)))")
            return
        }
        try self.time(Limits.revisionWaitSeconds + 2)
        #expect(self.reply(to: never)?.error?.code == .revisionNotReached)
    }

    /// Sends a request on a connection of its own.
    private func ask(_ node: SimulatedNode, _ request: EngineRequest) throws -> ConnectionID {
        let id = ConnectionID(900 + UInt64(self.fixture.effects.count))
        let session = Identifier128(high: 8, low: id.rawValue)
        try node.perform([.connected(id, session: session, scope: .everything)])
        try node.perform([.request(id, requestID: 1, request)])
        return id
    }

    private func reply(to id: ConnectionID) -> EngineReply? {
        for case .reply(id, _, let reply) in self.fixture.effects { return reply }
        return nil
    }

    /// A leader that was frozen may not know that another one leads.
    @Test func theLeaderWaitsTooAndSaysWhatToDo() throws {
        let reader = try self.fixture.connect(session: 2, to: self.fixture.leader)
        let ahead = Revision(self.fixture.leader.engine!.head.rawValue + 1)
        let fetch = try self.fixture.send(reader, .fetch(self.rows, atLeast: ahead))
        let later = try self.fixture.send(reader, .fetch(self.rows, atLeast: Revision(0)))
        #expect(fetch.reply == nil)
        try self.time(Limits.revisionWaitSeconds + 2)
        let error = try #require(reader.replies[fetch.id]?.error)
        #expect(error.code == .revisionNotReached && error.message.contains("try again, or at another node"))
        #expect(try self.titles(reader.replies[later.id]) == 0)
    }

    @Test func aClientThatIsGoneWaitsForNothing() throws {
        let reader = try self.fixture.connect(session: 2, to: self.fixture.follower)
        _ = try self.fixture.send(reader, .fetch(self.rows, atLeast: try self.written("one")))
        try self.fixture.follower.perform([.disconnected(reader.connection)])
        try self.fixture.run()
        #expect(reader.replies.isEmpty)
    }

    // MARK: The newest state

    private var questions: [UInt64] {
        self.fixture.effects.compactMap { if case .replica(.headWanted(let number)) = $0 { number } else { nil } }
    }

    private func answer(_ number: UInt64, _ node: SimulatedNode, _ answer: Result<Int64, NestError>) throws {
        self.fixture.clearEffects()
        try node.perform([.log(.head(number: number, answer))])
    }

    @Test func theNewestStateHasAllThatWasAcknowledgedBefore() throws {
        let follower = self.fixture.follower
        follower.answersQuestions = false
        let reader = try self.fixture.connect(session: 2, to: follower)
        _ = try self.written("one")
        let first = reader.request(.fetch(self.rows, atLeast: .newest))
        self.fixture.clearEffects()
        try follower.perform([first.input])
        #expect(self.questions == [1])
        // It came after the question: the answer may lack what it must see.
        let other = try self.fixture.connect(session: 3, to: follower)
        let later = try self.fixture.send(other, .fetch(self.rows, atLeast: .newest))
        #expect(self.questions.isEmpty && reader.replies[first.id] == nil)
        try self.answer(1, follower, .success(self.fixture.log.head.position))
        #expect(self.questions == [2] && reader.replies[first.id] == nil)
        _ = try self.written("two")
        try self.answer(2, follower, .success(self.fixture.log.head.position))
        try self.fixture.run()
        #expect(try self.titles(reader.replies[first.id]) >= 1)
        #expect(try self.titles(other.replies[later.id]) == 2)
    }

    @Test func theLeaderAsksTheLogToo() throws {
        self.fixture.leader.answersQuestions = false
        let reader = try self.fixture.connect(session: 2, to: self.fixture.leader)
        let fetch = try self.fixture.send(reader, .fetch(self.rows, atLeast: .newest))
        let point = ResumePoint(historyID: self.fixture.leader.engine!.historyID, revision: Revision(0))
        #expect(fetch.reply == nil && self.questions == [1])
        let subscriber = try self.ask(self.fixture.leader, .subscribe(self.rows, resume: point, atLeast: .newest))
        try self.answer(1, self.fixture.leader, .success(self.fixture.log.head.position))
        #expect(reader.replies[fetch.id] != nil && self.reply(to: subscriber) == nil && self.questions == [2])
        try self.answer(2, self.fixture.leader, .success(self.fixture.log.head.position))
        #expect(self.reply(to: subscriber) != nil && self.questions.isEmpty)
    }

    /// What waited behind an answer, or came between two turns, asks at once: nothing else may happen for long.
    @Test func theNextQuestionIsAskedWithoutAnotherInput() throws {
        let leader = self.fixture.leader
        leader.answersQuestions = false
        let reader = try self.fixture.connect(session: 2, to: leader)
        let fetches = (0..<2).map { _ in reader.request(.fetch(self.rows, atLeast: .newest)) }
        self.fixture.clearEffects()
        try leader.perform(fetches.map(\.input))
        #expect(self.questions == [1])
        try self.answer(1, leader, .success(self.fixture.log.head.position))
        #expect(reader.replies[fetches[0].id] != nil && self.questions == [2])
        try self.answer(2, leader, .success(self.fixture.log.head.position))
        #expect(reader.replies[fetches[1].id] != nil && self.questions.isEmpty)
        let engine = try #require(leader.engine)
        var errors: [NestError?] = []
        engine.whenReached(.newest) { errors.append($0) }
        #expect(engine.hasBacklog)
        try leader.perform([])
        #expect(self.questions == [3] && !engine.hasBacklog)
        try self.answer(3, leader, .success(self.fixture.log.head.position))
        #expect(errors == [nil])
    }

    @Test func withoutTheLogTheNewestStateIsRefused() throws {
        self.fixture.follower.answersQuestions = false
        let reader = try self.fixture.connect(session: 2, to: self.fixture.follower)
        let fetch = try self.fixture.send(reader, .fetch(self.rows, atLeast: .newest))
        try self.answer(1, self.fixture.follower, .failure(NestError(.logUnavailable, "no")))
        #expect(reader.replies[fetch.id]?.error?.code == .logUnavailable)
        // No answer at all.
        let again = try self.fixture.send(reader, .fetch(self.rows, atLeast: .newest))
        try self.time(Limits.revisionWaitSeconds + 2)
        #expect(reader.replies[again.id]?.error?.code == .logUnavailable)
        let last = try self.fixture.send(reader, .fetch(self.rows, atLeast: .newest))
        #expect(last.reply == nil && self.questions == [3])
    }

    @Test func theNewestStateOfASingleNodeIsItsHead() throws {
        let single = try EngineFixture(isVolatile: true)
        let client = try single.connect(session: 1)
        try single.write(client, [EngineFixture.insert("one")])
        #expect(try self.titles(try single.ask(client, .fetch(self.rows, atLeast: .newest))) == 1)
        let id = ConnectionID(900)
        let effects = try single.perform([
            .connected(id, session: Identifier128(high: 8, low: 1), scope: .everything),
            .request(id, requestID: 1, .subscribe(self.rows, resume: nil, atLeast: .newest)),
        ])
        #expect(effects.contains { if case .reply(id, _, .subscribed) = $0 { true } else { false } })
        let ahead = try single.ask(client, .fetch(self.rows, atLeast: Revision(100))).error
        #expect(ahead?.code == .revisionNotReached, "a single node does not wait")
    }

    private func time(_ seconds: Int) throws {
        for _ in 0..<seconds { for node in self.fixture.nodes { try node.perform([.tick]) } }
    }
}
