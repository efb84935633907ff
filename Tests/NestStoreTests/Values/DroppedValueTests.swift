import NestModel
import NestProtocol
import NestTestSupport
import Testing

@testable import NestStore

/// Large values that nothing can set or restore any more: they are dropped in steps, the same ones on every node.
@Suite struct DroppedValueTests {
    private let history: ValueHistory
    private let replica: Replica

    private var fixture: Fixture { self.history.fixture }
    private var store: Store { self.fixture.store }

    init() throws {
        self.history = try ValueHistory(seed: 1, isReplicated: true)
        self.replica = try #require(self.history.fixture.replica)
    }

    private func insert(_ value: LargeValue? = nil) throws -> ObjectID {
        var values = [PropertyAssignment(ValueHistory.title, .value(.string("a")))]
        if let value { values.append(PropertyAssignment(ValueHistory.image, .value(value.value))) }
        let ids = try self.fixture.perform(.insert(entity: ValueHistory.photo, values: values, placements: []))
        return try #require(ids.first)
    }

    private func set(_ id: ObjectID, _ value: LargeValue?) throws {
        let assignment = PropertyAssignment(ValueHistory.image, .value(value?.value ?? .null))
        try self.fixture.perform(.update(.object(id), values: [assignment]))
    }

    @discardableResult
    private func trim(at time: Int64, bytesMax: Int = .max) throws -> Revision? {
        try self.store.access {
            try self.store.trimJournal(now: time, bytesMax: bytesMax, secondsMax: 1 << 30, rowsMax: 1_000)
        }
    }

    private func count(_ condition: String) throws -> Int {
        try self.history.values("SELECT count(*) FROM nest_value WHERE \(condition)")
    }

    private func expectEqual() throws {
        try self.replica.catchUp()
        let isEqual = try self.replica.isEqual(to: self.store)
        if !isEqual { Issue.record("\(try self.replica.store.differences(from: self.store))") }
        #expect(try self.store.reader.check(deadline: .none) { _ in }.problems == [])
    }

    private static let day = Int64(Limits.stagedValueSeconds) * 1_000_000

    /// A tick drops them, also when it drops no part of the journal, and in a store that has none yet.
    @Test func valuesThatAreNeverSetAreDropped() throws {
        for hasRevisions in [false, true] {
            if hasRevisions { _ = try self.insert() }
            let value = try self.history.put([1, 2, 3], .largeData)
            let first = try self.history.values("SELECT staged FROM nest_value WHERE id = \(value.id)")
            let (head, base) = (self.store.logState?.position.position, self.store.oldestBase)
            #expect(try self.trim(at: Int64(first) + Self.day) == nil)
            #expect(self.store.logState?.position.position == head)
            #expect(try self.count("id = \(value.id)") == 1)
            #expect(try self.trim(at: Int64(first) + Self.day + 1) == nil)
            #expect(try self.count("id = \(value.id)") == 0 && self.store.oldestBase == base)
            try self.expectEqual()
        }
    }

    /// The bytes of a revision are dropped step by step, oldest first. What waits is not history any more.
    @Test func oneRevisionThatFreedMuchIsDroppedInSteps() throws {
        let held = try self.history.put([9], .largeData)
        let keeper = try self.insert(held)
        var ids: [ObjectID] = []
        for number in 0..<5 {
            ids.append(try self.insert(try self.history.put([UInt8](repeating: UInt8(number), count: 9), .largeData)))
        }
        let deletions = WriteTransaction(mutations: ids.map { .delete(.object($0)) })
        try self.fixture.commit { _ = try $0.perform(deletions) }
        _ = try self.insert()
        // As if each had a third of what a step drops.
        let third = Limits.droppedValueBytesMax / 3 + 1
        for store in [self.store, self.replica.store] {
            if store !== self.store { try self.replica.catchUp() }
            try store.access {
                try store.connection.execute("UPDATE nest_value SET length = \(third) WHERE freed NOTNULL")
            }
        }
        let freed = try self.trim(at: self.fixture.time, bytesMax: 4 * third)
        #expect(freed != nil)
        for left in [2, 0] {
            #expect(try self.count("freed NOTNULL") == left)
            #expect(try self.store.freedValueBytes(after: self.store.oldestBase) == 0)
            try self.replica.catchUp()
            #expect(try self.replica.isEqual(to: self.store))
            // Also behind a new start, and without a new part of the journal.
            try self.fixture.reopen()
            #expect(try self.trim(at: self.fixture.time) == nil)
        }
        #expect(try self.count("TRUE") == 1)
        #expect(try self.history.values("SELECT count(*) FROM nest_value_piece") == 1)
        try self.set(keeper, nil)
        try self.expectEqual()
    }

    /// Very many small ones are dropped in steps, too.
    @Test func aStepDropsALimitedNumber() throws {
        let most = Limits.droppedValuesMax
        for store in [self.store, self.replica.store] {
            try store.access {
                try store.connection.execute(
                    """
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(most + 3))
                    INSERT INTO nest_value (session, type, length, descriptor, staged) SELECT 1, 13, 0, x'', 0 FROM n
                    """
                )
            }
        }
        try self.trim(at: Self.day + 1)
        #expect(try self.count("TRUE") == 3)
        try self.expectEqual()
        try self.trim(at: Self.day + 1)
        #expect(try self.count("TRUE") == 0)
        try self.expectEqual()
    }

    /// What waits to be dropped cannot come back: a later step would take it from its object.
    @Test func whatWaitsToBeDroppedCannotBeSet() throws {
        let (first, value) = (try self.history.put([0], .largeData), try self.history.put([1, 2, 3], .largeData))
        let (other, id) = (try self.insert(first), try self.insert(value))
        try self.set(id, nil)
        // An object may have again what it had, as long as undo could restore it.
        try self.set(id, value)
        try self.set(other, nil)
        try self.set(id, nil)
        _ = try self.insert()
        for store in [self.store, self.replica.store] {
            if store !== self.store { try self.replica.catchUp() }
            try store.access {
                let long = "UPDATE nest_value SET length = \(Limits.droppedValueBytesMax) WHERE id = \(first.id)"
                try store.connection.execute(long)
            }
        }
        try self.trim(at: self.fixture.time, bytesMax: 0)
        #expect(try self.count("id = \(first.id)") == 0 && self.count("id = \(value.id) AND freed NOTNULL") == 1)
        do {
            try self.set(id, value)
            Issue.record("a value that waits to be dropped was set")
        } catch let StoreError.refused(error) {
            #expect(error.code == .validationFailed)
        }
        try self.trim(at: self.fixture.time)
        #expect(try self.count("TRUE") == 0)
        try self.expectEqual()
    }

    // MARK: Limits of the store

    @Test func stagedValuesOfAllSessionsAreLimited() throws {
        let per = Limits.stagedValuesPerSessionMax
        for number in 0..<Limits.stagedValuesMax {
            _ = try self.history.put([], .largeData, of: UInt64(10 + number / per))
        }
        try self.expectRefusal { _ = try self.history.put([], .largeData, of: 7) }
        // The session's own oldest one makes room.
        let first = try self.history.put([], .largeData, of: 10)
        #expect(try self.count("object ISNULL") == Limits.stagedValuesMax)
        let id = try self.insert()
        try self.fixture.perform(.delete(.object(id)))
        try self.store.access { try self.store.forgetSessions([11]) }
        _ = try self.history.put([], .largeData, of: 7)
        #expect(try self.count("id = \(first.id)") == 1)
        try self.expectEqual()
    }

    @Test func bytesOfStagedValuesAreLimited() throws {
        let value = try self.history.put([1, 2, 3], .largeData)
        try self.store.access {
            try self.store.connection.execute("UPDATE nest_value SET length = \(Limits.stagedValueBytesMax - 2)")
        }
        _ = try self.history.put([1, 2], .largeData, of: 2)
        try self.expectRefusal { _ = try self.history.put([1], .largeData, of: 3) }
        _ = try self.history.put([], .largeData, of: 3)
        // Once an object has it, it does not count.
        _ = try self.insert(value)
        _ = try self.history.put([1], .largeData, of: 3)
    }

    private func expectRefusal(_ body: () throws -> Void) throws {
        let before = try self.count("TRUE")
        do {
            try body()
            Issue.record("the value is not refused")
        } catch let StoreError.refused(error) {
            #expect(error.code == .limitExceeded && error.message.contains("24 hours"), "\(error)")
        }
        #expect(try self.count("TRUE") == before)
    }
}
