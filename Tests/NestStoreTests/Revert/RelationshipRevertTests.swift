import NestModel
import NestStore
import NestTestSupport
import Testing

/// Undo of changes of relationships other than the outline's; with the limits of a server, and with all deleted and
/// restored objects streamed.
@Suite struct RelationshipRevertTests {
    private func store(_ isStreamed: Bool, _ rule: DeleteRule = .nullify) throws -> NamedStore {
        try NamedStore(
            EntityDraft(
                "Folder",
                [AttributeDraft("name")],
                [
                    RelationshipDraft("above", .one, "Folder", inverse: "below", rule),
                    RelationshipDraft("below", .many, "Folder", inverse: "above"),
                    RelationshipDraft("notes", .many, "Note", inverse: "folder"),
                    RelationshipDraft("pinned", .ordered, "Note", inverse: "pinnedTo"),
                ]
            ),
            EntityDraft(
                "Note",
                [],
                [
                    RelationshipDraft("folder", .one, "Folder", inverse: "notes", rule),
                    RelationshipDraft("pinnedTo", .one, "Folder", inverse: "pinned"),
                    RelationshipDraft("tags", .ordered, "Tag", inverse: "notes", rule),
                ]
            ),
            EntityDraft(
                "Tag",
                [],
                [RelationshipDraft("notes", .ordered, "Note", inverse: "tags") { $0.maximumCount = 5 }]
            )
        ) {
            guard isStreamed else { return }
            $0.streamedFrom = 0
            $0.inlineBytesMax = 0
            $0.orderStep = 2
        }
    }

    /// Undoes the last request, redoes it, and compares the whole graph each time.
    private func expectIdentity(_ store: NamedStore, _ before: NaiveGraph) throws {
        let after = try store.graph()
        for expected in [before, after, before, after] {
            try store.fixture.revert(store.head)
            #expect(try store.graph() == expected)
        }
    }

    /// The undo of an insert deletes nothing else: following the delete rules would reach older objects.
    @Test(arguments: [false, true], DeleteRule.allCases)
    func undoOfAnInsertFollowsNoDeleteRules(_ isStreamed: Bool, _ rule: DeleteRule) throws {
        let store = try self.store(isStreamed, rule)
        let (folder, tag) = (try store.insert("Folder"), try store.insert("Tag"))
        let before = try store.graph()
        try store.perform(
            store.insertion("Note", ["folder": .id(folder), "pinnedTo": .id(folder)]),
            .relate(.inserted(1), store.property("tags", store.entity("Note")), .object(tag), .last),
            store.insertion("Folder", ["above": .id(folder)])
        )
        try self.expectIdentity(store, before)
    }

    /// Objects that a request moved into a new object are moved back. Objects that others have put there since prevent
    /// the undo.
    @Test(arguments: [false, true]) func objectsMovedIntoANewObjectAreMovedBack(_ isStreamed: Bool) throws {
        let store = try self.store(isStreamed)
        let folder = try store.insert("Folder")
        let note = try store.insert("Note", ["folder": .id(folder)])
        let before = try store.graph()
        try store.perform(store.insertion("Folder"), store.edit(.object(note), "Note", ["folder": .result(1)]))
        try self.expectIdentity(store, before)
        let change = store.head
        let new = try #require(try store.ids.last)
        let other = try store.insert("Note", ["pinnedTo": .id(new)])
        expectRefusal(.undoConflict) { try store.fixture.revert(change) }
        #expect(try store.related(new, "pinned") == [other])
    }

    /// An object goes back to the neighbours that it had before the request, not to those that the request's steps gave
    /// it.
    @Test(arguments: [false, true]) func undoRestoresListsReorderedInOneRequest(_ isStreamed: Bool) throws {
        let store = try self.store(isStreamed)
        let folder = try store.insert("Folder")
        let notes = try (0..<5).map { _ in try store.insert("Note", ["pinnedTo": .id(folder)]) }
        let property = try store.property("pinned", of: folder)
        func put(_ note: Int, _ place: Place) -> Mutation {
            .relate(.object(folder), property, .object(notes[note]), place)
        }
        let before = try store.graph()
        try store.perform(put(0, .after(.object(notes[1]))), put(2, .first))
        try self.expectIdentity(store, before)
        try store.fixture.revert(store.head)
        try store.perform(put(1, .last), put(0, .after(.object(notes[3]))), .delete(.object(notes[4])), put(3, .first))
        try self.expectIdentity(store, before)
    }

    /// An object is restored under two owners, of which one was deleted with it; its old neighbours go back next to it.
    @Test(arguments: [false, true]) func objectsWithTwoOwnersAreRestoredFirst(_ isStreamed: Bool) throws {
        let store = try NamedStore(
            EntityDraft("Shelf", [], [RelationshipDraft("books", .ordered, "Book", inverse: "shelf")]),
            EntityDraft("Author", [], [RelationshipDraft("books", .ordered, "Book", inverse: "author")]),
            EntityDraft(
                "Book",
                [],
                [
                    RelationshipDraft("shelf", .one, "Shelf", inverse: "books", .cascade),
                    RelationshipDraft("author", .one, "Author", inverse: "books"),
                ]
            )
        ) {
            if isStreamed { $0.streamedFrom = 0 }
        }
        let (shelf, author) = (try store.insert("Shelf"), try store.insert("Author"))
        let books = try (0..<3).map { _ in try store.insert("Book", ["shelf": .id(shelf), "author": .id(author)]) }
        let before = try store.graph()
        try store.delete(books[1])
        #expect(try store.ids == [author, books[0], books[2]])
        try self.expectIdentity(store, before)
    }

    /// Two new objects, each in a list of the other: neither of them is at the top.
    @Test(arguments: [false, true]) func undoDeletesNewObjectsUnderEachOther(_ isStreamed: Bool) throws {
        let store = try NamedStore(
            EntityDraft(
                "Part",
                [],
                [
                    RelationshipDraft("whole", .one, "Part", inverse: "parts"),
                    RelationshipDraft("parts", .ordered, "Part", inverse: "whole"),
                    RelationshipDraft("box", .one, "Part", inverse: "content"),
                    RelationshipDraft("content", .ordered, "Part", inverse: "box"),
                ]
            )
        ) {
            if isStreamed { $0.streamedFrom = 0 }
        }
        let before = try store.graph()
        try store.perform(
            store.insertion("Part"),
            store.insertion("Part", ["whole": .result(1)]),
            store.edit(.inserted(1), "Part", ["box": .result(2)])
        )
        try self.expectIdentity(store, before)
    }

    @Test(arguments: [false, true]) func undoOfAReferenceToADeletedObjectIsRefused(_ isStreamed: Bool) throws {
        let store = try self.store(isStreamed)
        let (a, b) = (try store.insert("Folder"), try store.insert("Folder"))
        let note = try store.insert("Note", ["folder": .id(a)])
        try store.update(note, ["folder": .id(b)])
        let change = store.head
        try store.delete(a)
        let deletion = store.head
        expectRefusal(.undoConflict) { try store.fixture.revert(change) }
        try store.fixture.revert(deletion)
        try store.fixture.revert(change)
        #expect(try store.related(a, "notes") == [note])
    }

    /// An undo makes no cycle in an unordered hierarchy either.
    @Test(arguments: [false, true]) func undoMakesNoCycle(_ isStreamed: Bool) throws {
        let store = try self.store(isStreamed)
        let (a, b) = (try store.insert("Folder"), try store.insert("Folder"))
        let c = try store.insert("Folder", ["above": .id(a)])
        try store.update(a, ["above": .id(b)])
        try store.update(a, ["above": nil])
        let change = store.head
        try store.update(b, ["above": .id(c)])
        let before = try store.graph()
        expectRefusal(.cycle) { try store.fixture.revert(change) }
        #expect(try store.graph() == before)
        // An object that is restored under an object that is now inside it.
        try store.delete(a)
        let deletion = store.head
        try store.fixture.revert(deletion)
        #expect(try store.graph() == before)
    }

    /// A pair that one request removed and added again exists before and after it.
    @Test(arguments: [false, true]) func undoRestoresRecreatedPairs(_ isStreamed: Bool) throws {
        let store = try self.store(isStreamed)
        let note = try store.insert("Note")
        let tags = try (0..<3).map { _ in try store.insert("Tag") }
        try store.set(note, "tags", tags)
        let before = try store.graph()
        let property = try store.property("tags", of: note)
        try store.perform(
            .unrelate(.object(note), property, .object(tags[1])),
            .relate(.object(note), property, .object(tags[1]), .last)
        )
        try self.expectIdentity(store, before)
    }

    /// Pairs are restored at their positions on both sides, whether one of their objects was deleted or the pair alone.
    @Test(arguments: [false, true]) func pairsAreRestoredAtTheirPositionsOnBothSides(_ isStreamed: Bool) throws {
        let store = try self.store(isStreamed)
        let notes = try (0..<4).map { _ in try store.insert("Note") }
        let tags = try (0..<4).map { _ in try store.insert("Tag") }
        for (index, note) in notes.enumerated() {
            try store.set(note, "tags", index.isMultiple(of: 2) ? tags : tags.reversed())
        }
        let before = try store.graph()
        try store.set(notes[1], "tags", [tags[0]])
        try self.expectIdentity(store, before)
        try store.fixture.revert(store.head)
        try store.delete(tags[1], notes[2])
        try self.expectIdentity(store, before)
        // Pairs of other transactions in between stay where they are.
        try store.fixture.revert(store.head)
        try store.unrelate(notes[0], "tags", tags[2])
        let change = store.head
        try store.relate(notes[0], "tags", tags[3], .first)
        try store.fixture.revert(change)
        #expect(try store.related(notes[0], "tags") == [tags[3], tags[0], tags[1], tags[2]])
        #expect(try store.related(tags[2], "notes") == notes)
    }

    /// Counts are also checked for restored objects, streamed or not.
    @Test(arguments: [false, true]) func undoRespectsTheBoundsOfRelationships(_ isStreamed: Bool) throws {
        let store = try self.store(isStreamed)
        let tag = try store.insert("Tag")
        let notes = try (0..<6).map { _ in try store.insert("Note") }
        try store.set(tag, "notes", Array(notes[0..<5]))
        try store.delete(notes[0], notes[1])
        let deletion = store.head
        try store.relate(tag, "notes", notes[5])
        expectRefusal(.validationFailed) { try store.fixture.revert(deletion) }
        try store.unrelate(tag, "notes", notes[4])
        try store.fixture.revert(deletion)
        #expect(try store.related(tag, "notes") == [notes[0], notes[1], notes[2], notes[3], notes[5]])
    }
}
