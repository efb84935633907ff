import NestModel
import Testing
import NestSchema

/// Every delete rule on every kind of relationship, from the side whose object is deleted.
@Suite struct DeleteRuleTests {
    /// A and B in one relationship, with a rule on A's side.
    private func store(_ near: RelationshipDraft.Kind, _ far: RelationshipDraft.Kind, _ rule: DeleteRule) throws
        -> NamedStore
    {
        try NamedStore(
            EntityDraft("A", [], [RelationshipDraft("b", near, "B", inverse: "a", rule)]),
            EntityDraft("B", [], [RelationshipDraft("a", far, "A", inverse: "b")])
        )
    }

    static let shapes: [(RelationshipDraft.Kind, RelationshipDraft.Kind)] = [
        (.one, .one), (.one, .many), (.one, .ordered), (.many, .one), (.ordered, .one), (.many, .many),
        (.ordered, .many),
        (.many, .ordered), (.ordered, .ordered),
    ]

    private func join(_ store: NamedStore, _ a: ObjectID, _ b: ObjectID) throws {
        if try store.property("b", of: a) == store.entity("A").relationships.first(where: { $0.isToMany })?.number {
            try store.relate(a, "b", b)
        } else {
            try store.update(a, ["b": .id(b)])
        }
    }

    @Test(arguments: Self.shapes) func nullifyKeepsTheRelatedObject(
        _ near: RelationshipDraft.Kind,
        _ far: RelationshipDraft.Kind
    )
        throws
    {
        let store = try self.store(near, far, .nullify)
        let (a, b) = (try store.insert("A"), try store.insert("B"))
        try self.join(store, a, b)
        #expect(try store.related(b, "a") == [a])
        try store.delete(a)
        #expect(try store.ids == [b])
        #expect(try store.related(b, "a").isEmpty)
    }

    @Test(arguments: Self.shapes) func cascadeDeletesTheRelatedObject(
        _ near: RelationshipDraft.Kind,
        _ far: RelationshipDraft.Kind
    )
        throws
    {
        let store = try self.store(near, far, .cascade)
        let (a, b) = (try store.insert("A"), try store.insert("B"))
        try self.join(store, a, b)
        let other = try store.insert("B")
        try store.delete(a)
        #expect(try store.ids == [other])
    }

    @Test(arguments: Self.shapes) func denyRefusesDeletion(
        _ near: RelationshipDraft.Kind,
        _ far: RelationshipDraft.Kind
    )
        throws
    {
        let store = try self.store(near, far, .deny)
        let (a, b) = (try store.insert("A"), try store.insert("B"))
        try self.join(store, a, b)
        let head = store.head
        expectRefusal(.deleteDenied) { try store.delete(a) }
        #expect(try store.ids == [a, b])
        #expect(store.head == head)
        // Once the other object is deleted nothing denies the deletion, even in the same request.
        try store.run([.delete(.object(b)), .delete(.object(a))])
        #expect(try store.ids.isEmpty)
    }

    /// A denial in a cascade counts the objects that are left after the whole cascade: an object that is deleted too
    /// denies nothing.
    @Test func denyIsCheckedAfterTheCascade() throws {
        let store = try NamedStore(
            EntityDraft(
                "Project",
                [],
                [
                    RelationshipDraft("tasks", .many, "Task", inverse: "project", .cascade),
                    RelationshipDraft("people", .many, "Person", inverse: "project", .cascade),
                ]
            ),
            EntityDraft(
                "Person",
                [],
                [
                    RelationshipDraft("project", .one, "Project", inverse: "people"),
                    RelationshipDraft("tasks", .many, "Task", inverse: "owner", .deny),
                ]
            ),
            EntityDraft(
                "Task",
                [],
                [
                    RelationshipDraft("project", .one, "Project", inverse: "tasks"),
                    RelationshipDraft("owner", .one, "Person", inverse: "tasks"),
                ]
            )
        )
        let project = try store.insert("Project")
        let person = try store.insert("Person", ["project": .id(project)])
        let inside = try store.insert("Task", ["project": .id(project), "owner": .id(person)])
        let outside = try store.insert("Task", ["owner": .id(person)])
        expectRefusal(.deleteDenied) { try store.delete(project) }
        #expect(try store.ids == [project, person, inside, outside])
        try store.update(outside, ["owner": nil])
        try store.delete(project)
        #expect(try store.ids == [outside])
    }

    /// Tags cascade to their notes, and notes to their tags: all connected objects are deleted.
    @Test func cascadesFollowManyToManyRelationships() throws {
        let store = try NamedStore(
            EntityDraft("Note", [], [RelationshipDraft("tags", .ordered, "Tag", inverse: "notes", .cascade)]),
            EntityDraft("Tag", [], [RelationshipDraft("notes", .many, "Note", inverse: "tags", .cascade)])
        )
        let notes = try (0..<4).map { _ in try store.insert("Note") }
        let tags = try (0..<4).map { _ in try store.insert("Tag") }
        for index in 0..<3 {
            try store.relate(notes[index], "tags", tags[index])
            if index < 2 { try store.relate(notes[index + 1], "tags", tags[index]) }
        }
        try store.relate(notes[3], "tags", tags[3])
        let before = try store.graph()
        let changes = try store.run([.delete(.object(tags[1]))]).changes
        #expect(try store.ids == [notes[3], tags[3]])
        #expect(changes?.deletedCount == 11, "six objects and five pairs")
        let undo = try #require(try store.fixture.revert(store.head))
        #expect(try store.graph() == before)
        try store.fixture.revert(undo.revision)
        #expect(try store.ids == [notes[3], tags[3]])
    }

    /// A required to-one relationship has lost its object: this is reported at the end of the request, which may set
    /// another object.
    @Test func nullifiedRequiredReferencesAreRefusedUnlessSetAgain() throws {
        let store = try NamedStore(
            EntityDraft("A", [], [RelationshipDraft("b", .many, "B", inverse: "a")]),
            EntityDraft("B", [], [RelationshipDraft("a", .one, "A", inverse: "b") { $0.isOptional = false }])
        )
        let (a, other) = (try store.insert("A"), try store.insert("A"))
        let b = try store.insert("B", ["a": .id(a)])
        #expect(try store.faults(.delete(.object(a))) == ["B.a required"])
        try store.perform(.delete(.object(a)), store.edit(.object(b), "B", ["a": .id(other)]))
        #expect(try store.related(other, "b") == [b])
    }
}
