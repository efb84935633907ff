import NestModel
import NestProtocol
import NestSchema
import NestTestSupport
import Testing

@testable import NestStore

/// The cache of bodies of objects. `ModelHistoryTests` and `UndoSimulationTests` compare it with what is stored.
@Suite struct ObjectBodiesTests {
    private static let layout = ModelLayout(.nestedList)
    private static let table = layout.entities[0].number
    private static let slot = layout.entities[0].slot(of: PropertyNumber(5))!
    private static let body = ObjectBody(bytes: [1, 2, 3])

    private static func row(under owner: Int64) -> ObjectRow {
        var values = [AttributeValue](repeating: .null, count: self.layout.entities[0].slots.count)
        values[self.slot] = .reference(ObjectID(owner))
        return ObjectRow(entity: self.table, revision: Revision(1), values: values, places: [])
    }

    /// The change of object 9.
    private static func change(_ revision: UInt64, from: Int64?, to: Int64?, blockCount: Int = 0) -> ChangeSet {
        var changes = ChangeSet.Draft(revision: Revision(revision))
        changes.blockCount = blockCount
        changes.changedRows = [
            ChangedRow(
                entity: self.table,
                id: ObjectID(9),
                before: from.map { self.row(under: $0) },
                after: to.map { self.row(under: $0) }
            )
        ]
        return ChangeSet(changes)
    }

    private static func bodies(_ ids: ClosedRange<Int64>, head: UInt64, bytesMax: Int = 1 << 20) -> ObjectBodies {
        var bodies = ObjectBodies(bytesMax: bytesMax)
        for id in ids { bodies.keep(self.body, of: ObjectID(id), head: Revision(head)) }
        return bodies
    }

    private static func known(_ bodies: ObjectBodies, head: UInt64) -> [Int64] {
        (1...9).filter { bodies.body(ObjectID($0), head: Revision(head)) == self.body }
    }

    @Test func aChangeForgetsTheObjectAndTheOwnersThatCountIt() {
        var bodies = Self.bodies(1...9, head: 5)
        bodies.take(Self.change(6, from: 1, to: 2))
        #expect(Self.known(bodies, head: 6) == [3, 4, 5, 6, 7, 8])
        bodies.take(Self.change(7, from: nil, to: 3))
        bodies.take(Self.change(8, from: 4, to: nil))
        bodies.take(Self.change(9, from: 5, to: 5))
        #expect(Self.known(bodies, head: 9) == [5, 6, 7, 8])
    }

    @Test func bodiesOfAnotherRevisionAreNotReturned() {
        var bodies = Self.bodies(1...3, head: 5)
        #expect(Self.known(bodies, head: 6) == [])
        // A revision whose commit was not applied.
        bodies.take(Self.change(7, from: 8, to: 8))
        #expect(bodies.isEmpty)
        bodies = Self.bodies(1...3, head: 5)
        bodies.keep(Self.body, of: ObjectID(4), head: Revision(6))
        #expect(Self.known(bodies, head: 6) == [4])
    }

    @Test func aBulkWriteForgetsAllBodies() {
        var bodies = Self.bodies(1...3, head: 5)
        bodies.take(Self.change(6, from: 8, to: 8, blockCount: 1))
        #expect(bodies.isEmpty)
    }

    @Test func keptBodiesAreLimited() {
        let size = ObjectBodies.size(Self.body)
        var bodies = Self.bodies(1...16, head: 5, bytesMax: 16 * size)
        #expect(Self.known(bodies, head: 5) == [1, 2, 3, 4, 5, 6, 7, 8, 9] && bodies.byteCount == 16 * size)
        // One more begins again.
        bodies.keep(Self.body, of: ObjectID(9), head: Revision(5))
        #expect(Self.known(bodies, head: 5) == [9] && bodies.byteCount == size)
        bodies.keep(Self.body, of: ObjectID(9), head: Revision(5))
        #expect(bodies.byteCount == size)
        // A large body does not push out the others.
        let large = ObjectBody(bytes: [UInt8](repeating: 1, count: size))
        bodies.keep(large, of: ObjectID(8), head: Revision(5))
        #expect(Self.known(bodies, head: 5) == [9] && bodies.byteCount == size)
        bodies.take(Self.change(6, from: 1, to: 2))
        #expect(bodies.isEmpty && bodies.byteCount == 0)
    }

    /// A body that is served from the cache is the one that would be read.
    @Test func aStoredObjectIsEncodedOnceUntilItChanges() throws {
        let fixture = try Fixture(inMemory: true)
        let list = try fixture.perform(Fixture.insert("list"))[0]
        func check(_ count: Int) throws {
            try fixture.store.access {
                for _ in 0..<2 {
                    let body = try #require(try fixture.store.body(list))
                    #expect(body == ObjectBody(try #require(try fixture.store.detail(list))))
                    #expect(try body.decoded().counts.map(\.count) == [count])
                }
                #expect(fixture.store.objectBodies.body(list, head: fixture.store.head) != nil)
            }
        }
        try check(0)
        for count in 1...3 {
            let changes = try #require(
                try fixture.commit {
                    _ = try $0.perform(WriteTransaction(mutations: [Fixture.insert("item", under: .object(list))]))
                }
            )
            fixture.store.access { fixture.store.noteCommitted([changes]) }
            try check(count)
        }
    }
}
