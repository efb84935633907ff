import NestModel
import Testing

@Suite struct ModelDraftTests {
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

    private func faults(_ entities: EntityDraft...) -> [String] {
        do {
            _ = try ModelDraft(entities: entities).compile()
            return []
        } catch {
            return error.faults
        }
    }

    @Test func theBuiltInModelHasItsNumbers() throws {
        var item = self.entity("Item")
        var (note, done, extra) = (
            AttributeDraft(name: "note", type: .string), AttributeDraft(name: "done", type: .boolean),
            AttributeDraft(name: "extra", type: .string)
        )
        note.isOptional = true
        done.defaultValue = .boolean(false)
        extra.isOptional = true
        item.attributes = [AttributeDraft(name: "title", type: .string), note, done, extra]
        var children = self.relationship("children", "Item", "parent", many: true, ordered: true)
        children.deleteRule = .cascade
        item.relationships = [self.relationship("parent", "Item", "children"), children]
        item.root = ("parent", ObjectID(1))
        #expect(try ModelDraft(entities: [item]).compile() == .nestedList)
    }

    /// Numbers run through a whole tree of entities; what is inherited keeps its number; pairs come after the entities.
    @Test func inheritanceKeepsNumbers() throws {
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
        #expect(self.faults(self.entity("Person", [], [ordered])).count == 1)
    }

    /// All of it is told at once, by entity and property.
    @Test func everythingThatIsWrongIsTold() {
        var phone = self.entity("Phone", [AttributeDraft(name: "number", type: .string)])
        phone.relationships = [
            self.relationship("user", "User", "phones"), self.relationship("line", "Line", "phone"),
            self.relationship("other", "User", "nothing"), self.relationship("lost", "User", ""),
        ]
        phone.indexes = [["nummer"]]
        let user = self.entity("User", [], [self.relationship("phones", "Phone", "line", many: true)])
        let faults = self.faults(phone, user)
        #expect(faults.contains("Phone.line: its destination Line is not in the model"), "\(faults)")
        #expect(faults.contains { $0.hasPrefix("Phone.other: its inverse is missing") }, "\(faults)")
        #expect(faults.contains("Phone.lost: it has no inverse"), "\(faults)")
        #expect(faults.contains { $0.hasPrefix("Phone: an index names nummer") }, "\(faults)")
    }

    @Test func ancestorsAreSound() {
        #expect(self.faults(self.entity("A", parent: "B")) == ["A: its parent entity B is not in the model"])
        #expect(self.faults(self.entity("A", parent: "B"), self.entity("B", parent: "A")).count == 2)
        #expect(self.faults(self.entity("A", parent: "A")).count == 1)
        #expect(
            self.faults(self.entity("A"), self.entity("A")) == ["A: the model has more than one entity of this name"]
        )
        // A name may not be that of something inherited.
        let name = AttributeDraft(name: "name", type: .string)
        #expect(!self.faults(self.entity("A", [name]), self.entity("B", parent: "A", [name])).isEmpty)
    }

    @Test func aTreeOfEntitiesHasSoManyProperties() {
        func attributes(_ count: Int, _ prefix: String) -> [AttributeDraft] {
            (0..<count).map { AttributeDraft(name: "\(prefix)\($0)", type: .integer) }
        }
        let half = Limits.propertiesPerEntityMax / 2
        #expect(
            self.faults(self.entity("A", attributes(half, "a")), self.entity("B", parent: "A", attributes(half, "b")))
                .isEmpty
        )
        #expect(
            self.faults(
                self.entity("A", attributes(half, "a")),
                self.entity("B", parent: "A", attributes(half + 1, "b"))
            ).count == 1
        )
    }
}
