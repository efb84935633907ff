import Foundation
import NestModel
import NestTestSupport
import Testing
import NestSchema

@testable import NestStore

/// The memory of bulk writes stays within its limit, and their collections agree with those of the standard library.
@Suite struct BulkMemoryTests {
    private let fixture: Fixture
    private var memory: BulkMemory { self.fixture.store.bulkMemory }

    init() throws {
        self.fixture = try Fixture()
    }

    private func memory(_ countMax: Int) -> BulkMemory {
        BulkMemory(connection: self.memory.connection, directory: self.memory.directory, countMax: countMax)
    }

    // MARK: Sets of ids

    @Test func consecutiveIDsAreOneRun() throws {
        try self.fixture.store.access {
            let up = ObjectIDSet(self.memory)
            let down = ObjectIDSet(self.memory)
            for id in 1...1_000_000 as ClosedRange<Int64> {
                try up.insert(ObjectID(id))
                try down.insert(ObjectID(2_000_000 - id))
            }
            for set in [up, down] { #expect(set.runCount == 1 && !set.isSpilled) }
            #expect(
                try up.contains(ObjectID(1)) && up.contains(ObjectID(1_000_000)) && !up.contains(ObjectID(1_000_001))
            )
            #expect(try down.contains(ObjectID(1_000_000)) && !down.contains(ObjectID(999_999)))
        }
    }

    /// Runs beyond the limit go to a table. The set returns the same as a `Set`.
    @Test(arguments: 1...40) func idSetsAgreeWithSets(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let countMax = random.below(20)
        let range = Int64(random.below(400) + 1)
        try self.fixture.store.access {
            try self.fixture.store.connection.execute("BEGIN")
            defer { try? self.fixture.store.connection.execute("ROLLBACK") }
            // Two sets, which share a table.
            let sets = (0..<2).map { _ in ObjectIDSet(self.memory(countMax)) }
            var expected: [Set<Int64>] = [[], []]
            for _ in 0..<random.below(300) {
                let which = random.below(2)
                let start = Int64.random(in: 1...range, using: &random)
                let length = Int64(random.below(4))
                let ids = Array(start...(start + length))
                for id in random.oneIn(2) ? ids : ids.reversed() {
                    try sets[which].insert(ObjectID(id))
                    expected[which].insert(id)
                }
                #expect(sets[which].runCount <= countMax + 1, "seed \(seed)")
            }
            for which in 0..<2 {
                #expect(sets[which].isEmpty == expected[which].isEmpty, "seed \(seed)")
                for id in 0...(range + 5) {
                    #expect(
                        try sets[which].contains(ObjectID(id)) == expected[which].contains(id),
                        "seed \(seed), \(id)"
                    )
                }
            }
            try sets[0].discard()
            #expect(try expected[1].allSatisfy { try sets[1].contains(ObjectID($0)) }, "seed \(seed)")
        }
    }

    @Test func scatteredIDsAreSpilled() throws {
        try self.fixture.store.access {
            let set = ObjectIDSet(self.memory(100))
            for id in 1...1_000 as ClosedRange<Int64> { try set.insert(ObjectID(id * 7 % 1_009 * 2)) }
            #expect(set.isSpilled && set.runCount <= 1)
        }
    }

    // MARK: Stacks

    @Test(arguments: 1...40) func spilledStacksAgreeWithArrays(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let countMax = random.below(12)
        let stack = SpilledStack(self.memory(countMax))
        var expected: [Int64] = []
        for _ in 0..<400 {
            if random.below(5) < (seed.isMultiple(of: 2) ? 3 : 2) {
                let number = Int64(bitPattern: random.next())
                try stack.push(number)
                expected.append(number)
            } else {
                #expect(try stack.pop() == expected.popLast(), "seed \(seed)")
            }
            #expect(stack.count == expected.count && stack.heldCount <= max(countMax, 2), "seed \(seed)")
        }
        while let number = expected.popLast() { #expect(try stack.pop() == number, "seed \(seed)") }
        #expect(try stack.pop() == nil)
    }

    /// Siblings are popped one after the other, each with its neighbours, and after the objects that were pushed in
    /// between.
    @Test func cascadeQueueIsDepthFirst() throws {
        let queue = CascadeQueue(self.memory(3))
        try queue.push(ObjectID(9), table: 2)
        try queue.push(table: 1, place: 0) { (push) throws(StoreError) in
            for id in [3, 2, 1] as [Int64] { try push(ObjectID(id)) }
        }
        try queue.push(table: 1, place: nil) { _ in }
        var popped: [String] = []
        while let next = try queue.pop() {
            let neighbours = next.reached.map {
                "\($0.neighbours.left?.rawValue ?? 0)<\($0.neighbours.right?.rawValue ?? 0)"
            }
            popped.append("\(next.id) in \(next.table) \(neighbours ?? "-")")
            if next.id == ObjectID(2) { try queue.push(ObjectID(7), table: 0) }
        }
        #expect(popped == ["1 in 1 0<2", "2 in 1 1<3", "7 in 0 -", "3 in 1 2<0", "9 in 2 -"])
    }

    /// SQLite stores the old pages of a savepoint in a file.
    @Test func savepointsAreStoredInFiles() throws {
        try self.fixture.store.access {
            let statement = try self.fixture.store.connection.statement("PRAGMA temp_store")
            defer { statement.reset() }
            #expect(try statement.step() && statement.integer(0) == 1)
        }
    }

    // MARK: Reverts

    /// The plan of a revert of an import does not grow with the import, and the import is restored as it was.
    @Test(arguments: [0, 5, 1_000], ["tree", "chain", "forest"])
    func revertPlansHoldRunsOfIDs(_ countMax: Int, _ shape: String) throws {
        let fixture = try Fixture {
            $0.streamedFrom = 50
            $0.bulkObjectsInMemoryMax = countMax
        }
        let ends = try fixture.perform(Fixture.insert("first"), Fixture.insert("last"))
        let rows = (0..<2_000).map { index in
            switch shape {
            case "tree": (depth: min(index, 1 + index % 3), title: "\(index)")
            case "chain": (depth: index, title: "\(index)")
            default: (depth: 0, title: "\(index)")
            }
        }
        let staged = try fixture.stage(rows, under: ObjectID(1), .after(.object(ends[0])))
        let imported = try #require(try fixture.commit { _ = try $0.importSubtree(staged) })
        let full = try fixture.export(ObjectID(1))
        #expect(full.count == rows.count + 3)
        var revision = imported.revision
        for isThere in [false, true, false, true] {
            let past = try #require(try fixture.store.access { try fixture.store.pastTransaction(revision) })
            try fixture.commit { graph in
                let plan = try graph.plan(past, UndoContext(UndoOptions()))
                #expect((isThere ? plan.returning : plan.inserted).runCount == 1)
                #expect(plan.insertedTops.count <= countMax)
                try plan.discard()
            }
            let changes = try #require(try fixture.revert(revision))
            // All objects have their old positions: none is renumbered.
            #expect(changes.repositions.isEmpty)
            #expect(
                try fixture.export(ObjectID(1))
                    == (isThere ? full : full.filter { ($0.id ?? ObjectID(0)).rawValue <= 3 })
            )
            revision = changes.revision
        }
    }
}
