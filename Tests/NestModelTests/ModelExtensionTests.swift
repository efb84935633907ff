import NestModel
import NestTestSupport
import Testing

/// `Tests/Vectors/models.json`: pairs of models, and whether requests for the first are valid with the second.
@Suite struct ModelExtensionTests {
    @Test func modelsExtendOthersAsInTheVectors() throws {
        let base = try Self.base.compile()
        var cases: [JSONValue] = []
        for (name, extends, change) in Self.cases {
            var draft = Self.base
            change(&draft)
            let model = try draft.compile().renumbered(like: base)
            #expect(model.extends(base) == extends, "\(name)")
            // Nothing of an extension is missing in the model that it extends, unless something is new.
            if extends, model.entities.count == base.entities.count { #expect(model != base || name == "the same") }
            cases.append(
                ["name": .string(name), "model": .string(Self.hex(model)), "extends": .bool(extends)]
            )
        }
        var file = VectorFile("models", about: Self.about)
        file.add("base", .string(Self.hex(base)))
        file.add("cases", JSONValue(list: cases))
        if let difference = try file.difference() { Issue.record("\(difference)") }
    }

    private static let about = """
        Whether a model extends another (section 4 of protocol.md): whether requests and subscriptions that were made for \
        `base` are valid with `model`. Both are bodies of MODEL.
        """

    private static func hex(_ model: ManagedObjectModel) -> String {
        var writer = ByteWriter()
        writer.write(model: model)
        return Hex.text(writer.bytes)
    }

    /// Folders with a root, people with phones in order, and employees below people.
    private static let base: ModelDraft = {
        var folder = EntityDraft(name: "Folder")
        folder.attributes = [AttributeDraft(name: "title", type: .string)]
        folder.attributes[0].defaultValue = .string("")
        folder.relationships = [
            Self.relationship("parent", "Folder", "children"),
            Self.relationship("children", "Folder", "parent", isToMany: true, isOrdered: true),
        ]
        folder.root = (relationship: "parent", object: ObjectID(1))
        var person = EntityDraft(name: "Person")
        person.attributes = [
            AttributeDraft(name: "name", type: .string), AttributeDraft(name: "age", type: .integer16),
        ]
        person.attributes[1].isOptional = true
        person.relationships = [
            Self.relationship("phones", "Phone", "owner", isToMany: true, isOrdered: true),
            Self.relationship("friends", "Person", "friends", isToMany: true),
            Self.relationship("boss", "Employee", ""),
        ]
        var phone = EntityDraft(name: "Phone")
        phone.attributes = [AttributeDraft(name: "number", type: .string)]
        phone.relationships = [Self.relationship("owner", "Person", "phones")]
        var employee = EntityDraft(name: "Employee")
        employee.parent = "Person"
        employee.attributes = [AttributeDraft(name: "desk", type: .string)]
        return ModelDraft(entities: [folder, person, phone, employee])
    }()

    private static func relationship(
        _ name: String,
        _ destination: String,
        _ inverse: String,
        isToMany: Bool = false,
        isOrdered: Bool = false
    ) -> RelationshipDraft {
        var relationship = RelationshipDraft(name: name, destination: destination, inverse: inverse)
        relationship.isToMany = isToMany
        relationship.isOrdered = isOrdered
        return relationship
    }

    private static let (folder, person, phone, employee) = (0, 1, 2, 3)

    private static let cases: [(name: String, extends: Bool, change: @Sendable (inout ModelDraft) -> Void)] = [
        ("the same", true, { _ in }),
        (
            "a new entity, before the others", true,
            { $0.entities.insert(EntityDraft(name: "Tag"), at: 0) }
        ),
        (
            "a new entity below another", true,
            {
                var intern = EntityDraft(name: "Intern")
                intern.parent = "Employee"
                $0.entities.append(intern)
            }
        ),
        (
            "a new attribute, before the others", true,
            {
                var email = AttributeDraft(name: "email", type: .string)
                email.isOptional = true
                $0.entities[Self.person].attributes.insert(email, at: 0)
            }
        ),
        (
            "a new required attribute", true,
            { $0.entities[Self.phone].attributes.append(AttributeDraft(name: "kind", type: .integer)) }
        ),
        (
            "new relationships, also between old entities", true,
            {
                $0.entities[Self.person].relationships.append(
                    Self.relationship("folders", "Folder", "owners", isToMany: true)
                )
                $0.entities[Self.folder].relationships.append(
                    Self.relationship("owners", "Person", "folders", isToMany: true)
                )
            }
        ),
        (
            "a one-way relationship that is new", true,
            { $0.entities[Self.phone].relationships.append(Self.relationship("via", "Phone", "")) }
        ),
        (
            "optional, bounds, defaults, labels", true,
            {
                $0.entities[Self.phone].attributes[0].isOptional = true
                $0.entities[Self.person].attributes[0].minimum = .integer(1)
                $0.entities[Self.person].attributes[1].defaultValue = .integer(18)
                $0.entities[Self.person].label = "name"
            }
        ),
        (
            "uniqueness and indexes", true,
            {
                $0.entities[Self.phone].uniquenessConstraints = [["number"]]
                $0.entities[Self.person].indexes = [["age", "name"]]
            }
        ),
        (
            "delete rules and counts", true,
            {
                $0.entities[Self.person].relationships[0].deleteRule = .cascade
                $0.entities[Self.person].relationships[1].maximumCount = 100
                $0.entities[Self.phone].relationships[0].isOptional = false
            }
        ),
        ("an entity becomes abstract", true, { $0.entities[Self.person].isAbstract = true }),
        (
            "an entity that is gone", false,
            {
                $0.entities[Self.person].relationships.remove(at: 0)
                $0.entities.remove(at: Self.phone)
            }
        ),
        ("an attribute that is gone", false, { $0.entities[Self.person].attributes.removeLast() }),
        ("an inherited attribute that is gone", false, { $0.entities[Self.person].attributes.removeFirst() }),
        (
            "a relationship that is gone", false,
            { $0.entities[Self.person].relationships.remove(at: 1) }
        ),
        (
            "an entity with another name", false,
            {
                $0.entities[Self.phone].name = "Telephone"
                $0.entities[Self.phone].renamedFrom = "Phone"
                $0.entities[Self.person].relationships[0].destination = "Telephone"
            }
        ),
        (
            "an attribute with another name", false,
            {
                $0.entities[Self.person].attributes[0].name = "fullName"
                $0.entities[Self.person].attributes[0].renamedFrom = "name"
            }
        ),
        (
            "two attributes with exchanged names", false,
            {
                $0.entities[Self.person].attributes[0].name = "age"
                $0.entities[Self.person].attributes[0].renamedFrom = "name"
                $0.entities[Self.person].attributes[1].name = "name"
                $0.entities[Self.person].attributes[1].renamedFrom = "age"
            }
        ),
        (
            "a relationship with another name", false,
            {
                $0.entities[Self.person].relationships[1].name = "peers"
                $0.entities[Self.person].relationships[1].inverse = "peers"
                $0.entities[Self.person].relationships[1].renamedFrom = "friends"
            }
        ),
        ("an attribute with a wider type", false, { $0.entities[Self.person].attributes[1].type = .integer }),
        ("an order that is gone", false, { $0.entities[Self.person].relationships[0].isOrdered = false }),
        (
            "a hidden inverse that got a name", false,
            {
                $0.entities[Self.person].relationships[2].inverse = "reports"
                $0.entities[Self.employee].relationships = [
                    Self.relationship("reports", "Person", "boss", isToMany: true)
                ]
            }
        ),
        ("another parent", false, { $0.entities[Self.employee].parent = nil }),
        ("a root that is gone", false, { $0.entities[Self.folder].root = nil }),
        (
            "another root object", false,
            { $0.entities[Self.folder].root = (relationship: "parent", object: ObjectID(2)) }
        ),
        (
            "another destination", false,
            {
                $0.entities[Self.person].relationships[2].destination = "Person"
            }
        ),
        (
            "to-one instead of to-many", false,
            {
                $0.entities[Self.person].relationships[0].isToMany = false
                $0.entities[Self.person].relationships[0].isOrdered = false
            }
        ),
    ]
}
