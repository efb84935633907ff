import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

/// A refusal lists all faults of all steps, but not the faults that one step caused in another.
@Suite struct FaultTests {
    private func store() throws -> NamedStore {
        try NamedStore(
            EntityDraft(
                "User",
                [AttributeDraft("name") { _ in }, AttributeDraft("age", .integer) { $0.minimum = .integer(0) }],
                [
                    RelationshipDraft("phones", .ordered, "Phone", inverse: "user") {
                        $0.isOptional = false
                        $0.minimumCount = 1
                        $0.maximumCount = 2
                    }
                ],
                unique: [["name"]]
            ),
            EntityDraft(
                "Phone",
                [AttributeDraft("number") { _ in }, AttributeDraft("note")],
                [RelationshipDraft("user", .one, "User", inverse: "phones") { $0.isOptional = false }]
            )
        )
    }

    /// A store of a model without rules that are checked only at the end of a request.
    private func plainStore() throws -> NamedStore {
        try NamedStore(
            EntityDraft(
                "User",
                [AttributeDraft("name") { _ in }],
                [RelationshipDraft("phones", .many, "Phone", inverse: "user")]
            ),
            EntityDraft(
                "Phone",
                [AttributeDraft("number") { _ in }, AttributeDraft("note")],
                [RelationshipDraft("user", .one, "User", inverse: "phones") { $0.isOptional = false }]
            )
        )
    }

    private func user(_ store: NamedStore, _ name: MutationValue) -> [Mutation] {
        [
            store.insertion("User", ["name": name, "age": 3]),
            store.insertion("Phone", ["number": "1", "user": .result(1)]),
        ]
    }

    @Test func refusedBatchesListAllFaults() throws {
        let store = try self.store()
        let ids = try store.run(self.user(store, "ann")).resultIDs
        let head = store.head
        #expect(
            try store.faults(
                store.edit(.object(ids[0]), "User", ["age": -1, "name": 5]),
                store.insertion("Phone", ["number": nil, "user": .id(ids[0])]),
                store.insertion("User", ["name": "ann", "age": 1]),
                store.insertion("Phone", ["note": .value(.data([])), "user": .id(ids[1])]),
                store.edit(.inserted(3), "Phone", ["note": 1])
            ) == [
                "Phone.note type", "Phone.number required", "Phone.user destination", "User.age range",
                "User.name notUnique",
                "User.name type", "User.phones required",
            ]
        )
        #expect(store.head == head)
    }

    /// A single insert also reports its missing values. If all faults are of one kind, the code is the code of that
    /// kind.
    @Test func refusedInsertsListAllFaults() throws {
        for store in [try self.store(), try self.plainStore()] {
            #expect(
                try store.faults(store.insertion("Phone", ["note": 7])) == [
                    "Phone.note type", "Phone.number required", "Phone.user required",
                ]
            )
            #expect(
                try store.faults(store.insertion("Phone", ["number": nil])) == [
                    "Phone.number required", "Phone.user required",
                ]
            )
            #expect(
                try store.faults(store.insertion("Phone", ["number": "1", "note": 1, "user": .id(ObjectID(99))]))
                    == ["Phone.note type", "Phone.user destination"]
            )
            expectRefusal(.notFound) { _ = try store.insert("Phone", ["number": "1", "user": .id(ObjectID(99))]) }
        }
        let plain = try self.plainStore()
        expectRefusal(.unknownProperty) { _ = try plain.insert("User", ["name": "1", "nothing": 1]) }
        expectRefusal(.unknownProperty) { _ = try plain.insert("User", ["name": "1", "phones": nil]) }
    }

    /// Uniqueness, counts and missing values are checked together.
    @Test func faultsFoundAtTheEndAreReportedTogether() throws {
        let store = try self.store()
        let ids = try store.run(self.user(store, "ann")).resultIDs
        #expect(
            try store.faults(store.insertion("User", ["name": "ann"])) == [
                "User.age required", "User.name notUnique", "User.phones required",
            ]
        )
        #expect(try store.faults(.delete(.object(ids[1]))) == ["User.phones required"])
        #expect(try store.faults(.delete(.object(ids[0]))) == ["Phone.user required"])
        let more = (0..<2).map { _ in store.insertion("Phone", ["number": "2", "user": .id(ids[0])]) }
        #expect(try store.faults(more[0], more[1]) == ["User.phones range"])
        expectRefusal(.notUnique) { try store.run(self.user(store, "ann")) }
        let phone = try store.property("phones", of: ids[0])
        #expect(
            try store.faults(.setRelated(.object(ids[0]), phone, [])) == [
                "Phone.user required", "User.phones required",
            ]
        )
    }

    /// All objects that a list releases and that need an owner.
    @Test func allObjectsThatNeedAnOwnerAreReported() throws {
        let store = try self.plainStore()
        let user = try store.insert("User", ["name": "ann"])
        let phones = try (0..<3).map {
            try store.insert("Phone", ["number": .value(.string("\($0)")), "user": .id(user)])
        }
        let property = try store.property("phones", of: user)
        do {
            try store.perform(.setRelated(.object(user), property, [.object(phones[1])]))
            Issue.record("not refused")
        } catch StoreError.refused(let error) {
            #expect(error.faults.map(\.object) == [phones[0], phones[2]])
        }
    }

    /// A refused step does nothing. Faults of other steps that use its result, or lack it, are not reported.
    @Test func consequencesOfAFaultAreNotReported() throws {
        let store = try self.store()
        let ids = try store.run(self.user(store, "ann")).resultIDs
        #expect(
            try store.faults(
                store.insertion("Phone", ["number": 1, "user": .id(ids[0])]),
                store.insertion("Phone", ["number": "2", "user": .id(ids[0])]),
                store.edit(.inserted(1), "Phone", ["number": "3"]),
                store.edit(.inserted(2), "Phone", ["number": 4]),
                .delete(.inserted(1))
            ) == ["Phone.number type", "Phone.number type"]
        )
        // A missing object after another fault: only the fault is reported.
        #expect(
            try store.faults(
                store.edit(.object(ids[1]), "Phone", ["number": 1]),
                .delete(.object(ObjectID(99)))
            ) == ["Phone.number type"]
        )
    }

    /// The next request of a group does not see the objects of a refused one, and may get the same ids.
    @Test func aRefusedRequestLeavesNothingInItsGroup() throws {
        let store = try self.plainStore()
        let user = try store.insert("User", ["name": "ann"])
        let next = ObjectID(user.rawValue + 1)
        var codes: [ErrorCode] = []
        try store.fixture.inGroup { group in
            for mutations in [
                [
                    store.insertion("User", ["name": "zoe"]),
                    store.insertion("Phone", ["number": "1", "user": .result(1)]),
                    store.insertion("Phone", ["number": "2"]),
                ], [store.insertion("Phone", ["number": "1", "user": .id(next)])],
            ] {
                do {
                    _ = try group.request(inSavepoint: true) { graph in
                        _ = try graph.perform(WriteTransaction(mutations: mutations))
                        return Fixture.description
                    }
                } catch StoreError.refused(let error) {
                    codes.append(error.code)
                }
            }
        }
        #expect(codes == [.validationFailed, .notFound])
        #expect(try store.ids == [user])
    }

    /// The states between the steps of a batch may be invalid.
    @Test func batchesAreValidatedAtTheirEnd() throws {
        let store = try self.store()
        let ids = try store.run(self.user(store, "ann")).resultIDs
        try store.perform(
            store.edit(.object(ids[0]), "User", ["name": nil]),
            store.insertion("User", ["name": "ann"]),
            store.edit(.object(ids[0]), "User", ["name": "zoe"]),
            .delete(.inserted(1)),
            store.edit(.object(ids[1]), "Phone", ["user": nil]),
            .relate(.object(ids[0]), try store.property("phones", of: ids[0]), .object(ids[1]), .last)
        )
        #expect(try store.value(ids[0], "name") == .string("zoe"))
        // An object that was changed and changed back has not changed: a precondition on it still holds.
        let head = store.head
        try store.perform(
            store.edit(.object(ids[1]), "Phone", ["number": "9"]),
            store.edit(.object(ids[1]), "Phone", ["number": "1"]),
            store.edit(.object(ids[0]), "User", ["age": 4])
        )
        #expect(
            try store.fixture.store.access { try store.fixture.store.object(ids[1])?.row.revision } ?? head.next <= head
        )
    }
}
