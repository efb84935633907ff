import NestModel
import NestStore
import Testing
import NestProtocol

@Suite struct TrimTests {
    /// The size of the journal is its compressed size in the file, so that history that fits the limit is kept.
    @Test func journalSizeIsMeasuredCompressed() throws {
        let fixture = try Fixture()
        for _ in 0..<200 { try fixture.perform(Fixture.insert(String(repeating: "a", count: 30_000))) }
        let rows = (0..<6_000).map { (depth: 0, title: "\($0)") }
        try fixture.commit { _ = try $0.importSubtree(try fixture.stage(rows, under: ObjectID(1))) }
        let dropped = try fixture.store.access { try fixture.store.trimJournal(now: 10, bytesMax: 500_000) }
        #expect(dropped == nil)
        // A dropped row reduces the size by as much as it added.
        let all = try fixture.store.access { try fixture.store.trimJournal(now: 10, bytesMax: 0, rowsMax: 1_000) }
        #expect(all == Revision(fixture.store.head.rawValue - 1))
        #expect(try fixture.store.access { try fixture.store.trimJournal(now: 10, bytesMax: 300_000) } == nil)
    }

    @Test func oldHistoryIsDroppedByItsAge() throws {
        let fixture = try Fixture()
        for number in 0..<5 { try fixture.perform(Fixture.insert("\(number)")) }
        let head = fixture.store.head
        let week = Int64(Limits.journalSeconds) * 1_000_000
        #expect(try fixture.store.access { try fixture.store.trimJournal(now: week) } == nil)
        // The newest row stays, whatever its age.
        let dropped = try fixture.store.access { try fixture.store.trimJournal(now: week + 1_000) }
        #expect(dropped == Revision(head.rawValue - 1))
    }
}
