import NestEngine
import NestModel
import Testing

@Suite struct PlaceTests {
    /// An insert at an index under an owner that does not exist keeps no result in memory.
    @Test func noResultIsKeptForAMissingOwner() throws {
        let fixture = try EngineFixture()
        let client = try fixture.connect(session: 1)
        for owner in 100..<110 as Range<Int64> {
            let mutation = EngineFixture.insert("x", under: ObjectID(owner), .at(1_000_000))
            let request = EngineRequest.transaction(WriteTransaction(mutations: [mutation]))
            #expect(try fixture.ask(client, request).error?.code == .notFound)
        }
        guard case .statistics(let statistics) = try fixture.ask(client, .statistics) else {
            Issue.record("no statistics")
            return
        }
        #expect(statistics.first { $0.name == "live_results" }?.value == 0)
    }

    /// An undo waits for the commit before it, so a batch may have several commits. Live results are updated only at
    /// the end of the batch.
    @Test func anIndexCountsEarlierCommitsOfTheBatch() throws {
        let fixture = try EngineFixture()
        let clients = try (1...3).map { try fixture.connect(session: $0) }
        let ids = try fixture.write(clients[0], ["q", "a", "b"].map { EngineFixture.insert($0) }).insertedIDs
        try fixture.perform([clients[2].subscribe(EngineFixture.root)])
        let inputs = [
            clients[0].request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("x", under: ids[0])]))),
            clients[1].request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("t", .first)]))),
            clients[0].request(.undo(key: nil)),
            clients[2].request(.transaction(WriteTransaction(mutations: [EngineFixture.move(ids[2], .at(1))]))),
        ]
        try fixture.perform(inputs.map(\.input))
        let first = try #require(clients[1].replies[inputs[1].id]?.receipt?.firstInserted)
        #expect(try fixture.children() == [first, ids[2], ids[0], ids[1]])
        #expect(clients[2].state(EngineFixture.root)?.sections[0].rows.map(\.id) == [first, ids[2], ids[0], ids[1]])
    }
}
