import NestModel
import NestProtocol
import NestTestSupport
import Testing

@testable import NestStore

/// The object graph of a committed group serves the next group.
@Suite struct KeptGraphTests {
    private func store() throws -> NamedStore {
        try NamedStore(EntityDraft("Note", [AttributeDraft("made", .date) { $0.defaultsToNow = true }]))
    }

    /// Inserts a note in a group of its own. Returns its id, its graph, and the objects that the graph knew before.
    private func insert(_ store: NamedStore) throws -> (id: ObjectID, graph: ObjectIdentifier, known: Int) {
        var inserted: (ObjectID, ObjectIdentifier, Int)?
        try store.fixture.commit(inSavepoint: false) { graph in
            let known = graph.recorder.changedCount + graph.results.count + graph.runs.count
            let runs = try graph.perform(WriteTransaction(mutations: [store.insertion("Note")]))
            inserted = (runs[0].first, ObjectIdentifier(graph), known)
        }
        return try #require(inserted)
    }

    @Test func aKeptGraphHasTheTimeOfItsGroupAndNothingOfTheOneBefore() throws {
        let store = try self.store()
        let first = try self.insert(store)
        let time = store.fixture.time
        let second = try self.insert(store)
        #expect(first.graph == second.graph)
        #expect(second.known == 0)
        #expect(second.id.rawValue == first.id.rawValue + 1)
        #expect(try store.value(first.id, "made") == .date(time))
        #expect(try store.value(second.id, "made") == .date(time + 1))
    }

    @Test func theGraphOfAGroupThatIsRolledBackIsNotKept() throws {
        let store = try self.store()
        let first = try self.insert(store)
        var refused: ObjectGraph?
        #expect(throws: StoreError.self) {
            try store.fixture.commit(inSavepoint: false) { graph in
                refused = graph
                _ = try graph.perform(WriteTransaction(mutations: [.delete(.object(ObjectID(9_999)))]))
            }
        }
        let second = try self.insert(store)
        #expect(refused.map { ObjectIdentifier($0) } == first.graph)
        #expect(second.graph != first.graph)
        #expect(second.id.rawValue == first.id.rawValue + 1)
    }

    /// The objects of one request may be large, and the next request may come much later.
    @Test func aKeptGraphForgetsItsObjectsAtOnce() throws {
        let store = try self.store()
        var graph: ObjectGraph?
        try store.fixture.commit(inSavepoint: false) {
            graph = $0
            _ = try $0.perform(WriteTransaction(mutations: [store.insertion("Note")]))
        }
        #expect(graph?.recorder.changedCount == 0)
        #expect(graph?.runs.isEmpty == true)
    }

    /// Most headers have one result and no key, and are written in one piece.
    @Test(arguments: [0, 1, 2], [false, true])
    func headersHaveTheSameBytesHoweverTheyAreWritten(_ resultCount: Int, _ hasKey: Bool) throws {
        for number: UInt64 in [1, 63, 64, 16_383, 16_384, 1 << 30, 1 << 40] {
            let key = hasKey ? Identifier128(high: number, low: 7) : nil
            let runs = (0..<resultCount).map {
                Receipt.Run(first: ObjectID(Int64(number) + 10 * Int64($0)), count: Int(number), isFound: $0 == 0)
            }
            let header = JournalHeader(
                revision: Revision(number),
                time: -5,
                sessionNumber: number,
                kind: .write,
                reverted: nil,
                name: "add note",
                key: key,
                requestHash: .max - number,
                results: runs,
                blockCount: Int(number),
                inlineBytes: Int(number) + 1
            )
            var expected = ByteWriter()
            expected.write(revision: Revision(number))
            expected.write(integer: Int64(-5))
            expected.write(varint: number)
            expected.write(byte: HistoryEntry.Kind.write.rawValue)
            expected.write(revision: Revision(0))
            expected.write(string: "add note")
            expected.write(key: key)
            expected.write(integer: UInt64.max - number)
            expected.write(runs: runs)
            expected.write(count: Int(number))
            expected.write(count: Int(number) + 1)
            var written = ByteWriter()
            written.write(header: header)
            #expect(written.bytes == expected.bytes)
        }
    }
}
