import NestModel
import NestStore
import Testing
import NestSchema

@Suite struct RevertTests {
    private func titles(_ fixture: Fixture) throws -> [AttributeValue] {
        try fixture.export(ObjectID(1)).dropFirst().map { $0.values[0] }
    }

    /// Adjacent rows that one transaction deleted are restored in their order, between neighbours that have changed
    /// since then.
    @Test func adjacentRowsAreRestoredBetweenRemainingRows() throws {
        let fixture = try Fixture()
        let ids = try fixture.perform(
            Fixture.insert("a"),
            Fixture.insert("b"),
            Fixture.insert("c"),
            Fixture.insert("d"),
            Fixture.insert("e")
        )
        let deletion = try #require(
            try fixture.commit {
                _ = try $0.perform(WriteTransaction(mutations: [ids[3], ids[1], ids[2]].map { .delete(.object($0)) }))
            }
        )
        try fixture.perform(Fixture.insert("x", .after(.object(ids[0]))))
        try fixture.revert(deletion.revision)
        #expect(try self.titles(fixture) == ["a", "b", "c", "d", "x", "e"].map { .string($0) })
    }

    /// If the left neighbour has moved elsewhere, the right one decides; if both have, the recorded position.
    @Test func aMissingNeighbourIsReplacedByTheOther() throws {
        let fixture = try Fixture()
        let ids = try fixture.perform(
            Fixture.insert("a"),
            Fixture.insert("b"),
            Fixture.insert("c"),
            Fixture.insert("d")
        )
        let deletion = try #require(
            try fixture.commit { _ = try $0.perform(WriteTransaction(mutations: [.delete(.object(ids[1]))])) }
        )
        try fixture.perform(Fixture.move(ids[0], under: ObjectID(1), .last))
        let undo = try #require(try fixture.revert(deletion.revision))
        // "a" lives in the list, so "b" follows it, wherever it went.
        #expect(try self.titles(fixture) == ["c", "d", "a", "b"].map { .string($0) })
        try fixture.revert(undo.revision)
        try fixture.perform(.delete(.object(ids[0])))
        try fixture.revert(deletion.revision)
        #expect(try self.titles(fixture) == ["b", "c", "d"].map { .string($0) })
    }

    /// A transaction that creates a folder and moves an object into it is undone and redone.
    @Test func movesIntoANewFolderAreUndoneCompletely() throws {
        let fixture = try Fixture()
        let ids = try fixture.perform(Fixture.insert("a"), Fixture.insert("b"))
        let change = try #require(
            try fixture.commit {
                _ = try $0.perform(
                    WriteTransaction(mutations: [
                        Fixture.insert("folder", .first),
                        .move(
                            .object(ids[0]),
                            Placement(relationship: Fixture.parent, owner: .inserted(1), place: .last)
                        ),
                    ])
                )
            }
        )
        let after = try fixture.export(ObjectID(1))
        let undo = try #require(try fixture.revert(change.revision))
        #expect(try fixture.children(ObjectID(1)) == ids)
        try fixture.revert(undo.revision)
        #expect(try fixture.export(ObjectID(1)) == after)
    }

    @Test func conflictingUndosAreRefusedAndChangeNothing() throws {
        let fixture = try Fixture()
        let folder = try fixture.perform(Fixture.insert("folder"))[0]
        let added = fixture.store.head
        try fixture.perform(Fixture.insert("colleague's", under: .object(folder)))
        expectRefusal(.undoConflict) { try fixture.revert(added) }

        let item = try fixture.perform(Fixture.insert("item"))[0]
        let edit = try #require(
            try fixture.commit {
                _ = try $0.perform(
                    WriteTransaction(mutations: [
                        .update(.object(item), values: [PropertyAssignment(Fixture.title, .value(.string("mine")))])
                    ])
                )
            }
        )
        try fixture.perform(
            .update(.object(item), values: [PropertyAssignment(Fixture.title, .value(.string("theirs")))])
        )
        expectRefusal(.undoConflict) { try fixture.revert(edit.revision) }

        let inner = try fixture.perform(Fixture.insert("inner", under: .object(item)))[0]
        let deletion = try #require(
            try fixture.commit { _ = try $0.perform(WriteTransaction(mutations: [.delete(.object(inner))])) }
        )
        try fixture.perform(.delete(.object(item)))
        expectRefusal(.ownerGone) { try fixture.revert(deletion.revision) }
        #expect(try self.titles(fixture) == ["folder", "colleague's"].map { .string($0) })
    }

    /// Another transaction has put the deleted folder's owner under an object that would go back into the folder: a
    /// cycle away from the root.
    @Test func undoMakesNoCycle() throws {
        let fixture = try Fixture()
        let folder = try fixture.perform(Fixture.insert("folder"))[0]
        let owner = try fixture.perform(Fixture.insert("owner"))[0]
        let item = try fixture.perform(Fixture.insert("item", under: .object(folder)))[0]
        try fixture.perform(Fixture.move(folder, under: owner))
        let change = try #require(
            try fixture.commit {
                _ = try $0.perform(
                    WriteTransaction(mutations: [Fixture.move(item, under: ObjectID(1)), .delete(.object(folder))])
                )
            }
        )
        try fixture.perform(Fixture.move(owner, under: item))
        let before = try fixture.export(ObjectID(1))
        expectRefusal(.cycle) { try fixture.revert(change.revision) }
        #expect(try fixture.export(ObjectID(1)) == before)
    }

    /// Two objects swapped their levels: during the undo each is inside the other for a moment.
    @Test func undoSwapsLevelsBack() throws {
        let fixture = try Fixture()
        let ids = try fixture.perform(Fixture.insert("upper"), Fixture.insert("top"))
        let (upper, top) = (ids[0], ids[1])
        let lower = try fixture.perform(Fixture.insert("lower", under: .object(upper)))[0]
        try fixture.perform(Fixture.move(upper, under: top))
        let before = try fixture.export(ObjectID(1))
        let change = try #require(
            try fixture.commit {
                _ = try $0.perform(
                    WriteTransaction(mutations: [
                        Fixture.move(lower, under: ObjectID(1)), Fixture.move(upper, under: lower),
                    ])
                )
            }
        )
        let after = try fixture.export(ObjectID(1))
        let undo = try #require(try fixture.revert(change.revision))
        #expect(try fixture.export(ObjectID(1)) == before)
        try fixture.revert(undo.revision)
        #expect(try fixture.export(ObjectID(1)) == after)
    }
}
