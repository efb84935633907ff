import Foundation
import NestDocuments
import NestModel
import NestTestSupport
import Testing

/// Models as types of programming languages. The tests of each client compile what is compared here, and use it with a
/// server.
@Suite struct TypesTests {
    private func model(_ path: String) throws -> ManagedObjectModel {
        try ModelFile.read(path: Repository.root.appending(path: path).path).draft.compile()
    }

    @Test(arguments: [
        ("Tests/Fixtures/Types/model.json", "TypesModel", "Tests/NestClientTests/Typed/TypesModel.swift"),
        ("Examples/phone-book/model.json", "PhoneBookModel", "Examples/phone-book/PhoneBookModel.swift"),
        ("Examples/done/model.json", nil, "Examples/done/ToDo.swift"),
        ("Examples/nested-lists/model.json", nil, "Examples/nested-lists/Item.swift"),
        ("Examples/number-facts/NumberFacts.xcdatamodeld", "Facts", "Examples/number-facts/Facts.swift"),
    ])
    func filesAreThoseOfTheirModels(path: String, namespace: String?, file: String) throws {
        let text = SwiftTypes.text(of: try self.model(path), namespace: namespace)
        #expect(text == (try Repository.text(file)), "nestc model generate swift \(path) -o \(file)")
    }

    @Test(arguments: [
        ("Tests/Fixtures/Types/model.json", "Clients/js/test/types/model.ts"),
        ("Examples/phone-book/model.json", "Clients/js/test/types/phone-book.ts"),
        ("Examples/number-facts/NumberFacts.xcdatamodeld", "Clients/js/test/types/number-facts.ts"),
    ])
    func typeScriptFilesAreThoseOfTheirModels(path: String, file: String) throws {
        let text = TypeScriptTypes.text(of: try self.model(path))
        #expect(text == (try Repository.text(file)), "nestc model generate typescript \(path) -o \(file)")
    }

    @Test(arguments: [
        ("Tests/Fixtures/Types/model.json", "Clients/python/tests/types_model.py"),
        ("Examples/phone-book/model.json", "Clients/python/tests/phone_book_model.py"),
        ("Examples/number-facts/NumberFacts.xcdatamodeld", "Clients/python/tests/number_facts_model.py"),
    ])
    func pythonModulesAreThoseOfTheirModels(path: String, file: String) throws {
        let text = PythonTypes.text(of: try self.model(path))
        #expect(text == (try Repository.text(file)), "nestc model generate python \(path) -o \(file)")
    }

    /// The example has types of the model that nestd serves without `--model`.
    @Test func theModelOfNestedListsIsTheBuiltInOne() throws {
        #expect(try self.model("Examples/nested-lists/model.json") == ManagedObjectModel.nestedList)
    }

    /// The same model with other numbers, from Xcode or from a server, gives the same text.
    @Test func numbersAreNotInTheText() throws {
        let model = try self.model("Examples/number-facts/NumberFacts.xcdatamodeld")
        let entities = model.entities.map { entity in
            EntityDescription(
                number: 900 - entity.number.rawValue,
                name: entity.name,
                attributes: entity.attributes.map {
                    AttributeDescription(
                        number: 900 - $0.number.rawValue,
                        name: $0.name,
                        type: $0.type,
                        isOptional: $0.isOptional
                    )
                },
                relationships: entity.relationships.map {
                    RelationshipDescription(
                        number: 900 - $0.number.rawValue,
                        name: $0.name,
                        destination: 900 - $0.destination.rawValue,
                        inverse: 900 - $0.inverse.rawValue,
                        isToMany: $0.isToMany,
                        isOptional: $0.isOptional,
                        deleteRule: $0.deleteRule
                    )
                }
            )
        }
        let other = ManagedObjectModel(entities: entities)
        #expect(other != model)
        #expect(SwiftTypes.text(of: other) == SwiftTypes.text(of: model))
        #expect(TypeScriptTypes.text(of: other) == TypeScriptTypes.text(of: model))
        #expect(PythonTypes.text(of: other) == PythonTypes.text(of: model))
    }

    @Test func typesForALibraryArePublic() throws {
        let text = SwiftTypes.text(of: try self.model("Examples/done/model.json"), isPublic: true)
        #expect(text.contains("public import NestClient\n") && text.contains("\npublic struct ToDo: ModelEntity {\n"))
        #expect(text.contains("\n    public static func done(_ value: Bool) -> Self"))
    }

    @Test func namesOfPythonAreDistinct() {
        let toMany: [(number: UInt16, name: String, inverse: UInt16)] = [
            (12, "insert", 11), (13, "User", 14), (14, "UserEntity", 13),
        ]
        let back = RelationshipDescription(number: 11, name: "back", destination: 1, inverse: 12, deleteRule: .nullify)
        let user = EntityDescription(
            number: 1,
            name: "User",
            attributes: ["UserValues", "None", "of", "cls"].enumerated().map {
                AttributeDescription(number: UInt16($0 + 1), name: $1, type: .integer)
            },
            relationships: [back]
                + toMany.map {
                    RelationshipDescription(
                        number: $0.number,
                        name: $0.name,
                        destination: 1,
                        inverse: $0.inverse,
                        isToMany: true,
                        deleteRule: .nullify
                    )
                }
        )
        let other = EntityDescription(number: 2, name: "UserEntity", attributes: [], relationships: [])
        let object = EntityDescription(number: 3, name: "object", attributes: [], relationships: [])
        let text = PythonTypes.text(of: ManagedObjectModel(entities: [user, other, object]))
        for line in [
            "class User(nest.Typed[\"UserEntity_\", UserName, UserKey]):",
            "class UserEntity(nest.Typed[\"UserEntityEntity\", UserEntityName, UserEntityKey]):",
            "class UserEntity_(nest.TypedEntity[User, UserValues], rows=User):",
            "class object_(nest.Typed[\"object_Entity\", object_Name, object_Key]):",
            "    UserValues_: int", "    None_: int", "    of_: int", "    cls: int",
            "            UserValues: int = ...,", "            of: int = ...,",
            "    def insert_(self, object: int | nest.HasID) -> nest.FetchRequest[User]:",
            "        return self.of(object, \"insert\", User)",
            "    def User_(self, object: int | nest.HasID) -> nest.FetchRequest[User]:",
            "    def UserEntity__(self, object: int | nest.HasID) -> nest.FetchRequest[User]:",
        ] {
            #expect(text.contains("\n\(line)\n"), "\(line)")
        }
        #expect(!text.contains("            None: int = ...,"))
    }

    @Test func wordsOfSwiftAreNoNames() {
        let members = SwiftName.members(["class", "id", "id_", "init", "title", "_"])
        #expect(
            members == [
                "class": "`class`", "id": "id__", "id_": "id_", "init": "init_", "title": "title", "_": "__",
            ]
        )
        let types = SwiftName.types(["Assignment", "Assignment_", "User", "any", "Foundation"])
        #expect(
            types == [
                "Assignment": "Assignment__", "Assignment_": "Assignment_", "User": "User", "any": "any_",
                "Foundation": "Foundation_",
            ]
        )
        for name in [
            "", "1a", "a-b", "é", "class", "Self", "init", "self", "ObjectID", "a b", "Date", "String", "Swift", "_",
        ] {
            #expect(!SwiftName.isNamespace(name), "\(name)")
        }
        for name in ["A", "_a1", "Shop"] { #expect(SwiftName.isNamespace(name), "\(name)") }
    }
}
