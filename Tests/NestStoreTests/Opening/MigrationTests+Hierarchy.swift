import NestModel
import NestSchema
import NestStore
import NestTestSupport
import Testing

/// Migrations of entities below others, which share a table.
extension MigrationTests {
    /// A new entity has no objects that its defaults could fill, though it shares a table with one that has.
    @Test func aNewChildEntityMayHaveADefault() throws {
        _ = try self.populate()
        var draft = Self.first
        var member = EntityDraft(name: "Member")
        member.parent = "User"
        member.attributes = [Self.attribute("level", .integer) { $0.defaultValue = .integer(1) }]
        draft.entities.append(member)
        let store = try self.open(draft)
        #expect(store.migration != nil)
        let id = try Self.perform(store, [Self.insert(store, "Member", ["name": .string("Cem")])])[0]
        #expect(try Self.value(store, id, "level") == .integer(1))
        try store.close()
    }

    /// What a property of one entity holds stays when it moves to the parent; the others get it as a new one.
    @Test func aPropertyThatMovesUpIsNewInTheOtherEntities() throws {
        var draft = Self.first
        var member = EntityDraft(name: "Member")
        member.parent = "User"
        member.attributes = [Self.attribute("level", .integer) { $0.defaultValue = .integer(1) }]
        draft.entities.append(member)
        var store = try self.open(draft)
        let ids = try Self.perform(
            store,
            [
                Self.insert(store, "User", ["name": .string("Ann")]),
                Self.insert(store, "Member", ["name": .string("Bea"), "level": .integer(7)]),
            ]
        )
        let level = store.layout.model.entity(named: "Member")?.propertyNumber(named: "level")
        try store.close()

        var moved = draft
        moved.entities[2].attributes = []
        moved.entities[0].attributes.append(Self.attribute("level", .integer))
        #expect(throws: StoreError.self) { try self.open(moved) }
        moved.entities[0].attributes[2] = draft.entities[2].attributes[0]
        store = try self.open(moved)
        #expect(store.migration != nil)
        #expect(store.layout.model.entity(named: "User")?.propertyNumber(named: "level") == level)
        #expect(try Self.value(store, ids[0], "level") == .integer(1))
        #expect(try Self.value(store, ids[1], "level") == .integer(7))
        try store.close()
    }
}
