import NestModel
import NestStore
import NestTestSupport
import Testing

@Suite struct FindOrCreateTests {
    private func store() throws -> NamedStore {
        try NamedStore(
            EntityDraft(
                "User",
                [
                    AttributeDraft("name") { _ in }, AttributeDraft("mail"),
                    AttributeDraft("level", .integer) { $0.defaultValue = .integer(1) },
                ],
                [RelationshipDraft("phones", .ordered, "Phone", inverse: "user", .cascade)]
            ),
            EntityDraft("Admin", of: "User"),
            EntityDraft(
                "Phone",
                [AttributeDraft("number") { _ in }, AttributeDraft("price", .decimal)],
                [RelationshipDraft("user", .one, "User", inverse: "phones") { $0.isOptional = false }]
            ),
            EntityDraft("Shape", isAbstract: true, [AttributeDraft("name")]),
            EntityDraft("Circle", of: "Shape")
        )
    }

    @Test func theFirstMatchIsFoundAndNotChanged() throws {
        let store = try self.store()
        let ids = try (0..<2).map { try store.insert("User", ["name": "ann", "mail": .value(.string("\($0)"))]) }
        let admin = try store.insert("Admin", ["name": "bob"])
        let head = store.head
        #expect(try store.perform(store.search("User", ["name": "ann"], creating: ["level": 9])) == [ids[0]])
        #expect(try store.perform(store.search("User", ["name": "ann", "mail": "1"])) == [ids[1]])
        // An object of a sub-entity is found, an object of a parent entity is not.
        #expect(try store.perform(store.search("User", ["name": "bob", "mail": nil])) == [admin])
        #expect(store.head == head)
        let new = try store.perform(store.search("Admin", ["name": "ann"], creating: ["level": 2]))
        #expect(new != [ids[0]])
        #expect(try store.graph().entity(of: new[0]).name == "Admin")
        #expect(try store.value(new[0], "level") == .integer(2) && store.value(new[0], "mail") == .null)
    }

    /// Steps of a batch can refer to found and to created objects alike. The receipt states which of them were found.
    @Test func stepsCanReferToFoundAndCreatedObjects() throws {
        let store = try self.store()
        let ann = try store.insert("User", ["name": "ann"])
        let result = try store.run([
            store.search("User", ["name": "ann"]),
            store.search("Phone", ["number": "1", "user": .result(1)]),
            store.search("User", ["name": "zoe"]),
            store.search("Phone", ["number": "1", "user": .result(3)]),
            store.search("Phone", ["number": "1", "user": .result(1)]),
            store.search("User", ["name": "zoe"]),
        ])
        let ids = result.resultIDs
        #expect(ids[0] == ann && ids[4] == ids[1] && ids[5] == ids[2] && Set(ids).count == 4)
        #expect(
            result.runs.flatMap { run in run.ids.map { _ in run.isFound } } == [true, false, false, false, true, true]
        )
        #expect(try store.related(ann, "phones") == [ids[1]] && store.related(ids[2], "phones") == [ids[3]])
    }

    @Test func matchValuesAreComparedInStoredForm() throws {
        let store = try self.store()
        let ann = try store.insert("User", ["name": "ann"])
        let phone = try store.insert("Phone", ["number": "1", "user": .id(ann), "price": "12.50"])
        #expect(
            try store.perform(store.search("Phone", ["price": "+012.5"], creating: ["number": "2", "user": .id(ann)]))
                == [phone]
        )
    }

    /// Values that are needed only to create are checked in any case. Values that are missing are reported only if an
    /// object is created.
    @Test func validityDoesNotDependOnExistingObjects() throws {
        let store = try self.store()
        let ann = try store.insert("User", ["name": "ann"])
        let phone = try store.insert("Phone", ["number": "1", "user": .id(ann)])
        #expect(try store.perform(store.search("Phone", ["number": "1"])) == [phone])
        #expect(try store.faults(store.search("Phone", ["number": "2"])) == ["Phone.user required"])
        #expect(
            try store.faults(store.search("Phone", ["number": "1"], creating: ["price": "x", "user": .id(phone)]))
                == ["Phone.price text", "Phone.user destination"]
        )
        #expect(
            try store.faults(store.search("Phone", ["number": "1"], creating: ["number": "1"])) == [
                "Phone.number setTwice"
            ]
        )
        expectRefusal(.invalid) { try store.perform(store.search("Phone", [:])) }
        expectRefusal(.notFound) {
            try store.perform(store.search("Phone", ["number": "1", "user": .id(ObjectID(99))]))
        }
    }

    @Test func objectsOfAnAbstractEntityAreFoundButNotCreated() throws {
        let store = try self.store()
        expectRefusal(.invalid) { _ = try store.insert("Shape", ["name": "x"]) }
        expectRefusal(.invalid) { try store.perform(store.search("Shape", ["name": "x"])) }
        let circle = try store.insert("Circle", ["name": "x"])
        #expect(try store.perform(store.search("Shape", ["name": "x"])) == [circle])
    }
}
