import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// A forced undo deletes only objects that are inside the objects that it removes, and reports all of them.
@Suite struct ForcedUndoTests {
    static let force = UndoOptions(policy: .force)
    static let rehome = UndoOptions(policy: .force, rehomes: true)

    /// Ann moves an object out of its owner and inserts a new object. Bob moves the owner into the new object.
    private func moveOut(_ orchard: Orchard) throws -> (top: ObjectID, old: ObjectID, moved: ObjectID, new: ObjectID) {
        let (top, children) = try orchard.family("old", "other")
        let moved = try orchard.insert(orchard.bob, "Node", ["title": "x", "parent": children[0]])
        try orchard.insert(orchard.bob, "Node", ["title": "inside", "parent": moved])
        let model = try ModelDraft.orchard.compile()
        let parent = model.number("Node", "parent")
        func placement(_ owner: ObjectID) -> Placement {
            Placement(relationship: parent, owner: .object(owner), place: .last)
        }
        let title = PropertyAssignment(model.number("Node", "title"), .value(.string("new")))
        let new = try orchard.fixture.write(
            orchard.ann,
            [
                .insert(entity: model.number("Node"), values: [title], placements: [placement(top)]),
                .move(.object(moved), placement(children[1])),
            ]
        ).insertedIDs[0]
        try orchard.move(orchard.bob, children[0], under: new)
        return (top, children[0], moved, new)
    }

    @Test func objectsAreNotMovedBackIntoOwnersThatTheUndoDeletes() throws {
        for (options, answer, owner) in [
            (Self.force, "done: ownerGone parent, lost", "other"), (Self.rehome, "done: rehomed parent, lost", "top"),
        ] {
            let orchard = try Orchard()
            let (_, old, moved, new) = try self.moveOut(orchard)
            #expect(try orchard.undo(orchard.ann) == "UNDO_CONFLICT")
            #expect(try orchard.undo(orchard.ann, options) == answer)
            #expect(try orchard.text(moved, "parent") == owner)
            #expect(try orchard.list(moved, "children") == "inside")
            #expect(try [old, new].map { try orchard.text($0, "title") } == ["gone", "gone"])
            #expect(try orchard.redo(orchard.ann, UndoOptions(policy: .strict)) == "done")
            #expect(try orchard.text(moved, "parent") == "other")
            #expect(try orchard.text(old, "parent") == "new")
        }
    }

    @Test func thePreviewHasTheSameConflicts() throws {
        let orchard = try Orchard()
        _ = try self.moveOut(orchard)
        guard let preview = try orchard.take(.previewUndo(.undo, Self.rehome), orchard.ann).preview else {
            Issue.record("no preview")
            return
        }
        #expect(preview.deletedCount == 2)
        #expect(try orchard.take(.undo(key: nil, Self.rehome), orchard.ann).receipt?.conflicts == preview.conflicts)
    }

    /// The undo moves an owner out of the inserted object with its contents, and loses nothing.
    @Test func ownersThatTheUndoMovesOutAreKept() throws {
        let orchard = try Orchard()
        let (top, children) = try orchard.family("old", "x")
        let model = try ModelDraft.orchard.compile()
        let parent = model.number("Node", "parent")
        let title = PropertyAssignment(model.number("Node", "title"), .value(.string("new")))
        let into = Placement(relationship: parent, owner: .inserted(1), place: .last)
        try orchard.fixture.write(
            orchard.ann,
            [
                .insert(
                    entity: model.number("Node"),
                    values: [title],
                    placements: [Placement(relationship: parent, owner: .object(top), place: .last)]
                ),
                .move(.object(children[0]), into), .move(.object(children[1]), into),
            ]
        )
        try orchard.move(orchard.bob, children[1], under: children[0])
        #expect(try orchard.undo(orchard.ann, Self.force) == "done: overwritten parent")
        #expect(try orchard.list(top, "children") == "old x")
    }

    /// The undo cannot restore a deleted object into an owner that it deletes. Without rehoming it is refused.
    @Test func deletedObjectsAreNotRestoredIntoOwnersThatTheUndoDeletes() throws {
        for (options, answer, left) in [
            (Self.force, "OWNER_GONE", "gone"), (Self.rehome, "done: rehomed parent, lost", "top"),
        ] {
            let orchard = try Orchard()
            let (top, children) = try orchard.family("old")
            let deleted = try orchard.insert(orchard.bob, "Node", ["title": "x", "parent": children[0]])
            let new = Orchard.insert("Node", ["title": "new", "parent": top], in: orchard)
            let id = try orchard.fixture.write(orchard.ann, [new, .delete(.object(deleted))]).insertedIDs[0]
            try orchard.move(orchard.bob, children[0], under: id)
            #expect(try orchard.undo(orchard.ann, options) == answer)
            #expect(try orchard.text(deleted, "parent") == left)
        }
    }

    /// In an entry of several transactions, the undo of an older one deletes the owner that a newer one would move an
    /// object back into.
    @Test func objectsAreNotMovedIntoOwnersThatAnOlderTransactionInserted() throws {
        let orchard = try Orchard()
        let (top, children) = try orchard.family("old", "other")
        let moved = try orchard.insert(orchard.bob, "Node", ["title": "x", "parent": children[0]])
        _ = try orchard.take(.beginGroup(name: nil, joined: nil), orchard.ann)
        let new = try orchard.insert(orchard.ann, "Node", ["title": "new", "parent": top])
        try orchard.move(orchard.ann, moved, under: children[1])
        try orchard.move(orchard.bob, children[0], under: new)
        #expect(try orchard.undo(orchard.ann, Self.force) == "done: ownerGone parent, lost")
        #expect(try orchard.text(moved, "parent") == "other")
    }

    /// An entry moves an object into its own insert and from there to another owner. The undo moves it back to its
    /// first owner without a conflict.
    @Test func objectsMovedThroughAnInsertedOwnerAreNotConflicts() throws {
        let orchard = try Orchard()
        let (top, children) = try orchard.family("old", "other")
        let moved = try orchard.insert(orchard.bob, "Node", ["title": "x", "parent": children[0]])
        _ = try orchard.take(.beginGroup(name: nil, joined: nil), orchard.ann)
        let new = try orchard.insert(orchard.ann, "Node", ["title": "new", "parent": top])
        try orchard.move(orchard.ann, moved, under: new)
        try orchard.move(orchard.ann, moved, under: children[1])
        #expect(try orchard.undo(orchard.ann, Self.force) == "done")
        #expect(try orchard.text(moved, "parent") == "old")
    }

    /// The same applies if the entry deletes the object there.
    @Test func objectsDeletedFromAnInsertedOwnerAreRestored() throws {
        let orchard = try Orchard()
        let (top, children) = try orchard.family("old")
        let moved = try orchard.insert(orchard.bob, "Node", ["title": "x", "parent": children[0]])
        _ = try orchard.take(.beginGroup(name: nil, joined: nil), orchard.ann)
        let new = try orchard.insert(orchard.ann, "Node", ["title": "new", "parent": top])
        try orchard.move(orchard.ann, moved, under: new)
        try orchard.delete(orchard.ann, moved)
        #expect(try orchard.undo(orchard.ann, Self.force) == "done")
        #expect(try orchard.text(moved, "parent") == "old")
    }

    /// An older transaction would move the object out again, but only after the undo has deleted it with the inserted
    /// owner.
    @Test func objectsAreNotMovedBackIfTheUndoWouldDeleteThem() throws {
        let orchard = try Orchard()
        let (top, children) = try orchard.family("old", "other", "third")
        let moved = try orchard.insert(orchard.bob, "Node", ["title": "x", "parent": children[0]])
        _ = try orchard.take(.beginGroup(name: nil, joined: nil), orchard.ann)
        try orchard.move(orchard.ann, moved, under: children[1])
        let new = try orchard.insert(orchard.ann, "Node", ["title": "new", "parent": top])
        try orchard.move(orchard.bob, moved, under: new)
        try orchard.move(orchard.ann, moved, under: children[2])
        let answer = try orchard.undo(orchard.ann, Self.force)
        #expect(answer.hasPrefix("done: "))
        #expect(try orchard.text(new, "title") == "gone")
        #expect(try orchard.text(moved, "parent") == "old")
        #expect(try orchard.redo(orchard.ann, UndoOptions(policy: .strict)) == "done")
        #expect(try orchard.text(moved, "parent") == "third")
    }

    /// Bob assigns a leader to Ann's group, and then Ann assigns another. The undo does not restore Bob's leader, whom
    /// it would delete with the group.
    @Test func aForcedUndoKeepsThePartnersOfOthers() throws {
        let model = try ModelDraft.club.compile()
        let fixture = try EngineFixture(model: model, isVolatile: true)
        let (ann, bob) = (try fixture.connect(session: 1), try fixture.connect(session: 2))
        func insert(_ client: SimulatedClient, _ entity: String, _ values: [PropertyAssignment] = []) throws -> ObjectID
        {
            let step = Mutation.insert(entity: model.number(entity), values: values, placements: [])
            return try #require(try fixture.write(client, [step]).firstInserted)
        }
        let leads = model.number("Person", "leads")
        func leading(_ group: ObjectID) -> PropertyAssignment {
            PropertyAssignment(leads, .reference(.object(group)))
        }
        let bobs = try insert(bob, "Person")
        _ = try fixture.ask(ann, .beginGroup(name: nil, joined: nil))
        let group = try insert(ann, "Group")
        try fixture.write(bob, [.update(.object(bobs), values: [leading(group)])])
        let anns = try insert(ann, "Person", [leading(group)])
        let receipt = try #require(try fixture.ask(ann, .undo(key: nil, Self.force)).receipt)
        #expect(receipt.isChanged)
        let store = fixture.store
        func isThere(_ id: ObjectID) throws -> Bool { try store.access { try store.object(id) } != nil }
        #expect(try [bobs, anns, group].map { try isThere($0) } == [true, false, false])
    }

    // MARK: Reported conflicts

    /// The conflict names the last change of the lost object and the object's label.
    @Test func lostObjectsAreReportedWithTheirLastChange() throws {
        let orchard = try Orchard()
        let node = try orchard.insert(orchard.ann, "Node", ["title": "oak"])
        let inside = try orchard.insert(orchard.bob, "Node", ["title": "seed", "parent": node])
        let revision = orchard.fixture.store.head
        let conflicts = try #require(try orchard.take(.undo(key: nil, Self.force), orchard.ann).receipt).conflicts
        #expect(conflicts.count == 1)
        let conflict = try #require(conflicts.listed.first)
        #expect(conflict.reason == .lost && conflict.object == inside && conflict.property == nil)
        #expect(conflict.label == "seed" && conflict.revision == revision && conflict.sessionNumber == 2)
    }

    /// Conflicts beyond the limit of the list are counted.
    @Test func conflictsBeyondTheListAreCounted() throws {
        let orchard = try Orchard()
        let node = try orchard.insert(orchard.ann, "Node", ["title": "oak"])
        let seed = Orchard.insert("Node", ["title": "seed", "parent": node], in: orchard)
        let count = Limits.undoConflictsMax + 7
        try orchard.fixture.write(orchard.bob, [Mutation](repeating: seed, count: count))
        let conflicts = try #require(try orchard.take(.undo(key: nil, Self.force), orchard.ann).receipt).conflicts
        #expect(conflicts.count == count && conflicts.listed.count == Limits.undoConflictsMax)
        #expect(conflicts.listed.allSatisfy { $0.reason == .lost })
    }

    /// Remaining objects lose their reference, partner or pair that led to a deleted object.
    @Test func lostReferencesToDeletedObjectsAreReported() throws {
        let orchard = try Orchard()
        let node = try orchard.insert(orchard.ann, "Node", ["title": "oak"])
        let inside = try orchard.insert(orchard.bob, "Node", ["title": "seed", "parent": node])
        let (partner, tag) = try (
            orchard.insert(orchard.bob, "Node", ["title": "elm", "partner": inside]),
            orchard.insert(orchard.bob, "Tag", ["name": "small"])
        )
        try orchard.tag(orchard.bob, inside, tag)
        #expect(
            try orchard.undo(orchard.ann, Self.force) == "done: lost, overwritten partner, overwritten nodes"
        )
        #expect(try orchard.text(partner, "partner") == "-")
        #expect(try orchard.list(tag, "nodes") == "")
    }
}
