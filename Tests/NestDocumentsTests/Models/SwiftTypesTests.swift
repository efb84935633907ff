import Foundation
import NestDocuments
import NestModel
import NestTestSupport
import Testing

/// Models as Swift types. `NestClientTests` compiles what is compared here, and uses it with a server.
@Suite struct SwiftTypesTests {
    private func model(_ path: String) throws -> ManagedObjectModel {
        try ModelFile.read(path: Repository.root.appending(path: path).path).draft.compile()
    }

    @Test(arguments: [
        ("Tests/Fixtures/Types/model.json", "TypesModel", "Tests/NestClientTests/Typed/TypesModel.swift"),
        ("Examples/phone-book/model.json", "PhoneBookModel", "Examples/phone-book/PhoneBookModel.swift"),
        ("Examples/done/model.json", nil, "Examples/done/ToDo.swift"),
    ])
    func filesAreThoseOfTheirModels(path: String, namespace: String?, file: String) throws {
        let text = SwiftTypes.text(of: try self.model(path), source: "model.json", namespace: namespace)
        #expect(text == (try Repository.text(file)), "nestc model generate swift \(path) -o \(file)")
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
        #expect(SwiftTypes.text(of: other, source: "a") == SwiftTypes.text(of: model, source: "a"))
    }

    @Test func typesForALibraryArePublic() throws {
        let text = SwiftTypes.text(of: try self.model("Examples/done/model.json"), source: "a\nb", isPublic: true)
        #expect(text.contains("public import NestClient\n") && text.contains("\npublic struct ToDo: ModelEntity {\n"))
        #expect(text.contains("\n    public static func done(_ value: Bool) -> Self"))
        // A name with a line end stays in its comment.
        #expect(text.contains("nestc model generate swift a b`"))
    }

    @Test func wordsOfSwiftAreNoNames() {
        #expect(SwiftName.member("class") == "`class`" && SwiftName.member("id") == "id_")
        #expect(SwiftName.member("init") == "init_" && SwiftName.member("title") == "title")
        #expect(SwiftName.type("Assignment") == "Assignment_" && SwiftName.type("User") == "User")
        for name in ["", "1a", "a-b", "é", "class", "Self", "ObjectID", "a b"] {
            #expect(!SwiftName.isName(name), "\(name)")
        }
        for name in ["A", "_a1", "Shop"] { #expect(SwiftName.isName(name), "\(name)") }
    }
}
