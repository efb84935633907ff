import NestModel
import NestProtocol
import NestTestSupport
import Testing

@testable import NestStore

/// Large values in the store: pieces, holders, the journal, and a follower.
@Suite struct LargeValueTests {
    /// `NEST_SEED` repeats a history.
    @Test(arguments: [false, true])
    func valuesFollowEveryChangeOfTheirObjects(isReplicated: Bool) throws {
        var counts: [String: Int] = [:]
        for seed in Seeds.range(0..<12) {
            let history = try ValueHistory(seed: seed, isReplicated: isReplicated)
            do { try history.run(steps: Seeds.steps(60)) } catch { Issue.record("\(history.what): \(error)") }
            counts.merge(history.counts) { $0 + $1 }
        }
        if !Seeds.isUsual { print(counts.sorted { $0.key < $1.key }) }
        guard Seeds.isUsual else { return }
        for name in ["inserted", "set", "deleted", "reverted", "trimmed", "misused", "reopened", "in parts"] {
            #expect(counts[name, default: 0] > 5, "\(name): \(counts)")
        }
        if isReplicated { #expect(counts["exchanged", default: 0] > 5, "\(counts)") }
    }

    @Test func valuesAreCutIntoPieces() throws {
        let history = try ValueHistory(seed: 1, isReplicated: false)
        let piece = Limits.largeValuePieceBytes
        for (length, count) in [(0, 0), (1, 1), (piece, 1), (piece + 1, 2), (3 * piece - 1, 3)] {
            let value = try history.put([UInt8](repeating: 7, count: length), .largeData)
            #expect(try history.values("SELECT count(*) FROM nest_value_piece WHERE id = \(value.id)") == count)
            let longest = try history.values("SELECT max(length(bytes)) FROM nest_value_piece WHERE id = \(value.id)")
            #expect(longest == min(length, piece))
        }
    }

    @Test func aSessionKeepsItsNewestStagedValues() throws {
        let history = try ValueHistory(seed: 1, isReplicated: true)
        let most = Limits.stagedValuesPerSessionMax
        let other = try history.put([1], .largeData, of: 2)
        let first = try history.put([1], .largeData)
        for number in 0..<most { _ = try history.put([UInt8(number)], .largeData) }
        #expect(try history.values("SELECT count(*) FROM nest_value WHERE session = 1") == most)
        #expect(try history.values("SELECT count(*) FROM nest_value WHERE id = \(first.id)") == 0)
        #expect(try history.values("SELECT count(*) FROM nest_value WHERE id = \(other.id)") == 1)
        #expect(try history.values("SELECT count(*) FROM nest_value_piece") == most + 1)
        let replica = try #require(history.fixture.replica)
        try replica.catchUp()
        #expect(try replica.isEqual(to: history.fixture.store))
    }

    @Test func aForgottenSessionLosesItsStagedValues() throws {
        let history = try ValueHistory(seed: 1, isReplicated: true)
        let fixture = history.fixture
        let other = try history.put([1], .largeData, of: 2)
        _ = try history.put([1], .largeData)
        try fixture.store.access { try fixture.store.forgetSessions([1]) }
        #expect(try history.values("SELECT count(*) FROM nest_value WHERE id != \(other.id)") == 0)
        #expect(try history.values("SELECT count(*) FROM nest_value_piece") == 1)
        let replica = try #require(fixture.replica)
        try replica.catchUp()
        #expect(try replica.isEqual(to: fixture.store))
    }

    /// Bytes that only undo can reach count like those of the journal.
    @Test func freedValuesCountAsHistory() throws {
        let history = try ValueHistory(seed: 1, isReplicated: false)
        let fixture = history.fixture
        let insert = Mutation.insert(
            entity: ValueHistory.photo,
            values: [PropertyAssignment(ValueHistory.title, .value(.string("a")))],
            placements: []
        )
        let id = try #require(try fixture.perform(insert).first)
        for number in 0..<4 {
            let value = try history.put([UInt8](repeating: UInt8(number), count: 200_000), .largeData)
            let assignment = PropertyAssignment(ValueHistory.image, .value(value.value))
            try fixture.perform(.update(.object(id), values: [assignment]))
        }
        let dropped = try fixture.store.access { try fixture.store.trimJournal(now: fixture.time, bytesMax: 500_000) }
        #expect(dropped != nil)
        #expect(try history.values("SELECT sum(length) FROM nest_value WHERE freed NOTNULL") <= 500_000)
    }

    @Test func theCheckFindsDamagedAndMissingValues() throws {
        let history = try ValueHistory(seed: 1, isReplicated: false)
        let fixture = history.fixture
        let value = try history.put([UInt8](repeating: 1, count: 100_000), .largeData)
        let values = [
            PropertyAssignment(ValueHistory.title, .value(.string("a"))),
            PropertyAssignment(ValueHistory.image, .value(value.value)),
        ]
        try fixture.perform(.insert(entity: ValueHistory.photo, values: values, placements: []))
        func problems(_ sql: String) throws -> [String] {
            try fixture.store.access {
                try fixture.store.connection.execute("SAVEPOINT damage")
                defer {
                    try? fixture.store.connection.execute("ROLLBACK TO damage")
                    try? fixture.store.connection.execute("RELEASE damage")
                }
                try fixture.store.connection.execute(sql)
                var found: [String] = []
                try ValueRules(fixture.store.connection, fixture.store.layout).check { found.append($0) }
                return found
            }
        }
        #expect(try problems("SELECT 1").isEmpty)
        for (sql, text) in [
            ("UPDATE nest_value_piece SET bytes = zeroblob(length(bytes)) WHERE number = 1", "SHA-256"),
            ("DELETE FROM nest_value_piece WHERE number = 1", "bytes, but its length"),
            ("DELETE FROM nest_value", "is a large value that is missing"),
            ("UPDATE nest_value SET freed = 1", "is a large value that is missing"),
            ("UPDATE Photo SET image = NULL", "is held by no object"),
            ("UPDATE nest_value SET object = NULL", "is set and not set"),
            ("UPDATE nest_value SET type = 6", "cannot be read"),
            ("INSERT INTO nest_value_piece VALUES (77, 0, x'00')", "has pieces, but is unknown"),
        ] {
            let found = try problems(sql)
            #expect(found.contains { $0.contains(text) }, "\(sql): \(found)")
        }
    }

    /// A migration that removes the property removes its bytes.
    @Test func aRemovedPropertyLosesItsValues() throws {
        let directory = TemporaryDirectory(inMemory: true)
        func open(_ model: ManagedObjectModel) throws -> Store {
            var configuration = Store.Configuration(location: .file(directory.path + "/a.sqlite"), model: model)
            configuration.removals = .all
            return try Store(configuration, newHistoryID: Identifier128(high: 1, low: 2))
        }
        let history = try ValueHistory(seed: 1, isReplicated: false)
        var store = try open(ValueHistory.model)
        let staged = try history.staged([1, 2, 3], .largeData)
        let value = try store.access { try store.put(staged, of: 1, now: 1) }
        _ = try store.access { try store.put(staged, of: 1, now: 1) }
        try store.access {
            let group = try store.beginGroup(time: 1, alwaysSavepoint: false)
            _ = try group.request(inSavepoint: true) { graph in
                let values = [
                    PropertyAssignment(ValueHistory.title, .value(.string("a"))),
                    PropertyAssignment(ValueHistory.image, .value(value.value)),
                ]
                _ = try graph.perform(
                    WriteTransaction(
                        mutations: [.insert(entity: ValueHistory.photo, values: values, placements: [])]
                    )
                )
                return Fixture.description
            }
            try group.commit()
        }
        try store.close()
        let title = ValueHistory.model.entities[0].attributes[0]
        let less = EntityDescription(number: 1, name: "Photo", attributes: [title], relationships: [])
        store = try open(ManagedObjectModel(entities: [less]))
        var left = 0
        try store.forEachRow("SELECT count(*) FROM nest_value_piece") {
            left += Int($0.integer(0))
            return true
        }
        #expect(left == 0)
        try store.close()
    }
}
