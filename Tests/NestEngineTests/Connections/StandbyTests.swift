import Dispatch
import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol

/// The state that the engine shares with a standby, and the answers that it accepts from it.
struct StandbyTests {
    private static let session = Identifier128(high: 5, low: 5)

    private func share(_ fixture: EngineFixture, _ effects: [EngineEffect] = [], hasWrites: Bool = true) -> EngineShare
    {
        fixture.engine.takeHandOut(turn: 1, hasWrites: hasWrites)() {}
        return fixture.engine.share
    }

    private func hello(
        _ connection: ConnectionID,
        token: UInt64? = nil,
        isWelcomed: Bool = false
    ) -> EngineInput {
        .connected(
            connection,
            session: Self.session,
            scope: .everything,
            token: token,
            isWelcomed: isWelcomed
        )
    }

    private func welcome(_ effects: [EngineEffect]) -> EngineWelcome? {
        for case .welcome(_, let welcome) in effects { return welcome }
        return nil
    }

    @Test func aConnectionWelcomedByTheStandbyKeepsItsSessionNumber() throws {
        let fixture = try EngineFixture(isVolatile: true)
        let (first, second) = (fixture.newConnection(), fixture.newConnection())
        let number = try #require(self.welcome(try fixture.perform([self.hello(first)]))).sessionNumber
        #expect(fixture.engine.share.sessions.hold(Self.session) == number)
        // The session's other connection closes before the engine knows the new one.
        try fixture.perform([.disconnected(first)])
        let effects = try fixture.perform([self.hello(second, isWelcomed: true)])
        #expect(self.welcome(effects) == nil)
        #expect(self.share(fixture).client(second) != nil)
        #expect(
            try #require(self.welcome(try fixture.perform([self.hello(fixture.newConnection())]))).sessionNumber
                == number
        )
        // A session that never wrote is forgotten with its last connection.
        let third = fixture.newConnection()
        let other = EngineInput.connected(third, session: Identifier128(high: 6, low: 6), scope: .everything)
        let otherNumber = try #require(self.welcome(try fixture.perform([other]))).sessionNumber
        #expect(fixture.engine.share.sessions.hold(Self.session) == number && otherNumber != number)
        fixture.engine.share.sessions.release(number)
    }

    /// An answer would arrive after effects that were delivered ahead, and could show the state before them.
    @Test func theStandbyAnswersNoRecipientOfWhatIsNotHandedOutYet() throws {
        let fixture = try EngineFixture(isVolatile: true)
        let writer = try fixture.connect(session: 1).connection
        let reader = try fixture.connect(session: 2).connection
        let share = self.share(fixture)
        let handOut = fixture.engine.takeHandOut(turn: 2, hasWrites: true)
        var isDelivered = false
        handOut.ahead(to: [writer]) { isDelivered = true }
        #expect(isDelivered)
        #expect(share.client(writer) == nil && share.client(reader) != nil)
        #expect(!share.handOut(to: writer, if: { _ in true }) {} && share.handOut(to: reader, if: { _ in true }) {})
        handOut {}
        #expect(share.client(writer) != nil)
        #expect(share.handOut(to: writer, if: { _ in true }) {})
    }

    @Test func aRevokedTokenEndsAConnectionWelcomedByTheStandby() throws {
        let fixture = try EngineFixture(isVolatile: true)
        let connection = fixture.newConnection()
        let share = self.share(fixture)
        #expect(!share.isGood(token: 7) && share.isGood(token: nil))
        let number = share.sessions.hold(Self.session)
        share.welcome(connection, .init(scope: .everything, takesCompressed: false), sessionNumber: number) { _ in }
        #expect(share.client(connection) != nil)
        let effects = try fixture.perform([self.hello(connection, token: 7, isWelcomed: true)])
        #expect(effects.contains { if case .end(connection, _) = $0 { true } else { false } })
        #expect(self.share(fixture, hasWrites: false).client(connection) == nil)
        // The session is forgotten, and its number is not used again.
        #expect(share.sessions.number(of: Self.session) > number)
    }

    @Test func requestsAnsweredByTheStandbyAreNotAnsweredAgain() throws {
        let fixture = try EngineFixture(isVolatile: true)
        let writer = try fixture.connect(session: 1)
        let reader = try fixture.connect(session: 2)
        let new = fixture.newConnection()
        let read = EngineRequest.object(EngineFixture.root)
        let insert = EngineRequest.transaction(WriteTransaction(mutations: [EngineFixture.insert("a")]))
        let inputs: [EngineInput] = [
            .request(reader.connection, requestID: 1, read), .request(writer.connection, requestID: 2, insert),
            .request(reader.connection, requestID: 3, read), self.hello(new),
        ]
        var answered = AnsweredByStandby()
        answered.requests = [.init(reader.connection, 1)]
        answered.welcomed = [new]
        let effects = fixture.engine.perform(inputs, now: 5) { answered }
        let replies = effects.compactMap { effect -> UInt32? in
            if case .reply(_, let id, _) = effect { id } else { nil }
        }
        #expect(replies == [2, 3] && self.welcome(effects) == nil)
        // The engine still knows the connection.
        let ping = fixture.engine.perform([.request(new, requestID: 1, read)], now: 6)
        #expect(ping.count == 1)
    }

    @Test func theStandbyAnswersOnlyConnectionsThatAreUpToDate() throws {
        let fixture = try EngineFixture(isVolatile: true)
        let client = try fixture.connect(session: 1)
        let share = self.share(fixture)
        func isAnswered() -> Bool {
            share.handOut(to: client.connection, if: { $0.head == fixture.engine.head }) {}
        }
        #expect(isAnswered())
        #expect(!share.handOut(to: client.connection, if: { _ in false }) { Issue.record("the condition is false") })
        #expect(!share.handOut(to: ConnectionID(999), if: { _ in true }) { Issue.record("an unknown connection") })
        try fixture.perform([.blocked(client.connection)])
        // The share changes only when the effects are handed out.
        #expect(isAnswered())
        _ = self.share(fixture, hasWrites: false)
        #expect(!isAnswered() && share.client(client.connection) == nil)
        try fixture.perform([.drained(client.connection)])
        #expect(!isAnswered())
        _ = self.share(fixture, hasWrites: false)
        #expect(isAnswered())
        // The write is committed, but its effects are not handed out yet.
        try fixture.write(client, [EngineFixture.insert("a")])
        #expect(!isAnswered() && share.progress.head < fixture.engine.head)
        _ = self.share(fixture)
        #expect(isAnswered() && share.progress.turn == 1)
        try fixture.perform([.disconnected(client.connection)])
        _ = self.share(fixture, hasWrites: false)
        #expect(!isAnswered())
    }

    @Test func theStandbyAnswersReadsAsTheEngineDoes() throws {
        let fixture = try EngineFixture()
        let client = try fixture.connect(session: 1)
        for title in ["Milk", "Bread", "Butter"] { try fixture.write(client, [EngineFixture.insert(title)]) }
        let inside = try fixture.children()[0]
        try fixture.write(client, [EngineFixture.insert("organic", under: inside)])
        try fixture.write(client, (0..<30).map { EngineFixture.insert("\($0)", under: inside) })
        let guest = AccessConfinement(root: inside, entity: EngineFixture.item, relationship: PropertyNumber(6))
        let children = ObjectFetchRequest(
            entity: EngineFixture.item,
            source: FetchSource(object: inside, relationship: PropertyNumber(6)),
            projection: [EngineFixture.title]
        )
        var around = children
        around.window = .around(ObjectID(99), before: 1, after: 1)
        var unknown = children
        unknown.entity = EntityNumber(99)
        let requests: [EngineRequest] =
            [1, 2, 3, 5, 99].map { .object(ObjectID($0)) }
            + [children, around, unknown, ObjectFetchRequest(entity: EngineFixture.item)].map {
                .fetch($0, atLeast: Revision(0))
            }
        for scope in [AuthorisationScope.everything, .subtree(guest)] {
            let prober = fixture.newConnection()
            try fixture.perform([.connected(prober, session: Self.session, scope: scope)])
            for (index, request) in requests.enumerated() {
                let effects = try fixture.perform([.request(prober, requestID: UInt32(index + 1), request)])
                let reply = try #require(
                    effects.compactMap { effect -> EngineReply? in
                        if case .reply(prober, _, let reply) = effect { reply } else { nil }
                    }.first
                )
                try StandbyCheck.expect(request, as: reply, fixture.store.reader, scope: scope)
            }
        }
        // It sees committed writes, and no later ones.
        let reader = try StandingReader(fixture.store.reader)
        defer { reader.close() }
        let head = try reader.begin()
        #expect(head == fixture.engine.head)
        try fixture.write(client, [EngineFixture.insert("later")])
        #expect(try reader.detail(EngineFixture.root)?.counts.map(\.count) == [3])
        let everything = EngineShare.Client(scope: .everything, takesCompressed: false)
        guard case .none = try StandbyAnswer(.fetch(children, atLeast: head.next), everything, reader) else {
            Issue.record("the standby answered for a revision that it has not reached")
            return
        }
        guard case .none = try StandbyAnswer(.statistics, everything, reader) else {
            Issue.record("the standby answered a request that only the engine may answer")
            return
        }
        reader.end()
        #expect(try reader.begin() == head.next)
        #expect(try reader.detail(EngineFixture.root)?.counts.map(\.count) == [4])
    }

    /// Each session has one number and each number one session, also if several threads ask concurrently.
    @Test func concurrentSessionNumbersAreUnique() {
        let numbers = SessionNumbers()
        let threads = 4
        let sessions = 200
        let slots = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: threads * sessions)
        defer { slots.deallocate() }
        nonisolated(unsafe) let given = slots
        DispatchQueue.concurrentPerform(iterations: threads) { thread in
            for session in 0..<sessions {
                let id = Identifier128(high: 1, low: UInt64(session))
                given[thread * sessions + session] = session % 2 == 0 ? numbers.hold(id) : numbers.number(of: id)
            }
        }
        for session in 0..<sessions {
            #expect(Set((0..<threads).map { given[$0 * sessions + session] }).count == 1)
        }
        #expect(Set(given).count == sessions)
    }
}
