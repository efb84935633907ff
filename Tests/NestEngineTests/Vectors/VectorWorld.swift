import NestModel
import NestStore
import NestTestSupport

/// The model and the objects of `predicates.json` and `requests.json`: values of every type, nulls, and relationships
/// of every kind.
enum VectorWorld {
    static let model: ManagedObjectModel = {
        var person = EntityDraft(name: "Person")
        person.attributes = [
            .named("name", .string), .named("age", .integer), .named("level", .integer16), .named("year", .integer32),
            .named("score", .double), .named("ratio", .float), .named("active", .boolean), .named("born", .date),
            .named("photo", .data), .named("key", .uuid), .named("money", .decimal), .named("home", .uri),
            .named("no", .integer), .named("any", .string),
        ]
        person.relationships = [
            .toOne("boss", "Person", "team"), .toMany("team", "Person", "boss", isOrdered: true),
            .toMany("phones", "Phone", "owner"), .toMany("tags", "Tag", "people"),
        ]
        var manager = EntityDraft(name: "Manager")
        manager.parent = "Person"
        manager.attributes = [.named("budget", .double)]
        var phone = EntityDraft(name: "Phone")
        phone.attributes = [.named("number", .string), .named("yes", .boolean)]
        phone.relationships = [.toOne("owner", "Person", "phones")]
        var tag = EntityDraft(name: "Tag")
        tag.attributes = [.named("title", .string)]
        tag.relationships = [.toMany("people", "Person", "tags")]
        return try! ModelDraft(entities: [person, manager, phone, tag]).compile()
    }()

    static var person: EntityDescription { self.model.entity(named: "Person")! }

    /// An object to insert: its values, and what it refers to by the ids of earlier objects.
    struct Draft {
        var entity: String
        var values: [String: AttributeValue]
        var toOne: [String: Int64] = [:]
        var tags: [Int64] = []
    }

    /// The objects in the order of their ids, which begin with 1.
    static let drafts: [Draft] = [
        Draft(entity: "Tag", values: ["title": .string("red")]),
        Draft(entity: "Tag", values: ["title": .string("R\u{e9}d")]),
        Draft(entity: "Tag", values: ["title": .null]),
        Draft(entity: "Tag", values: ["title": .string("")]),
        Draft(
            entity: "Manager",
            values: [
                "name": .string("Ann"), "age": .integer(41), "level": .integer(-3), "year": .integer(2026),
                "score": .double(0), "ratio": .double(0.5), "active": .boolean(true),
                "born": .date(1_769_900_400_000_000), "photo": .data([0x00, 0xff, 0x10]),
                "key": .uuid(Identifier128(hex: "00112233445566778899aabbccddeeff")!), "money": .string("12.5"),
                "home": .string("https://example.org/Ann"), "no": .integer(5), "any": .string("x"),
                "budget": .double(1e6),
            ],
            tags: [1, 2]
        ),
        Draft(
            entity: "Person",
            values: [
                "name": .string("ann"), "age": .integer(0), "level": .integer(0), "year": .integer(-1),
                "score": .double(-1.5), "ratio": .double(0.1), "active": .boolean(false), "born": .date(0),
                "photo": .data([]), "key": .uuid(Identifier128(high: 0, low: 0)), "money": .string("0"),
                "home": .string("https://example.org/a%20b"), "no": .integer(0), "any": .string("YES"),
            ],
            toOne: ["boss": 5],
            tags: [1]
        ),
        Draft(
            entity: "Person",
            values: [
                "name": .string("\u{c4}nn"), "age": .integer(9_007_199_254_740_993), "score": .double(.infinity),
                "ratio": .double(2), "active": .boolean(true), "born": .date(1_774_746_000_000_000),
                "photo": .data([0x00]), "key": .uuid(Identifier128(high: .max, low: .max)), "money": .string("-12.5"),
                "home": .string("urn:x"), "no": .integer(-5),
            ],
            toOne: ["boss": 5],
            tags: [2, 3]
        ),
        Draft(
            entity: "Person",
            values: [
                "name": .string("A\u{308}nn"), "age": .integer(.max), "score": .double(9_007_199_254_740_992),
                "born": .date(-1), "money": .string("123456789012345678901234567890.12345678"),
            ],
            toOne: ["boss": 6],
            tags: [4]
        ),
        Draft(
            entity: "Person",
            values: [
                "name": .string("STRASSE"), "age": .integer(.min), "score": .double(-.infinity),
                "born": .date(1_792_888_200_000_000), "money": .string("0.001"),
            ],
            toOne: ["boss": 6]
        ),
        Draft(
            entity: "Person",
            values: [
                "name": .string("stra\u{df}e"), "age": .integer(-1), "score": .double(.leastNonzeroMagnitude),
                "born": .date(.max), "money": .string("10"),
            ],
            toOne: ["boss": 8]
        ),
        Draft(
            entity: "Person",
            values: [
                "name": .string("\u{39f}\u{394}\u{39f}\u{3a3}"), "age": .integer(2), "score": .double(2),
                "born": .date(.min), "money": .string("2"),
            ],
            toOne: ["boss": 8]
        ),
        Draft(
            entity: "Manager",
            values: [
                "name": .string("\u{3bf}\u{3b4}\u{3bf}\u{3c2}"), "age": .integer(3), "score": .double(2.5),
                "money": .string("-0.001"), "budget": .null,
            ],
            tags: [1, 2, 3, 4]
        ),
        Draft(
            entity: "Person",
            values: [
                "name": .string("\u{130}stanbul"), "age": .integer(10), "score": .double(1e300), "money": .string("9"),
            ],
            toOne: ["boss": 12]
        ),
        Draft(entity: "Person", values: ["name": .string("")], toOne: ["boss": 12]),
        Draft(entity: "Person", values: [:]),
        Draft(
            entity: "Person",
            values: ["name": .string("50% off*?\\ \"now\"\n\ttab"), "any": .string("a*b")],
            toOne: ["boss": 15]
        ),
        Draft(
            entity: "Person",
            values: [
                "name": .string("\u{1f469}\u{200d}\u{1f467} \u{fb01}n \u{2126}"), "any": .string("\u{10ffff}\u{e000}"),
            ]
        ),
        Draft(entity: "Phone", values: ["number": .string("+41 1"), "yes": .boolean(true)], toOne: ["owner": 5]),
        Draft(entity: "Phone", values: ["number": .string("+41 2"), "yes": .boolean(false)], toOne: ["owner": 5]),
        Draft(entity: "Phone", values: ["number": .null, "yes": .null], toOne: ["owner": 6]),
        Draft(entity: "Phone", values: ["number": .string("112")]),
    ]

    /// The transaction that inserts the objects.
    static var mutations: [Mutation] {
        let inserts = self.drafts.map { draft in
            let entity = self.model.entity(named: draft.entity)!
            func assign(_ name: String, _ value: MutationValue) -> PropertyAssignment {
                PropertyAssignment(entity.propertyNumber(named: name)!, value)
            }
            let values = draft.values.sorted { $0.key < $1.key }.map { assign($0.key, .value($0.value)) }
            let toOne = draft.toOne.sorted { $0.key < $1.key }.map {
                assign($0.key, .reference(.inserted(Int($0.value))))
            }
            return Mutation.insert(entity: entity.number, values: values + toOne, placements: [])
        }
        let tags = self.person.propertyNumber(named: "tags")!
        let relates = self.drafts.enumerated().flatMap { index, draft in
            draft.tags.map {
                Mutation.relate(.inserted(index + 1), tags, .inserted(Int($0)), .last)
            }
        }
        return inserts + relates
    }

    /// The objects as the vectors have them, with all their values as stored.
    static func objects(_ naive: NaiveResults) -> [JSONValue] {
        self.drafts.indices.map { index in
            let id = ObjectID(Int64(index + 1))
            let entity = naive.entity(of: id)!
            var values: [String: JSONValue] = [:]
            for attribute in entity.attributes {
                values[attribute.name] = JSONValue(naive.value(attribute.number, of: id))
            }
            var related: [String: JSONValue] = [:]
            for relationship in entity.relationships {
                if relationship.isToMany {
                    related[relationship.name] = JSONValue(
                        list: naive.related(id, relationship).map { .integer($0.rawValue) }
                    )
                } else {
                    values[relationship.name] = JSONValue(naive.value(relationship.number, of: id))
                }
            }
            return [
                "id": .integer(id.rawValue), "entity": .string(entity.name), "values": .object(values),
                "related": .object(related),
            ]
        }
    }

    /// The names and numbers of the model.
    static var names: JSONValue {
        JSONValue(
            list: self.model.entities.map { entity in
                let properties =
                    entity.attributes.map { ($0.name, $0.number) } + entity.relationships.map { ($0.name, $0.number) }
                return [
                    "name": .string(entity.name), "number": .integer(Int64(entity.number.rawValue)),
                    "properties": .object(
                        Dictionary(uniqueKeysWithValues: properties.map { ($0.0, JSONValue($0.1)) })
                    ),
                ]
            }
        )
    }

    static var modelHex: JSONValue {
        var writer = ByteWriter()
        writer.write(model: self.model)
        return .string(Hex.text(writer.bytes))
    }
}
