import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// The table of conflicts in section 8 of protocol.md, row by row: a later change, and the result of each policy.
@Suite struct UndoConflictTests {
    // MARK: Values

    @Test func aChangedValueConflicts() throws {
        try Orchard.check(
            keep: ("done: edited title", "Bob's, Ann's note gone"),
            force: ("done: overwritten title", "oak, Ann's note gone"),
            strict: ("UNDO_CONFLICT", "Bob's, Ann's note")
        ) { orchard in
            let (ann, bob) = (orchard.ann, orchard.bob)
            let node = try orchard.insert(bob, "Node", ["title": "oak"])
            let both = ["title": "Ann's", "note": "Ann's note"]
            let properties = both.sorted { $0.key < $1.key }
            let model = try ModelDraft.orchard.compile()
            try orchard.fixture.write(
                ann,
                [
                    .update(
                        .object(node),
                        values: properties.map {
                            PropertyAssignment(model.number("Node", $0.key), .value(.string($0.value)))
                        }
                    )
                ]
            )
            try orchard.set(bob, node, "title", "Bob's")
            return {
                let note = try orchard.text(node, "note")
                return "\(try orchard.text(node, "title")), \(note == "-" ? "Ann's note gone" : note)"
            }
        }
    }

    /// Others who wrote the same value cause no conflict, nor does a value that is already the one that the undo would
    /// restore.
    @Test func equalValuesDoNotConflict() throws {
        try Orchard.check(keep: ("done", "oak"), force: ("done", "oak"), strict: ("done", "oak")) { orchard in
            let node = try orchard.insert(orchard.bob, "Node", ["title": "oak"])
            try orchard.set(orchard.ann, node, "title", "elm")
            try orchard.set(orchard.bob, node, "title", "Bob's")
            try orchard.set(orchard.bob, node, "title", "elm")
            return { try orchard.text(node, "title") }
        }
        try Orchard.check(keep: ("nothing", "oak"), force: ("nothing", "oak"), strict: ("nothing", "oak")) { orchard in
            let node = try orchard.insert(orchard.bob, "Node", ["title": "oak"])
            try orchard.set(orchard.ann, node, "title", "elm")
            try orchard.set(orchard.bob, node, "title", "oak")
            return { try orchard.text(node, "title") }
        }
    }

    @Test func aDeletedObjectThatTheEntryChangedConflicts() throws {
        try Orchard.check(
            keep: ("nothing: deleted", "gone"),
            force: ("nothing: deleted", "gone"),
            strict: ("UNDO_CONFLICT", "gone")
        ) { orchard in
            let node = try orchard.insert(orchard.bob, "Node", ["title": "oak"])
            try orchard.set(orchard.ann, node, "title", "elm")
            try orchard.delete(orchard.bob, node)
            return { try orchard.text(node, "title") }
        }
    }

    // MARK: Positions

    @Test func anObjectMovedToAnotherOwnerConflicts() throws {
        try Orchard.check(
            keep: ("nothing: moved parent", "three"),
            force: ("done: overwritten parent", "one"),
            strict: ("UNDO_CONFLICT", "three")
        ) { orchard in
            let owners = try ["one", "two", "three"].map { try orchard.insert(orchard.bob, "Node", ["title": $0]) }
            let child = try orchard.insert(orchard.bob, "Node", ["title": "c", "parent": owners[0]])
            try orchard.move(orchard.ann, child, under: owners[1])
            try orchard.move(orchard.bob, child, under: owners[2])
            return { try orchard.text(child, "parent") }
        }
    }

    @Test func anObjectMovedAgainInItsOrderConflicts() throws {
        try Orchard.check(
            keep: ("nothing: moved parent", "b a c"),
            force: ("done: overwritten parent", "a b c"),
            strict: ("UNDO_CONFLICT", "b a c")
        ) { orchard in
            let (top, children) = try orchard.family("a", "b", "c")
            try orchard.move(orchard.ann, children[0], under: top, .last)
            try orchard.move(orchard.bob, children[0], under: top, .after(.object(children[1])))
            return { try orchard.list(top, "children") }
        }
    }

    /// Moves of its siblings are not conflicts. The object returns to its old neighbour.
    @Test func movedSiblingsDoNotConflict() throws {
        try Orchard.check(keep: ("done", "d a b c"), force: ("done", "d a b c"), strict: ("done", "d a b c")) {
            orchard in
            let (top, children) = try orchard.family("a", "b", "c", "d")
            try orchard.move(orchard.ann, children[1], under: top, .last)
            try orchard.move(orchard.bob, children[3], under: top, .first)
            return { try orchard.list(top, "children") }
        }
    }

    @Test func aMovedObjectWhoseOldOwnerIsDeletedConflicts() throws {
        try Orchard.check(
            keep: ("nothing: ownerGone parent", "c under other"),
            force: ("nothing: ownerGone parent", "c under other"),
            strict: ("UNDO_CONFLICT", "c under other"),
            rehome: ("done: rehomed parent", "c under top")
        ) { orchard in
            let (_, children) = try orchard.family("old", "other", title: "top")
            let child = try orchard.insert(orchard.bob, "Node", ["title": "c", "parent": children[0]])
            try orchard.move(orchard.ann, child, under: children[1])
            try orchard.delete(orchard.bob, children[0])
            return { "c under \(try orchard.text(child, "parent"))" }
        }
    }

    // MARK: Inserted objects

    @Test func aDeletedInsertConflicts() throws {
        try Orchard.check(
            keep: ("nothing: deleted", "gone"),
            force: ("nothing: deleted", "gone"),
            strict: ("UNDO_CONFLICT", "gone")
        ) { orchard in
            let node = try orchard.insert(orchard.ann, "Node", ["title": "oak"])
            try orchard.delete(orchard.bob, node)
            return { try orchard.text(node, "title") }
        }
    }

    @Test func anEditedInsertConflicts() throws {
        try Orchard.check(
            keep: ("UNDO_CONFLICT", "Bob's"),
            force: ("done: lost", "gone"),
            strict: ("UNDO_CONFLICT", "Bob's")
        ) { orchard in
            let node = try orchard.insert(orchard.ann, "Node", ["title": "oak"])
            try orchard.set(orchard.bob, node, "title", "Bob's")
            return { try orchard.text(node, "title") }
        }
    }

    @Test func aMovedInsertConflicts() throws {
        try Orchard.check(
            keep: ("UNDO_CONFLICT", "c a"),
            force: ("done: lost", "a"),
            strict: ("UNDO_CONFLICT", "c a")
        ) { orchard in
            let (top, _) = try orchard.family("a")
            let child = try orchard.insert(orchard.ann, "Node", ["title": "c", "parent": top])
            try orchard.move(orchard.bob, child, under: top, .first)
            return { try orchard.list(top, "children") }
        }
    }

    /// A forced undo also deletes later objects inside the inserted one. The redo restores both.
    @Test func anInsertWithLaterContentsConflicts() throws {
        try Orchard.check(
            keep: ("UNDO_CONFLICT", "Bob's: seed"),
            force: ("done: lost, lost", "gone: gone"),
            strict: ("UNDO_CONFLICT", "Bob's: seed")
        ) { orchard in
            let node = try orchard.insert(orchard.ann, "Node", ["title": "oak"])
            let inside = try orchard.insert(orchard.bob, "Node", ["title": "Bob's", "parent": node])
            try orchard.insert(orchard.bob, "Node", ["title": "seed", "parent": inside])
            return { "\(try orchard.text(inside, "title")): \(try orchard.list(inside, "children"))" }
        }
    }

    /// Objects that refer to the inserted one without a cascade remain and lose the reference.
    @Test func anInsertWithLaterReferencesConflicts() throws {
        try Orchard.check(
            keep: ("UNDO_CONFLICT", "Ann"),
            force: ("done: overwritten keeper", "-"),
            strict: ("UNDO_CONFLICT", "Ann")
        ) { orchard in
            let node = try orchard.insert(orchard.bob, "Node", ["title": "oak"])
            let person = try orchard.insert(orchard.ann, "Person", ["name": "Ann"])
            try orchard.set(orchard.bob, node, "keeper", person)
            return { try orchard.text(node, "keeper") }
        }
        try Orchard.check(
            keep: ("UNDO_CONFLICT", "tall"),
            force: ("done: overwritten tags", ""),
            strict: ("UNDO_CONFLICT", "tall")
        ) { orchard in
            let node = try orchard.insert(orchard.bob, "Node", ["title": "oak"])
            let tag = try orchard.insert(orchard.ann, "Tag", ["name": "tall"])
            try orchard.tag(orchard.bob, node, tag)
            return { try orchard.list(node, "tags") }
        }
    }

    // MARK: Deleted objects

    /// The object is restored with its contents, position and relationships.
    @Test func aDeletedObjectIsRestoredWithItsContents() throws {
        let left = "a b c: d e, kept by Ann, tall"
        try Orchard.check(keep: ("done", left), force: ("done", left), strict: ("done", left)) { orchard in
            let (ann, bob) = (orchard.ann, orchard.bob)
            let (top, children) = try orchard.family("a", "b", "c")
            for title in ["d", "e"] { try orchard.insert(bob, "Node", ["title": title, "parent": children[1]]) }
            let person = try orchard.insert(bob, "Person", ["name": "Ann"])
            try orchard.set(bob, children[1], "keeper", person)
            try orchard.tag(bob, children[1], try orchard.insert(bob, "Tag", ["name": "tall"]))
            try orchard.delete(ann, children[1])
            return {
                let inside = try orchard.list(children[1], "children")
                let keeper = try orchard.text(children[1], "keeper")
                let tags = try orchard.list(children[1], "tags")
                return "\(try orchard.list(top, "children")): \(inside), kept by \(keeper), \(tags)"
            }
        }
    }

    @Test func anObjectThatOthersRestoredConflicts() throws {
        try Orchard.check(
            keep: ("nothing: present", "oak"),
            force: ("nothing: present", "oak"),
            strict: ("UNDO_CONFLICT", "oak")
        ) { orchard in
            let node = try orchard.insert(orchard.bob, "Node", ["title": "oak"])
            try orchard.delete(orchard.ann, node)
            let revision = orchard.fixture.store.head
            let revert = EngineRequest.revert(key: nil, UndoOptions(), revision, ofAnyone: true)
            #expect(try orchard.words(orchard.take(revert, orchard.bob)) == "done")
            return { try orchard.text(node, "title") }
        }
    }

    @Test func aDeletedObjectWhoseOwnerIsDeletedConflicts() throws {
        try Orchard.check(
            keep: ("OWNER_GONE", "gone, last: z"),
            force: ("OWNER_GONE", "gone, last: z"),
            strict: ("OWNER_GONE", "gone, last: z"),
            rehome: ("done: rehomed parent", "top, last: z c")
        ) { orchard in
            let (top, children) = try orchard.family("old", "z", title: "top")
            let inner = try orchard.insert(orchard.bob, "Node", ["title": "inner", "parent": children[0]])
            let child = try orchard.insert(orchard.bob, "Node", ["title": "c", "parent": inner])
            try orchard.delete(orchard.ann, child)
            // Deletes two levels, one after the other.
            try orchard.delete(orchard.bob, inner)
            try orchard.delete(orchard.bob, children[0])
            return { "\(try orchard.text(child, "parent")), last: \(try orchard.list(top, "children"))" }
        }
    }

    /// Without a hierarchy there is no other owner. An optional reference stays empty. An object with a required
    /// reference is not restored.
    @Test func aDeletedObjectWithADeletedReferenceConflicts() throws {
        try Orchard.check(
            keep: ("OWNER_GONE", "gone"),
            force: ("OWNER_GONE", "gone"),
            strict: ("OWNER_GONE", "gone"),
            rehome: ("done: ownerGone keeper", "-")
        ) { orchard in
            let person = try orchard.insert(orchard.bob, "Person", ["name": "Bob"])
            let node = try orchard.insert(orchard.bob, "Node", ["title": "oak", "keeper": person])
            try orchard.delete(orchard.ann, node)
            try orchard.delete(orchard.bob, person)
            return { try orchard.text(node, "keeper") }
        }
        try Orchard.check(
            keep: ("OWNER_GONE", "gone"),
            force: ("OWNER_GONE", "gone"),
            strict: ("OWNER_GONE", "gone"),
            rehome: ("OWNER_GONE", "gone")
        ) { orchard in
            let person = try orchard.insert(orchard.bob, "Person", ["name": "Bob"])
            let guest = try orchard.insert(orchard.bob, "Guest", ["name": "Cid", "host": person])
            try orchard.delete(orchard.ann, guest)
            try orchard.delete(orchard.bob, person)
            return { try orchard.text(guest, "name") }
        }
    }
}

extension Orchard {
    /// Inserts, as Bob, a node with children of these titles.
    func family(_ titles: String..., title: String = "top") throws -> (top: ObjectID, children: [ObjectID]) {
        let top = try self.insert(self.bob, "Node", ["title": title])
        return (top, try titles.map { try self.insert(self.bob, "Node", ["title": $0, "parent": top]) })
    }
}
