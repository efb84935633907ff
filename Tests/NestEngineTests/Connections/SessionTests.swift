import NestEngine
import NestModel
import Testing
import NestProtocol

@Suite struct SessionTests {
    /// A write that changes nothing shares a commit with one that does. The store must not keep its session. Otherwise,
    /// after a restart, another session would get the same number and its undo stack.
    @Test func sessionNumbersAreNotReused() throws {
        let fixture = try EngineFixture()
        let writer = try fixture.connect(session: 1)
        let owner = try fixture.connect(session: 2)
        try fixture.perform([
            writer.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("a")]))).input,
            owner.request(.transaction(WriteTransaction(mutations: [EngineFixture.edit(ObjectID(1), "")]))).input,
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

    /// A key that is used again after it has expired is kept for its second use, even when the first use expires again.
    @Test func anExpiredKeyThatIsUsedAgainIsKept() throws {
        let fixture = try EngineFixture()
        let client = try fixture.connect(session: 1)
        let key = Identifier128(high: 5, low: 5)
        let request = EngineRequest.transaction(WriteTransaction(key: key, mutations: [EngineFixture.insert("a")]))
        #expect(try fixture.ask(client, request).receipt?.isReplayed == false)
        fixture.now += Int64(Limits.idempotencyKeySeconds) * 1_000_000
        try fixture.perform([.tick])
        #expect(try fixture.ask(client, request).receipt?.isReplayed == false)
        #expect(try fixture.ask(client, request).receipt?.isReplayed == true)
        // After a restart the journal has both uses. The first expires at the next tick.
        try fixture.restart()
        try fixture.perform([client.connect(as: fixture.newConnection()), .tick])
        #expect(try fixture.ask(client, request).receipt?.isReplayed == true)
    }

    /// A session that has not written for a long time is deleted, in the store too. No other session gets its number.
    @Test func unusedSessionsAreForgotten() throws {
        let fixture = try EngineFixture()
        func number(_ id: UInt64) throws -> UInt64 {
            let connection = fixture.newConnection()
            let session = Identifier128(high: 9, low: id)
            let effects = try fixture.perform([.connected(connection, session: session, scope: .everything)])
            let insert = WriteTransaction(mutations: [EngineFixture.insert("by \(id)")])
            try fixture.perform([.request(connection, requestID: 1, .transaction(insert)), .disconnected(connection)])
            for case .welcome(connection, let welcome) in effects { return welcome.sessionNumber }
            throw NestError(.internalError, "no welcome")
        }
        let first = try number(1)
        let second = try number(2)
        fixture.now += Int64(Limits.sessionSeconds / 2) * 1_000_000
        #expect(try number(2) == second)
        fixture.now += Int64(Limits.sessionSeconds / 2 + 24 * 3_600) * 1_000_000
        try fixture.perform([.tick])
        let third = try number(3)
        #expect(try number(1) > third && number(2) == second)
        try fixture.restart()
        #expect(try number(4) > third && number(2) == second && first < second)
    }
}
