import NestModel
import Testing

@Suite struct UniquenessTests {
    private func store() throws -> NamedStore {
        try NamedStore(
            EntityDraft(
                "Thing",
                isAbstract: true,
                [AttributeDraft("code"), AttributeDraft("name")],
                unique: [["code"]]
            ),
            EntityDraft("Book", of: "Thing", [AttributeDraft("shelf", .integer)], unique: [["name", "shelf"]]),
            EntityDraft("Film", of: "Thing"),
            EntityDraft("Novel", of: "Book")
        )
    }

    @Test func uniquenessAppliesToAllSubentities() throws {
        let store = try self.store()
        let book = try store.insert("Book", ["code": "a", "name": "n", "shelf": 1])
        expectRefusal(.notUnique) { _ = try store.insert("Film", ["code": "a"]) }
        expectRefusal(.notUnique) { _ = try store.insert("Novel", ["name": "n", "shelf": 1]) }
        // A null is equal to nothing, and films have no shelf.
        for _ in 0..<2 { _ = try store.insert("Film", ["name": "n"]) }
        for _ in 0..<2 { _ = try store.insert("Book", ["name": "n"]) }
        let novel = try store.insert("Novel", ["code": "b", "name": "n", "shelf": 2])
        #expect(
            try store.faults(store.edit(.object(novel), "Novel", ["code": "a", "shelf": 1])) == [
                "Novel.code notUnique", "Novel.name notUnique",
            ]
        )
        // Bytes, not letters: two forms of one letter are two values.
        try store.update(book, ["code": "\u{e9}"])
        try store.update(novel, ["code": "e\u{301}"])
    }

    @Test func uniqueValuesCanBeSwappedInOneBatch() throws {
        let store = try self.store()
        let a = try store.insert("Book", ["code": "a"])
        let b = try store.insert("Film", ["code": "b"])
        expectRefusal(.notUnique) { try store.update(a, ["code": "b"]) }
        try store.perform(store.edit(.object(a), "Book", ["code": "b"]), store.edit(.object(b), "Film", ["code": "a"]))
        #expect(try store.value(a, "code") == .string("b") && store.value(b, "code") == .string("a"))
        // The swap is undone as one entry.
        try store.fixture.revert(store.head)
        #expect(try store.value(a, "code") == .string("a") && store.value(b, "code") == .string("b"))
    }

    @Test func duplicatesWithinARequestAreReportedOnce() throws {
        let store = try self.store()
        #expect(
            try store.faults(store.insertion("Book", ["code": "x"]), store.insertion("Film", ["code": "x"]))
                == ["Book.code notUnique"]
        )
    }

    /// Another object has taken the value since: the undo of the deletion is refused and changes nothing.
    @Test func undoIsRefusedIfAUniqueValueIsTaken() throws {
        let store = try self.store()
        let book = try store.insert("Book", ["code": "a"])
        try store.delete(book)
        let deletion = store.head
        let film = try store.insert("Film", ["code": "a"])
        expectRefusal(.notUnique) { try store.fixture.revert(deletion) }
        #expect(try store.ids == [film])
        try store.update(film, ["code": nil])
        try store.fixture.revert(deletion)
        #expect(try store.value(book, "code") == .string("a"))
    }
}
