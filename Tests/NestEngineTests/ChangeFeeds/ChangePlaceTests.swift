import NestEngine
import NestModel
import NestStore
import Testing

/// A subscription to changes may begin inside a revision only at the place of one of its parts.
@Suite struct ChangePlaceTests {
    private func first(_ fixture: EngineFixture, _ since: UInt64, place: Int) throws -> EngineReply {
        let client = try fixture.connect(session: 1)
        defer { _ = fixture.engine.perform([.disconnected(client.connection)], now: fixture.now) }
        let request = EngineRequest.subscribeChanges(
            since: ResumePoint(historyID: fixture.store.historyID, revision: Revision(since)),
            place: place,
            entities: []
        )
        // Does not use the fixture, because its clients do not accept change sets.
        let (id, input) = client.request(request)
        let effects = fixture.engine.perform([input], now: fixture.now)
        for case .reply(client.connection, id, let reply) in effects { return reply }
        throw NestError(.internalError, "no reply")
    }

    @Test func placesInARevisionOfOnePartAreRefused() throws {
        let fixture = try EngineFixture()
        let writer = try fixture.connect(session: 2)
        for number in 0..<3 { try fixture.write(writer, [EngineFixture.insert("item \(number)")]) }
        for place in [1, 7, 1 << 40] {
            let error = try #require(try self.first(fixture, 1, place: place).error)
            #expect(error.code == .invalid, "\(error)")
        }
        #expect(try self.first(fixture, 1, place: 0).error == nil)
    }

    @Test func onlyThePlacesOfPartsAreAccepted() throws {
        let fixture = try EngineFixture()
        let writer = try fixture.connect(session: 2)
        try fixture.write(writer, [EngineFixture.insert("list")])
        // The journal stores this revision in several blocks.
        let title = String(repeating: "x", count: 200)
        try fixture.perform([
            fixture.imported((0..<5_000).map { "\($0) \(title)" }, under: ObjectID(2), by: writer)
        ])
        let entry = try #require(
            try fixture.store.access { try fixture.store.journalEntries(after: Revision(1)) }?.first
        )
        #expect(entry.partCount > 3)
        for place in 1..<entry.partCount { #expect(try self.first(fixture, 1, place: place).error == nil) }
        let error = try #require(try self.first(fixture, 1, place: entry.partCount).error)
        #expect(error.code == .invalid, "\(error)")
    }
}
