import NestClient
import NestModel
import Testing

@Suite struct NamedEntityTests {
    private let post: NamedEntity

    init() throws {
        let user = EntityDescription(
            number: 1,
            name: "User",
            attributes: [AttributeDescription(number: 1, name: "name", type: .string)],
            relationships: [
                RelationshipDescription(
                    number: 2,
                    name: "posts",
                    destination: 2,
                    inverse: 3,
                    isToMany: true,
                    deleteRule: .cascade
                )
            ]
        )
        let post = EntityDescription(
            number: 2,
            name: "Post",
            attributes: [
                AttributeDescription(number: 1, name: "title", type: .string),
                AttributeDescription(number: 2, name: "number", type: .double),
            ],
            relationships: [
                RelationshipDescription(number: 3, name: "user", destination: 1, inverse: 2, deleteRule: .nullify)
            ]
        )
        self.post = NamedEntity(post, in: ManagedObjectModel(entities: [user, post]))
    }

    @Test func namedValuesBecomePropertyAssignments() throws {
        let values = try self.post.values(["number": 3, "title": "a", "user": ObjectID(7)])
        #expect(
            values == [
                PropertyAssignment(PropertyNumber(2), .value(.double(3))),
                PropertyAssignment(PropertyNumber(1), .value(.string("a"))),
                PropertyAssignment(PropertyNumber(3), .reference(.object(ObjectID(7)))),
            ]
        )
        #expect(try self.post.values(["title": AttributeValue.null]).map(\.value) == [.value(.null)])
        let error = #expect(throws: NestError.self) { try self.post.values(["Title": "a"]) }
        #expect(error?.code == .unknownProperty && error?.message == "Post has no 'Title'; did you mean title?")
    }

    @Test func rowValuesAreReadByRequestedProperty() throws {
        let asked = try self.post.request(properties: ["user.name", "number", "title"])
        // On the wire, stored properties are first, in model order.
        let named = asked.named(Row(id: ObjectID(1), values: [.string("a"), .double(3), .string("Ann")]))
        #expect(named["number"] == .double(3) && named.names == ["title", "number", "user.name"])
        #expect(named.text("user.name") == "Ann" && named.text("title") == "a")
        #expect(try named.value("number", as: Double.self) == 3 && named.value("title") == Optional("a"))
        let unknown = #expect(throws: NestError.self) { try named.value("titel", as: String.self) }
        #expect(unknown?.code == .unknownProperty)
        #expect(unknown?.message == "the rows have no 'titel'; they have title, number, user.name; did you mean title?")
        let other = #expect(throws: NestError.self) { try named.value("number", as: String.self) }
        #expect(other?.code == .invalid && other?.message == "number of object 1 is double, not String")
        let all = try self.post.request()
        let row = all.named(Row(id: ObjectID(1), values: [.null, .null, .reference(ObjectID(7))]))
        #expect(row["user"] == .reference(ObjectID(7)) && row["title"] == .null && row.text("title") == "")
    }

    @Test func unknownNamesInARequestThrow() throws {
        let request = try self.post.request(where: "number > 1", section: "user.name").request
        #expect(request.section != nil && request.sort.count == 1)
        #expect(throws: PredicateSyntaxError.self) { try self.post.request(where: "numbr > 1") }
        #expect(throws: PredicateSyntaxError.self) { try self.post.request(sort: "user.nme") }
        #expect(throws: NestError.self) { try self.post.request(properties: ["titel"]) }
    }

    @Test func quotedPredicateTextStaysOneValue() throws {
        let typed = "a\" OR \"\\\n"
        let request = try self.post.request(where: "title == \(FetchPredicate.quoted(typed))").request
        #expect(request.predicate.comparisons.map(\.values) == [[.string(typed)]])
    }
}
