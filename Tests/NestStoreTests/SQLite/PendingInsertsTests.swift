import NestModel
import NestSchema
import NestTestSupport
import Testing

@testable import NestStore

/// Every statement finds inserts that wait for each other, and a rollback discards them.
@Suite struct PendingInsertsTests {
    private static let root = ObjectID(1)

    private func insert(_ titles: [String], _ group: WriteGroup, inSavepoint: Bool = false) throws {
        for title in titles {
            _ = try group.request(inSavepoint: inSavepoint) { graph in
                _ = try graph.perform(WriteTransaction(mutations: [Fixture.insert(title)]))
                return Fixture.description
            }
        }
    }

    private func titles(_ fixture: Fixture) throws -> [String?] {
        let table = fixture.store.objects.table(Fixture.item)
        return try fixture.store.access {
            var titles: [String?] = []
            try table.forEachRow(in: 2...Int64.max) { _, row in
                titles.append(row.values[0].stringValue)
                return true
            }
            return titles
        }
    }

    /// Statements take 16, 8, 4, 2 and 1 rows, and large texts fill a batch early.
    @Test func everyNumberOfRowsIsWrittenInItsOrder() throws {
        for count in 1...40 {
            let fixture = try Fixture(inMemory: true)
            let titles = (0..<count).map { String(repeating: "é", count: $0 == 7 || $0 == 8 ? 32_700 : $0) + "\($0)" }
            try fixture.inGroup { group in
                try self.insert(titles, group)
                #expect(count % InsertBatch.rowsMax == 0 || count > 7 || !fixture.isWithoutPendingInserts)
            }
            #expect(fixture.isWithoutPendingInserts)
            #expect(try self.titles(fixture) == titles)
        }
    }

    @Test func valuesOfAllTypesAreStoredAsTheyAre() throws {
        let values: [(AttributeType, AttributeValue)] = [
            (.string, .string("")), (.integer, .integer(.min)), (.double, .double(-1.5)), (.boolean, .boolean(true)),
            (.date, .date(-1)), (.data, .data([])), (.data, .data([0, 255])),
            (.uuid, .uuid(Identifier128(high: 1 << 63, low: 2))),
        ]
        let attributes = values.enumerated().map { index, value in
            AttributeDescription(number: UInt16(index + 1), name: "a\(index)", type: value.0, isOptional: true)
        }
        let entity = EntityDescription(number: 1, name: "Thing", attributes: attributes, relationships: [])
        let fixture = try Fixture(ManagedObjectModel(entities: [entity]), inMemory: true)
        let assignments = values.enumerated().map { index, value in
            PropertyAssignment(PropertyNumber(UInt16(index + 1)), .value(value.1))
        }
        let id = try fixture.perform(.insert(entity: EntityNumber(1), values: assignments, placements: []))[0]
        let row = try fixture.store.access { try fixture.store.row(EntityNumber(1), id) }
        #expect(row?.values.decoded == values.map(\.1))
    }

    @Test func aReadFindsWaitingInserts() throws {
        let fixture = try Fixture(inMemory: true)
        try fixture.inGroup { group in
            try self.insert(["a", "b"], group)
            #expect(!fixture.isWithoutPendingInserts)
            #expect(try self.titles(fixture) == ["a", "b"])
            #expect(fixture.isWithoutPendingInserts)
        }
    }

    @Test func aRollbackDiscardsWaitingInserts() throws {
        let fixture = try Fixture(inMemory: true)
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try fixture.inGroup { group in
                try self.insert(["a", "b"], group)
                throw Stop()
            }
        }
        #expect(fixture.isWithoutPendingInserts)
        try fixture.perform(Fixture.insert("c"))
        #expect(try self.titles(fixture) == ["c"])
    }

    /// A request with a savepoint takes back its own inserts, and not those of the requests before it.
    @Test func aRefusedRequestTakesBackOnlyItsOwnInserts() throws {
        let fixture = try Fixture(inMemory: true)
        try fixture.inGroup { group in
            try self.insert(["a", "b"], group)
            expectRefusal(.notFound) {
                _ = try group.request(inSavepoint: true) { graph in
                    let steps = [Fixture.insert("never"), Fixture.move(ObjectID(999), under: Self.root)]
                    _ = try graph.perform(WriteTransaction(mutations: steps))
                    return Fixture.description
                }
            }
            try self.insert(["c"], group)
        }
        #expect(try self.titles(fixture) == ["a", "b", "c"])
    }

    /// Otherwise the request that inserted would be committed without its row.
    @Test func aWaitingInsertThatFailsFailsItsGroup() throws {
        let fixture = try Fixture(inMemory: true)
        var failures = 0
        func fill(_ group: WriteGroup) throws {
            _ = try group.request(inSavepoint: false) { graph in
                _ = try graph.perform(WriteTransaction(mutations: [Fixture.insert("a")]))
                let row = try #require(graph.recorder.changedObject(graph.results[0])?.after)
                // The same id again.
                try graph.table(Fixture.item).insert(graph.results[0], row)
                return Fixture.description
            }
            for _ in 0..<2 {
                do {
                    _ = try group.request(inSavepoint: false) { graph in
                        _ = try graph.table(Fixture.item).exists(ObjectID(12_345))
                        return Fixture.description
                    }
                } catch StoreError.retryIndividually {
                    failures += 1
                }
            }
        }
        #expect(throws: StoreError.self) { try fixture.inGroup(fill) }
        #expect(failures == 2)
        #expect(fixture.isWithoutPendingInserts)
        try fixture.perform(Fixture.insert("c"))
        #expect(try self.titles(fixture) == ["c"])
    }

    /// The foreign key of a waiting insert is checked before the commit, which would fail as a whole.
    @Test func aWaitingInsertThatRefersToNoObjectFailsItsGroup() throws {
        let fixture = try Fixture(inMemory: true)
        #expect(throws: StoreError.self) {
            try fixture.inGroup { group in
                _ = try group.request(inSavepoint: false) { graph in
                    _ = try graph.perform(WriteTransaction(mutations: [Fixture.insert("a")]))
                    let table = try graph.table(Fixture.item)
                    var row = try #require(graph.recorder.changedObject(graph.results[0])?.after)
                    row.values[table.layout.placedSlots[0]] = .reference(ObjectID(888))
                    try table.insert(ObjectID(777), row)
                    return Fixture.description
                }
            }
        }
        #expect(try self.titles(fixture) == [])
    }
}

extension Fixture {
    fileprivate var isWithoutPendingInserts: Bool { self.store.connection.pendingInserts.isEmpty }
}
