import NestModel
import NestStore
import NestTestSupport
import Testing

/// Objects that refer to each other by relationships without an inverse, as most Core Data models have them.
@Suite struct OneWayTests {
    private func store() throws -> NamedStore {
        try NamedStore(
            EntityDraft("Medium", isAbstract: true, [AttributeDraft("title")]),
            EntityDraft("Song", of: "Medium", [], [RelationshipDraft("spouse", .one, "Song", inverse: "")]),
            EntityDraft(
                "List",
                [AttributeDraft("name")],
                [
                    RelationshipDraft("songs", .ordered, "Song", inverse: ""),
                    RelationshipDraft("liked", .many, "Song", inverse: ""),
                    RelationshipDraft("cover", .one, "Medium", inverse: ""),
                    RelationshipDraft("first", .one, "Song", inverse: "") { $0.isOptional = false },
                    RelationshipDraft("intro", .one, "Song", inverse: "", .cascade),
                ]
            )
        )
    }

    @Test func objectsOfEveryKindAreStored() throws {
        let store = try self.store()
        let songs = try (1...3).map { try store.insert("Song", ["title": .value(.string("song \($0)"))]) }
        let list = try store.insert("List", ["name": "A", "first": .id(songs[0]), "cover": .id(songs[2])])
        try store.set(list, "songs", [songs[2], songs[0], songs[1]])
        try store.relate(list, "songs", songs[1], .first)
        try store.set(list, "liked", [songs[1]])
        #expect(try store.related(list, "songs") == [songs[1], songs[2], songs[0]])
        #expect(try store.related(songs[1], "nest_inverse_List_liked") == [list])
        // Any number of objects may refer to one.
        let other = try store.insert("List", ["first": .id(songs[0]), "cover": .id(songs[2])])
        #expect(try store.related(songs[0], "nest_inverse_List_first") == [list, other])
    }

    @Test func deletingTheDestinationClearsTheReference() throws {
        let store = try self.store()
        let songs = try (1...3).map { _ in try store.insert("Song") }
        let list = try store.insert("List", ["first": .id(songs[0]), "cover": .id(songs[1]), "intro": .id(songs[2])])
        try store.set(list, "songs", [songs[1], songs[2]])
        try store.delete(songs[1])
        #expect(try store.related(list, "cover").isEmpty)
        #expect(try store.related(list, "songs") == [songs[2]])
        // A required reference keeps its destination, as an inverse with the delete rule nullify does.
        #expect(try store.faults(.delete(.object(songs[0]))) == ["List.first required"])
        // The relationship's own delete rule follows it forwards.
        try store.delete(list)
        #expect(try store.ids == [songs[0]])
    }

    /// Core Data has no hierarchies: A may refer to B, and B to A.
    @Test func oneWayReferencesMayFormCircles() throws {
        let store = try self.store()
        let a = try store.insert("Song")
        let b = try store.insert("Song", ["spouse": .id(a)])
        try store.update(a, ["spouse": .id(b)])
        try store.update(b, ["spouse": .id(b)])
        try store.update(b, ["spouse": .id(a)])
        #expect(try store.related(a, "spouse") == [b])
        let c = try store.insert("Song", ["spouse": .id(a)])
        try store.delete(a)
        #expect(try store.related(c, "spouse").isEmpty)
        // With an inverse it is a hierarchy.
        let tree = try NamedStore(
            EntityDraft(
                "Song",
                [],
                [
                    RelationshipDraft("above", .one, "Song", inverse: "below"),
                    RelationshipDraft("below", .many, "Song", inverse: "above"),
                ]
            )
        )
        let top = try tree.insert("Song")
        let below = try tree.insert("Song", ["above": .id(top)])
        expectRefusal(.cycle) { try tree.update(top, ["above": .id(below)]) }
    }

    /// The destination does not own the object, so the object returns without it.
    @Test func undoRestoresAnObjectWhoseDestinationIsGone() throws {
        let store = try self.store()
        let songs = try (1...2).map { _ in try store.insert("Song") }
        let list = try store.insert("List", ["name": "A", "first": .id(songs[0]), "cover": .id(songs[1])])
        try store.delete(list)
        let deletion = store.head
        try store.delete(songs[1])
        expectRefusal(.undoConflict) { try store.fixture.revert(deletion, UndoOptions(policy: .strict)) }
        try store.fixture.revert(deletion, UndoOptions())
        #expect(try store.related(list, "cover").isEmpty)
        #expect(try store.related(list, "first") == [songs[0]])
        // A required destination must be there.
        try store.delete(list)
        let second = store.head
        try store.delete(songs[0])
        expectRefusal(.ownerGone) { try store.fixture.revert(second, UndoOptions()) }
    }

    @Test func aRequiredToManyMayBeEmpty() throws {
        let store = try NamedStore(
            EntityDraft(
                "A",
                [],
                [
                    RelationshipDraft("free", .many, "B", inverse: "") { $0.isOptional = false },
                    RelationshipDraft("bound", .many, "B", inverse: "") {
                        $0.isOptional = false
                        $0.minimumCount = 1
                    },
                ]
            ),
            EntityDraft("B")
        )
        #expect(try store.faults(store.insertion("A")) == ["A.bound required"])
        let b = try store.insert("B")
        let relation = store.property("bound", store.entity("A"))
        let ids = try store.perform(store.insertion("A"), .relate(.inserted(1), relation, .object(b), .last))
        try store.relate(ids[0], "free", b)
        try store.unrelate(ids[0], "free", b)
        #expect(try store.related(ids[0], "free").isEmpty)
        #expect(try store.faults(.unrelate(.object(ids[0]), relation, .object(b))) == ["A.bound required"])
    }
}
