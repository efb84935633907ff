import NestEngine
import NestModel
import Testing

@testable import NestStore

@Suite struct DiskFullTests {
    /// A request that does not fit on the disk fails alone. The other requests of its commit succeed, and so do later
    /// ones.
    @Test func aRequestThatDoesNotFitOnTheDiskFailsAlone() throws {
        let fixture = try EngineFixture()
        let small = try fixture.connect(session: 1)
        let large = try fixture.connect(session: 2)
        try fixture.perform([small.subscribe(EngineFixture.root)])
        func setPages(_ count: Int) throws {
            try fixture.store.access { try fixture.store.connection.execute("PRAGMA max_page_count = \(count)") }
        }
        try setPages(60)
        let text = String(repeating: "x", count: 60_000)
        let first = small.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("a")])))
        let middle = large.request(
            .transaction(WriteTransaction(mutations: (0..<12).map { _ in EngineFixture.insert(text) }))
        )
        let last = small.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("b")])))
        try fixture.perform([first.input, middle.input, last.input])
        #expect(fixture.engine.failure == nil)
        #expect(large.replies[middle.id]?.error?.code == .diskFull)
        let ids = [first.id, last.id].compactMap { small.replies[$0]?.receipt?.firstInserted }
        #expect(ids.count == 2)
        #expect(try fixture.children() == ids)
        #expect(small.state(EngineFixture.root)?.sections[0].rows.map(\.id) == ids)
        try setPages(1 << 20)
        #expect(
            try fixture.ask(large, .transaction(WriteTransaction(mutations: [EngineFixture.insert("c")]))).receipt
                != nil
        )
        try fixture.restart()
        #expect(try fixture.children().count == 3)
    }
}
