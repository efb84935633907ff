import NestModel
import NestStore
import Testing
import NestSchema

@Suite struct BulkTests {
    /// The steps of a large batch change objects that it inserted long before: each object is in the change set once,
    /// and the batch can be undone.
    @Test func batchesCanChangeObjectsThatTheyInserted() throws {
        let fixture = try Fixture()
        let ends = try fixture.perform(Fixture.insert("a"), Fixture.insert("z"))
        let count = 4_200
        func new(_ number: Int) -> ObjectReference { .inserted(number) }
        var mutations = (1...count).map { Fixture.insert("\($0)", .before(.object(ends[1]))) }
        mutations.append(
            .move(new(4_150), Placement(relationship: Fixture.parent, owner: .object(ends[0]), place: .last))
        )
        mutations.append(.update(new(4_160), values: [PropertyAssignment(Fixture.title, .value(.string("edited")))]))
        mutations.append(.delete(new(4_170)))
        let changes = try #require(
            try fixture.commit { _ = try $0.perform(WriteTransaction(mutations: mutations)) }
        )
        var seen: [ObjectID: Int] = [:]
        try fixture.store.access {
            try fixture.store.forEachChangedObject(changes) {
                seen[$0.id, default: 0] += 1
                #expect($0.before == nil && $0.after != nil)
            }
        }
        #expect(seen.count == count - 1 && seen.values.allSatisfy { $0 == 1 })
        let after = try fixture.export(ObjectID(1))
        #expect(after.count == count + 2)
        let undo = try #require(try fixture.revert(changes.revision))
        #expect(try fixture.children(ObjectID(1)) == ends)
        try fixture.revert(undo.revision)
        #expect(try fixture.export(ObjectID(1)) == after)
    }
}
