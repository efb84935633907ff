import NestEngine
import NestModel
import NestTestSupport
import Testing
import NestProtocol

/// Undo coalescing continues after a restart, under the same conditions as before it.
@Suite struct UndoCoalescingRestartTests {
    private let fixture: EngineFixture
    private let ann: SimulatedClient
    private let bob: SimulatedClient
    private let item: ObjectID

    init() throws {
        self.fixture = try EngineFixture()
        self.ann = try self.fixture.connect(session: 1)
        self.bob = try self.fixture.connect(session: 2)
        self.item = try self.fixture.write(self.bob, [EngineFixture.insert("")]).insertedIDs[0]
    }

    private func restart() throws {
        try self.fixture.restart()
        for client in [self.ann, self.bob] {
            try self.fixture.perform([client.connect(as: self.fixture.newConnection())])
        }
    }

    private func edit(_ client: SimulatedClient, _ title: String, key: String = "k", _ milliseconds: Int = 60_000)
        -> EngineInput
    {
        client.request(
            .transaction(
                WriteTransaction(
                    mutations: [EngineFixture.edit(self.item, title)],
                    coalescing: Coalescing(key: key, milliseconds: milliseconds)
                )
            )
        ).input
    }

    /// Returns the entry that Ann would undo next.
    private func entry() throws -> UndoState.Entry? {
        guard case .undoState(let state) = try self.fixture.ask(self.ann, .undoState(follows: false)) else {
            throw NestError(.internalError, "no undo state")
        }
        return state.undo
    }

    @Test func coalescingContinuesAfterARestart() throws {
        for round in 1...3 {
            try self.fixture.perform([self.edit(self.ann, "\(round)"), self.edit(self.ann, "\(round)x")])
            #expect(try self.entry()?.transactionCount == 2 * round)
            try self.restart()
        }
        let undone = try self.fixture.ask(self.ann, .undo(key: nil))
        #expect(undone.receipt?.isChanged == true)
        #expect(try self.entry() == nil)
    }

    /// A write of another session does not end coalescing.
    @Test func writesOfOtherSessionsDoNotEndCoalescing() throws {
        try self.fixture.perform([self.edit(self.ann, "a"), self.edit(self.bob, "b")])
        try self.fixture.write(self.bob, [EngineFixture.insert("b")])
        try self.restart()
        try self.fixture.perform([self.edit(self.ann, "aa")])
        #expect(try self.entry()?.transactionCount == 2)
    }

    /// Another key, a write without a key, an undo with its redo, a group and elapsed time end coalescing.
    @Test func endedCoalescingStaysEndedAfterARestart() throws {
        try self.fixture.perform([self.edit(self.ann, "a")])
        try self.restart()
        try self.fixture.perform([self.edit(self.ann, "b", key: "other")])
        #expect(try self.entry()?.transactionCount == 1)
        try self.fixture.write(self.ann, [EngineFixture.insert("without a key")])
        try self.restart()
        try self.fixture.perform([self.edit(self.ann, "c", key: "other")])
        #expect(try self.entry()?.transactionCount == 1)
        _ = try self.fixture.ask(self.ann, .undo(key: nil))
        _ = try self.fixture.ask(self.ann, .redo(key: nil))
        try self.restart()
        try self.fixture.perform([self.edit(self.ann, "d", key: "other")])
        #expect(try self.entry()?.transactionCount == 1)
        _ = try self.fixture.ask(self.ann, .beginGroup(name: nil, joined: nil))
        try self.fixture.perform([self.edit(self.ann, "e", key: "other")])
        try self.restart()
        try self.fixture.perform([self.edit(self.ann, "f", key: "other")])
        #expect(try self.entry()?.transactionCount == 1)
        try self.restart()
        self.fixture.now += 2_000_000
        try self.fixture.perform([self.edit(self.ann, "g", key: "other", 1_000)])
        #expect(try self.entry()?.transactionCount == 1)
        try self.fixture.perform([self.edit(self.ann, "h", key: "other", 1_000)])
        #expect(try self.entry()?.transactionCount == 2)
    }

    /// An entry that is full before the restart is full after it.
    @Test func transactionsPerEntryAreCountedAcrossARestart() throws {
        for half in 0..<2 {
            let count = Limits.undoEntryTransactionsMax / 2
            try self.fixture.perform((0..<count).map { self.edit(self.ann, "\(half) \($0)") })
            try self.restart()
        }
        #expect(try self.entry()?.transactionCount == Limits.undoEntryTransactionsMax)
        try self.fixture.perform([self.edit(self.ann, "one more")])
        #expect(try self.entry()?.transactionCount == 1)
    }
}
