import NestModel
import NestTestSupport
import Testing

@testable import NestStore

/// All sub-entities of an entity are in one table, which a person can read.
@Suite struct InheritanceTests {
    private func store() throws -> NamedStore {
        try NamedStore(
            EntityDraft(
                "Animal",
                isAbstract: true,
                [AttributeDraft("id"), AttributeDraft("name")],
                [RelationshipDraft("owner", .one, "Person", inverse: "animals")]
            ),
            EntityDraft(
                "Dog",
                of: "Animal",
                [AttributeDraft("size", .integer)],
                [
                    RelationshipDraft("walker", .one, "Person", inverse: "dogs")
                ]
            ),
            EntityDraft("Puppy", of: "Dog", [AttributeDraft("weeks", .integer) { _ in }]),
            EntityDraft("Cat", of: "Animal", [AttributeDraft("size", .string)]),
            EntityDraft(
                "Person",
                [],
                [
                    RelationshipDraft("animals", .ordered, "Animal", inverse: "owner", .cascade),
                    RelationshipDraft("dogs", .many, "Dog", inverse: "walker"),
                ]
            )
        )
    }

    @Test func objectsOfAllSubentitiesShareOneTable() throws {
        let store = try self.store()
        let person = try store.insert("Person")
        let dog = try store.insert("Dog", ["owner": .id(person), "size": 3, "id": "d"])
        let puppy = try store.insert("Puppy", ["owner": .id(person), "weeks": 5, "walker": .id(person)])
        let cat = try store.insert("Cat", ["owner": .id(person), "size": "big"])
        #expect(try store.related(person, "animals") == [dog, puppy, cat])
        #expect(try store.related(person, "dogs") == [puppy])
        #expect(try store.faults(store.insertion("Puppy", [:])) == ["Puppy.weeks required"])
        #expect(
            try store.faults(.relate(.object(person), try store.property("dogs", of: person), .object(cat), .last)) == [
                "Person.dogs destination"
            ]
        )
        // A cat has no properties of other kinds.
        #expect(try store.faults(store.edit(.object(cat), "Puppy", ["weeks": 1])) == ["Cat.? unknownProperty"])
        #expect(try store.faults(store.edit(.object(dog), "Cat", ["size": "s"])) == ["Dog.? unknownProperty"])
        try store.delete(person)
        #expect(try store.ids.isEmpty)
    }

    @Test func tablesHaveReadableColumns() throws {
        let store = try self.store()
        let person = try store.insert("Person")
        _ = try store.insert("Puppy", ["owner": .id(person), "weeks": 5, "size": 2, "name": "Rex", "id": "p"])
        try store.fixture.store.access {
            let statement = try store.fixture.store.connection.statement(
                """
                SELECT e.name, a.name, a.id_, a.size, a.weeks, a.owner FROM Animal a JOIN nest_entity e ON e.number = a.nest_entity
                """
            )
            defer { statement.reset() }
            #expect(try statement.step())
            #expect((0..<3).map { statement.text($0) } == ["Puppy", "Rex", "p"])
            #expect((3..<6).map { statement.integer($0) } == [2, 5, person.rawValue])
        }
    }
}
