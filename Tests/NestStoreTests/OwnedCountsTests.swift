import NestModel
import NestTestSupport
import Testing
import NestSchema

@testable import NestStore

/// The cache of relationship counts. `UndoSimulation` tests that the counts stay correct.
@Suite struct OwnedCountsTests {
    private static let layout = ModelLayout(.nestedList)
    private static let table = layout.entities[0].number
    private static let slot = layout.entities[0].slot(of: PropertyNumber(5))!

    private static func key(_ owner: Int64) -> OwnedCounts.Key {
        OwnedCounts.Key(table: self.table, slot: self.slot, owner: ObjectID(owner))
    }

    private static func row(under owner: Int64) -> ObjectRow {
        var values = [AttributeValue](repeating: .null, count: self.layout.entities[0].slots.count)
        values[self.slot] = .reference(ObjectID(owner))
        return ObjectRow(entity: self.table, revision: Revision(1), values: values, places: [])
    }

    private static func changes(
        _ revision: UInt64,
        from before: Int64?,
        to after: Int64?,
        blockCount: Int = 0
    ) -> ChangeSet {
        var changes = ChangeSet.Draft(revision: Revision(revision))
        changes.blockCount = blockCount
        changes.changedRows = [
            ChangedRow(
                entity: self.table,
                id: ObjectID(99),
                before: before.map { self.row(under: $0) },
                after: after.map { self.row(under: $0) }
            )
        ]
        return ChangeSet(changes)
    }

    /// Returns the cached count of `owner` at a head; `nil` if it had to be counted.
    private func known(_ counts: inout OwnedCounts, _ owner: Int64, head: UInt64, else count: Int = 1_000) -> Int? {
        var isRead = false
        let found = counts.count(Self.key(owner), head: Revision(head)) {
            isRead = true
            return count
        }
        return isRead ? nil : found
    }

    @Test func largeCountsAreCachedAndUpdated() {
        var counts = OwnedCounts(countMin: 256)
        #expect(self.known(&counts, 1, head: 5) == nil)
        #expect(self.known(&counts, 2, head: 5) == nil)
        #expect(self.known(&counts, 1, head: 5) == 1_000)
        for _ in 0..<2 { #expect(self.known(&counts, 3, head: 5, else: 255) == nil) }
        counts.take(Self.changes(6, from: nil, to: 1), Self.layout)
        counts.take(Self.changes(7, from: 1, to: 2), Self.layout)
        counts.take(Self.changes(8, from: 2, to: 2), Self.layout)
        counts.take(Self.changes(9, from: 2, to: nil), Self.layout)
        counts.take(Self.changes(10, from: 1, to: 7), Self.layout)
        #expect(self.known(&counts, 1, head: 10) == 999)
        #expect(self.known(&counts, 2, head: 10) == 1_000)
        #expect(self.known(&counts, 7, head: 10, else: 1) == nil)
    }

    @Test func countsThatCannotBeUpdatedAreDiscarded() {
        var counts = OwnedCounts(countMin: 256)
        func fill(_ head: UInt64) {
            _ = self.known(&counts, 1, head: head)
            #expect(counts.entryCount == 1)
        }
        fill(5)
        // A bulk write.
        counts.take(Self.changes(6, from: nil, to: 1, blockCount: 1), Self.layout)
        #expect(self.known(&counts, 1, head: 6) == nil)
        // A revision whose commit was not applied.
        counts.take(Self.changes(8, from: nil, to: 1), Self.layout)
        #expect(self.known(&counts, 1, head: 8) == nil)
        #expect(self.known(&counts, 1, head: 9) == nil)
        #expect(self.known(&counts, 1, head: 9) == 1_000)
    }

    @Test func cachedCountsAreLimited() {
        var counts = OwnedCounts(countMin: 1, entriesMax: 3)
        for owner in 1...3 { _ = self.known(&counts, Int64(owner), head: 1) }
        #expect(counts.entryCount == 3)
        _ = self.known(&counts, 4, head: 1)
        #expect(counts.entryCount == 1)
        #expect(self.known(&counts, 4, head: 1) == 1_000)
    }
}
