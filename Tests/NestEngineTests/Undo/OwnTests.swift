import NestEngine
import NestModel
import Testing

/// What a connection is told of its own writes. That it is never told wrong is checked by the simulations.
@Suite struct OwnTests {
    private func own(_ effects: [EngineEffect]) -> [ConnectionID: [UInt64]] {
        effects.reduce(into: [:]) { own, effect in
            if case .own(let revisions, let id) = effect { own[id] = revisions.map(\.rawValue) }
        }
    }

    private func insert(_ client: SimulatedClient, _ title: String, key: Identifier128? = nil) -> EngineInput {
        client.request(.transaction(WriteTransaction(key: key, mutations: [EngineFixture.insert(title)]))).input
    }

    @Test func ownWritesOfABatchAreToldBeforeItsDiffs() throws {
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
        // Another's write, and one that is answered again: nothing is said.
        #expect(try self.own(fixture.perform([self.insert(silent, "6")])).isEmpty)
        #expect(try self.own(fixture.perform([self.insert(a, "3", key: key)])).isEmpty)
        #expect(a.otherDiffs == 1 && a.ownDiffs == 1)
    }

    @Test func aConnectionThatDidNotDrainIsToldBeforeItsNetDiffs() throws {
        let fixture = try EngineFixture()
        let (a, b) = try (fixture.connect(session: 1), fixture.connect(session: 2))
        try fixture.perform([a.subscribe(EngineFixture.root)])
        try fixture.perform([a.block()])
        for writer in [a, b, a] { #expect(try self.own(fixture.perform([self.insert(writer, "x")])).isEmpty) }
        let effects = try fixture.perform([a.drain()])
        #expect(self.own(effects) == [a.connection: [1, 3]])
        guard case .own = effects.first else {
            Issue.record("it comes first")
            return
        }
        #expect(a.ownDiffs == 1 && a.otherDiffs == 0)
    }

    /// A write that waits for its answer is in the difference with which a subscription is resumed.
    @Test func aSubscriptionResumedWhileBlockedIsToldToo() throws {
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
}
