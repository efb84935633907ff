import NestModel
import NestSchema
import NestTestSupport
import Testing

@testable import NestStore

/// What a damaged file has in place of a text or an id can be deleted, written to the journal, and restored.
@Suite struct DamagedRowTests {
    private func damage(_ fixture: Fixture, _ id: ObjectID, _ assignment: String) throws {
        let name = try #require(fixture.store.layout[Fixture.item]).name
        try fixture.store.access {
            // No write of nest could do this.
            try fixture.store.connection.execute("PRAGMA foreign_keys = OFF")
            try fixture.store.connection.execute("UPDATE \"\(name)\" SET \(assignment) WHERE id = \(id.rawValue)")
            try fixture.store.connection.execute("PRAGMA foreign_keys = ON")
        }
    }

    private func row(_ fixture: Fixture, _ id: ObjectID) throws -> ObjectRow? {
        try fixture.store.access { try fixture.store.row(Fixture.item, id) }
    }

    @Test(arguments: [("x'ff41'", "\u{FFFD}A"), ("x'410042'", "A\u{FFFD}B"), ("x'c3'", "\u{FFFD}")])
    func aTextThatIsNoneIsRepaired(bytes: String, text: String) throws {
        let fixture = try Fixture(inMemory: true)
        let id = try fixture.perform(Fixture.insert("text"))[0]
        try self.damage(fixture, id, "title = CAST(\(bytes) AS TEXT)")
        #expect(try self.row(fixture, id)?.values[0] == .string(text))
        try fixture.perform(.delete(.object(id)))
        try fixture.revert(fixture.store.head)
        #expect(try self.row(fixture, id)?.values[0] == .string(text))
    }

    @Test(arguments: [-1, 0, Int64.max])
    func aReferenceThatIsNoIDCanBeDeleted(owner: Int64) throws {
        let fixture = try Fixture(inMemory: true)
        let id = try fixture.perform(Fixture.insert("text"))[0]
        try self.damage(fixture, id, "parent = \(owner)")
        let layout = try #require(fixture.store.layout[Fixture.item])
        let row = try #require(try self.row(fixture, id))
        #expect(row.values.reference(layout.placedSlots[0]) == ObjectID(Limits.objectIDMax))
        try fixture.perform(.delete(.object(id)))
        let past = try fixture.store.access { try fixture.store.pastTransaction(fixture.store.head) }
        #expect(past != nil)
    }
}
