import NestLiveQuery
import NestModel
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
}
