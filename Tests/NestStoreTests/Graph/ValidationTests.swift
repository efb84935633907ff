import NestModel
import NestStore
import Testing

@Suite struct ValidationTests {
    private func assign(_ property: UInt16, _ value: AttributeValue) -> PropertyAssignment {
        PropertyAssignment(PropertyNumber(property), .value(value))
    }

    /// A refusal names every fault, and nothing is written.
    @Test func refusalsNameEveryFault() throws {
        let fixture = try Fixture()
        do {
            try fixture.perform(
                .insert(
                    entity: Fixture.item,
                    values: [
                        self.assign(1, .null), self.assign(2, .integer(3)), self.assign(3, .string("yes")),
                        self.assign(6, .null), self.assign(77, .null),
                    ],
                    placements: []
                )
            )
            Issue.record("not refused")
        } catch StoreError.refused(let error) {
            for word in ["title", "note", "done", "children", "77"] {
                #expect(error.message.contains(word), "\(error)")
            }
        }
        #expect(fixture.store.head == Revision(0))
    }

    @Test func valuesOutOfBoundsAreRefused() throws {
        let fixture = try Fixture()
        let id = try fixture.perform(Fixture.insert("a"))[0]
        let long = String(repeating: "x", count: Limits.valueBytesMax)
        try fixture.perform(.update(.object(id), values: [self.assign(1, .string(long))]))
        expectRefusal(.valueTooLarge) {
            try fixture.perform(.update(.object(id), values: [self.assign(1, .string(long + "x"))]))
        }
        expectRefusal(.invalidText) {
            try fixture.perform(.update(.object(id), values: [self.assign(1, .string("a\0b"))]))
        }
        expectRefusal(.notFound) {
            try fixture.perform(.update(.object(ObjectID(99)), values: [self.assign(1, .string(""))]))
        }
        expectRefusal(.unknownEntity) {
            try fixture.perform(.insert(entity: EntityNumber(9), values: [], placements: []))
        }
        expectRefusal(.validationFailed) { try fixture.perform(.update(.object(id), values: [self.assign(5, .null)])) }
        expectRefusal(.notFound) {
            try fixture.perform(.update(.object(id), values: [self.assign(5, .reference(ObjectID(99)))]))
        }
        expectRefusal(.invalid) { try fixture.perform(.update(.inserted(1), values: [])) }
    }

    /// The limit applies to all strings and data of an object together.
    @Test func objectBytesAreLimited() throws {
        let count = Limits.objectBytesMax / Limits.valueBytesMax
        var draft = EntityDraft(name: "Page")
        draft.attributes = (0...count).map { AttributeDraft(name: "a\($0)", type: .string) }
        let store = try NamedStore(draft)
        let page = store.entity("Page")
        func values(_ bytes: Int) -> [PropertyAssignment] {
            (0...count).map { index in
                let size = min(Limits.valueBytesMax, max(0, bytes - index * Limits.valueBytesMax))
                let text = AttributeValue.string(String(repeating: "x", count: size))
                return PropertyAssignment(store.property("a\(index)", page), .value(text))
            }
        }
        func insert(_ bytes: Int) throws {
            try store.fixture.perform(.insert(entity: page.number, values: values(bytes), placements: []))
        }
        try insert(Limits.objectBytesMax - 1)
        try insert(Limits.objectBytesMax)
        expectRefusal(.valueTooLarge) { try insert(Limits.objectBytesMax + 1) }
    }

    /// Strings are compared by bytes: two forms of the same letter are two values. "" satisfies required.
    @Test func stringsAreComparedByBytes() throws {
        let fixture = try Fixture()
        let id = try fixture.perform(Fixture.insert("\u{e9}"))[0]
        let head = fixture.store.head
        try fixture.perform(.update(.object(id), values: [self.assign(1, .string("e\u{301}"))]))
        #expect(fixture.store.head == head.next)
        try fixture.perform(.update(.object(id), values: [self.assign(1, .string(""))]))
        #expect(fixture.store.head == head.next.next)
    }

    /// If one step of a batch fails, no step has an effect.
    @Test func aBatchIsAllOrNothing() throws {
        let fixture = try Fixture()
        expectRefusal(.notFound) {
            try fixture.perform(
                Fixture.insert("a"),
                Fixture.insert("b", under: .inserted(1)),
                .delete(.object(ObjectID(42)))
            )
        }
        #expect(try fixture.children(ObjectID(1)).isEmpty)
        let ids = try fixture.perform(Fixture.insert("a"), Fixture.insert("b", under: .inserted(1)))
        #expect(try fixture.children(ids[0]) == [ids[1]])
    }

    @Test func aPreconditionMeansUnchangedSince() throws {
        let fixture = try Fixture()
        let id = try fixture.perform(Fixture.insert("a"))[0]
        let seen = fixture.store.head
        func edit(_ title: String, since revision: Revision) throws {
            try fixture.commit {
                _ = try $0.perform(
                    WriteTransaction(
                        preconditions: [Precondition(object: id, revision: revision)],
                        mutations: [.update(.object(id), values: [self.assign(1, .string(title))])]
                    )
                )
            }
        }
        try edit("b", since: seen)
        expectRefusal(.conflict) { try edit("c", since: seen) }
        // Adding a child does not change its parent.
        try fixture.perform(Fixture.insert("child", under: .object(id)))
        try edit("d", since: seen.next)
    }
}
