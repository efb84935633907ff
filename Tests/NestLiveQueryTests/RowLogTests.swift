import NestLiveQuery
import NestModel
import NestOrder
import Testing

@Suite struct RowLogTests {
    /// The byte count that limits a log includes the values in the log.
    @Test func logBytesIncludeItsValues() {
        var log = RowLog(base: Revision(0))
        let key = RowKey(position: 0, id: ObjectID(2))
        for revision in 1...10 {
            let note = AttributeValue.string(String(repeating: "n", count: 50_000 + revision))
            log.append(
                Revision(UInt64(revision)),
                [RowChange(id: key.id, before: key, after: key, isPlaced: false, changed: [(slot: 1, before: note)])]
            )
        }
        #expect(log.byteCount > 500_000)
        while log.dropOldest() {}
        #expect(log.byteCount == 0)
    }

    /// Another node of a cluster may have sent a revision that is within a batch here.
    @Test func logKnowsTheChangesAfterABatchButNotAfterARevisionWithinIt() {
        var log = RowLog(base: Revision(3))
        let key = RowKey(position: 0, id: ObjectID(2))
        let change = RowChange(id: key.id, before: key, after: key, isPlaced: false, changed: [])
        log.append(Revision(7), after: Revision(4), [change])
        log.append(Revision(9), [change])
        // A row came and went.
        log.append(Revision(12), after: Revision(9), [])
        let known = (2...13).filter { log.knowsChanges(after: Revision(UInt64($0))) }
        #expect(known == [3, 4, 7, 8, 9, 12, 13])
    }
}
