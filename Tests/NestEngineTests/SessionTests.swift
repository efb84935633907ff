import NestEngine
import NestModel
import Testing

@Suite struct SessionTests {
    /// A write that changes nothing shares its commit with one that does: nothing of its session may be left in the store,
    /// or the session's number would be another's after a restart, with its undo stack.
    @Test func aSessionsNumberIsNeverAnothers() throws {
        let fixture = try EngineFixture()
        let writer = try fixture.connect(session: 1)
        let owner = try fixture.connect(session: 2)
        try fixture.perform([
            writer.request(.transaction(Transaction(mutations: [EngineFixture.insert("a")]))).input,
            owner.request(.transaction(Transaction(mutations: [EngineFixture.edit(ObjectID(1), "")]))).input,
        ])
        try fixture.perform([.disconnected(owner.connection)])
        try fixture.perform([owner.connect(as: fixture.newConnection())])
        try fixture.write(owner, [EngineFixture.insert("the owner's")])

        try fixture.restart()
        try fixture.perform([owner.connect(as: fixture.newConnection())])
        let stranger = try fixture.connect(session: 3)
        #expect(try fixture.ask(stranger, .undo(key: nil)).error?.code == .nothingToUndo)
        #expect(try fixture.ask(owner, .undo(key: nil)).receipt?.isChanged == true)
    }

    /// A key that has expired and is used again is known by its second use, also when the first one expires again.
    @Test func anExpiredKeyUsedAgainIsKept() throws {
        let fixture = try EngineFixture()
        let client = try fixture.connect(session: 1)
        let key = Identifier128(high: 5, low: 5)
        let request = EngineRequest.transaction(Transaction(key: key, mutations: [EngineFixture.insert("a")]))
        #expect(try fixture.ask(client, request).receipt?.isReplayed == false)
        fixture.now += Int64(Limits.idempotencyKeySeconds) * 1_000_000
        try fixture.perform([.tick])
        #expect(try fixture.ask(client, request).receipt?.isReplayed == false)
        #expect(try fixture.ask(client, request).receipt?.isReplayed == true)
        // After a restart the journal tells of both uses; the first expires at the next tick.
        try fixture.restart()
        try fixture.perform([client.connect(as: fixture.newConnection()), .tick])
        #expect(try fixture.ask(client, request).receipt?.isReplayed == true)
    }
}
