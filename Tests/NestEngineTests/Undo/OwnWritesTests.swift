import NestEngine
import NestModel
import NestProtocol
import Testing

/// The reports of a connection's own writes. The simulations check that these reports are never wrong.
@Suite struct OwnWritesTests {
    private func own(_ effects: [EngineEffect]) -> [ConnectionID: [UInt64]] {
        effects.reduce(into: [:]) { own, effect in
            if case .own(let message, let id) = effect { own[id] = message.writes.map(\.revision.rawValue) }
        }
    }

    private func insert(_ client: SimulatedClient, _ title: String, key: Identifier128? = nil) -> EngineInput {
        client.request(.transaction(WriteTransaction(key: key, mutations: [EngineFixture.insert(title)]))).input
    }

    @Test func ownWritesAreReportedBeforeTheDiffsOfTheirBatch() throws {
        let fixture = try EngineFixture()
        let (a, b, silent) = try (fixture.connect(session: 1), fixture.connect(session: 2), fixture.connect(session: 3))
        for client in [a, b] { try fixture.perform([client.subscribe(EngineFixture.root)]) }
        let key = Identifier128(high: 1, low: 1)
        let effects = try fixture.perform([
            self.insert(a, "1"), self.insert(silent, "2"), self.insert(a, "3", key: key),
            self.insert(a, "again", key: key),
            a.request(.transaction(WriteTransaction(mutations: [EngineFixture.edit(ObjectID(2), "1")]))).input,
            self.insert(b, "5"),
        ])
        #expect(self.own(effects) == [a.connection: [1, 3], b.connection: [4]])
        let kinds = effects.map { effect in
            switch effect {
            case .own: "own"
            case .push: "push"
            case .progress: "progress"
            default: "reply"
            }
        }
        #expect(kinds == ["own", "own", "push", "progress"] + Array(repeating: "reply", count: 6))
        #expect(a.ownDiffs == 1 && b.ownDiffs == 1)
        // A write of another session and a replayed answer are not reported.
        #expect(try self.own(fixture.perform([self.insert(silent, "6")])).isEmpty)
        #expect(try self.own(fixture.perform([self.insert(a, "3", key: key)])).isEmpty)
        #expect(a.otherDiffs == 1 && a.ownDiffs == 1)
    }

    @Test func ownWritesOfABlockedConnectionAreReportedBeforeItsNetDiffs() throws {
        let fixture = try EngineFixture()
        let (a, b) = try (fixture.connect(session: 1), fixture.connect(session: 2))
        try fixture.perform([a.subscribe(EngineFixture.root)])
        try fixture.perform([a.block()])
        for writer in [a, b, a] { #expect(try self.own(fixture.perform([self.insert(writer, "x")])).isEmpty) }
        let effects = try fixture.perform([a.drain()])
        #expect(self.own(effects) == [a.connection: [1, 3]])
        guard case .own = effects.first else {
            Issue.record("the report of own writes is not the first effect")
            return
        }
        #expect(a.ownDiffs == 1 && a.otherDiffs == 0)
    }

    /// The difference of a resumed subscription contains a write whose answer still waits.
    @Test func ownWritesAreReportedForASubscriptionResumedWhileBlocked() throws {
        let fixture = try EngineFixture()
        let (a, b) = try (fixture.connect(session: 1), fixture.connect(session: 2))
        try fixture.perform([a.subscribe(EngineFixture.root)])
        try fixture.perform([.disconnected(a.connection)])
        try fixture.perform([a.connect(as: fixture.newConnection()), a.block()])
        try fixture.perform([self.insert(b, "x"), self.insert(a, "y")])
        let effects = try fixture.perform([a.subscribe(EngineFixture.root, resuming: true)])
        #expect(self.own(effects) == [a.connection: [2]])
        #expect(a.ownDiffs == 1)
        try fixture.perform([a.drain()])
    }

    /// A client refuses a message that names more revisions than `requestsInFlightPerConnectionMax`.
    @Test func manyOwnWritesAreReportedInSeveralMessages() throws {
        let fixture = try EngineFixture()
        let client = try fixture.connect(session: 1)
        try fixture.perform([client.subscribe(EngineFixture.root)])
        let countMax = Limits.requestsInFlightPerConnectionMax
        let effects = try fixture.perform((0...countMax).map { self.insert(client, "\($0)") })
        let reports = effects.compactMap { effect -> [UInt64]? in
            if case .own(let message, _) = effect { message.writes.map(\.revision.rawValue) } else { nil }
        }
        #expect(reports.map(\.count) == [countMax, 1])
        #expect(reports.flatMap(\.self) == Array(1...UInt64(countMax + 1)))
        #expect(client.ownDiffs == 1 && client.otherDiffs == 0)
    }

    /// A client that shows its writes before they are confirmed knows of each state which of them it contains.
    @Test func requestsAreNamedWithoutASubscriptionAndWhileBlocked() throws {
        let fixture = try EngineFixture()
        let (a, b) = try (fixture.connect(session: 1, namesOwnRequests: true), fixture.connect(session: 2))
        let requests = (1...2).map { number in
            a.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("\(number)")])))
        }
        try fixture.perform([requests[0].input, self.insert(b, "x"), requests[1].input])
        #expect(a.ownRequests == [Revision(1): requests[0].id, Revision(3): requests[1].id])
        try fixture.perform([a.subscribe(EngineFixture.root)])
        try fixture.perform([a.block()])
        let third = a.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("3")])))
        // Before a snapshot of another list shows the write.
        let effects = try fixture.perform([third.input, a.subscribe(ObjectID(2))])
        #expect(self.own(effects) == [a.connection: [4]] && a.ownRequests[Revision(4)] == third.id)
        let drained = try fixture.perform([a.drain()])
        #expect(self.own(drained).isEmpty)
        #expect(a.ownDiffs == 1 && a.otherDiffs == 0)
    }

    @Test func everyRevisionOfAnUndoNamesItsRequest() throws {
        let fixture = try EngineFixture()
        let client = try fixture.connect(session: 1, namesOwnRequests: true)
        let writes = ["a", "b"].map { self.insert(client, $0) }
        let inputs = [client.request(.beginGroup(name: nil, joined: nil)).input] + writes
        try fixture.perform(inputs + [client.request(.endGroup).input])
        let undo = client.request(.undo(key: nil, UndoOptions(), expected: nil))
        try fixture.perform([undo.input])
        let revision = try #require(client.replies[undo.id]?.receipt?.revision)
        #expect(client.ownRequests[revision] == undo.id)
        #expect(client.ownRequests.filter { $0.key.rawValue > 2 }.allSatisfy { $0.value == undo.id })
    }
}
