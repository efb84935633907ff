import NestModel
import Testing

/// The numbers of inherited properties and of many-to-many relationships in a compiled draft.
@Suite struct ModelNumberTests {
    private func entity(
        _ name: String,
        parent: String? = nil,
        _ attributes: [AttributeDraft] = [],
        _ relationships: [RelationshipDraft] = []
    ) -> EntityDraft {
        var entity = EntityDraft(name: name)
        entity.parent = parent
        entity.attributes = attributes
        entity.relationships = relationships
        return entity
    }

    private func relationship(
        _ name: String,
        _ destination: String,
        _ inverse: String,
        many: Bool = false,
        ordered: Bool = false
    ) -> RelationshipDraft {
        var relationship = RelationshipDraft(name: name, destination: destination, inverse: inverse)
        relationship.isToMany = many
        relationship.isOrdered = ordered
        return relationship
    }

    /// Property numbers are unique in a tree of entities, and an inherited property keeps its number. The numbers of
    /// pairs follow those of the entities.
    @Test func inheritedPropertiesKeepTheirNumbers() throws {
        let name = AttributeDraft(name: "name", type: .string)
        var animal = self.entity("Animal", [name], [self.relationship("tags", "Tag", "animals", many: true)])
        animal.isAbstract = true
        animal.uniquenessConstraints = [["name"]]
        animal.label = "name"
        let model = try ModelDraft(entities: [
            self.entity("Puppy", parent: "Dog", [AttributeDraft(name: "weeks", type: .integer)]),
            animal,
            self.entity("Tag", [name], [self.relationship("animals", "Animal", "tags", many: true)]),
            self.entity("Dog", parent: "Animal", [AttributeDraft(name: "age", type: .integer16)]),
        ]).compile()
        #expect(model.entities.map(\.name) == ["Puppy", "Animal", "Tag", "Dog"])
        let puppy = try #require(model.entity(named: "Puppy"))
        #expect(puppy.attributes.map { "\($0.number.rawValue) \($0.name)" } == ["1 weeks", "2 name", "4 age"])
        #expect(puppy.relationships.map { "\($0.number.rawValue) \($0.name)" } == ["3 tags"])
        #expect(puppy.uniquenessConstraints == [[PropertyNumber(2)]])
        #expect(puppy.labelAttribute == PropertyNumber(2))
        #expect(model.lineage(of: puppy.number).map(\.name) == ["Puppy", "Dog", "Animal"])
        #expect(model.kinds(of: EntityNumber(2)).map(\.name) == ["Puppy", "Animal", "Dog"])
        #expect(
            model.isKind(EntityNumber(1), of: EntityNumber(2)) && !model.isKind(EntityNumber(2), of: EntityNumber(1))
        )
        let tags = try #require(model.entity(named: "Dog")?.relationships.first)
        #expect(tags.join == EntityNumber(5) && model.inverse(of: tags)?.join == EntityNumber(5))
    }

    @Test func aRelationshipMayBeItsOwnInverse() throws {
        let friends = self.relationship("friends", "Person", "friends", many: true)
        let partner = self.relationship("partner", "Person", "partner")
        let model = try ModelDraft(entities: [self.entity("Person", [], [friends, partner])]).compile()
        #expect(model.entities[0].relationships.map(\.join) == [EntityNumber(2), nil])
        var ordered = friends
        ordered.isOrdered = true
        let draft = ModelDraft(entities: [self.entity("Person", [], [ordered])])
        let error = #expect(throws: ModelFaults.self) { try draft.compile() }
        #expect(error?.faults.count == 1)
    }
}
