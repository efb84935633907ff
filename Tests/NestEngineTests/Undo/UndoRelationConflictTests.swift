import NestEngine
import NestModel
import NestTestSupport
import Testing

/// The table of conflicts in section 8 of protocol.md: partners, pairs, and constraints of the model.
@Suite struct UndoRelationConflictTests {
    // MARK: One to one

    /// Both objects have a conflict.
    @Test func aDeletedPartnerConflicts() throws {
        try Orchard.check(
            keep: ("nothing: ownerGone badge, deleted", "-"),
            force: ("nothing: ownerGone badge, deleted", "-"),
            strict: ("UNDO_CONFLICT", "-")
        ) { orchard in
            let badge = try orchard.insert(orchard.bob, "Badge", ["number": "7"])
            let person = try orchard.insert(orchard.bob, "Person", ["name": "Bob", "badge": badge])
            try orchard.set(orchard.ann, person, "badge", nil)
            try orchard.delete(orchard.bob, badge)
            return { try orchard.text(person, "badge") }
        }
    }

    @Test func aPartnerWithAnotherPartnerConflicts() throws {
        try Orchard.check(
            keep: ("nothing: edited badge, edited holder", "-, Cid"),
            force: ("done: overwritten holder, overwritten badge", "7, Bob"),
            strict: ("UNDO_CONFLICT", "-, Cid")
        ) { orchard in
            let badge = try orchard.insert(orchard.bob, "Badge", ["number": "7"])
            let person = try orchard.insert(orchard.bob, "Person", ["name": "Bob", "badge": badge])
            let other = try orchard.insert(orchard.bob, "Person", ["name": "Cid"])
            try orchard.set(orchard.ann, person, "badge", nil)
            try orchard.set(orchard.bob, other, "badge", badge)
            return { "\(try orchard.text(person, "badge")), \(try orchard.text(badge, "holder"))" }
        }
    }

    /// An entry inserts a badge for one person and then assigns it to another. Bob assigns it to the first person
    /// again. His assignment and the badge remain.
    @Test func partnersThatOthersJoinedAgainAreKept() throws {
        try Orchard.check(
            keep: ("UNDO_CONFLICT", "7, -"),
            force: ("done", "-, -"),
            strict: ("UNDO_CONFLICT", "7, -")
        ) { orchard in
            let person = try orchard.insert(orchard.bob, "Person", ["name": "Bob"])
            let other = try orchard.insert(orchard.bob, "Person", ["name": "Cid"])
            _ = try orchard.take(.beginGroup(name: nil, joined: nil), orchard.ann)
            let badge = try orchard.insert(orchard.ann, "Badge", ["number": "7", "holder": person])
            try orchard.set(orchard.ann, other, "badge", badge)
            _ = try orchard.take(.endGroup, orchard.ann)
            try orchard.set(orchard.bob, person, "badge", badge)
            return { "\(try orchard.text(person, "badge")), \(try orchard.text(other, "badge"))" }
        }
    }

    /// An object is restored without its partner if the partner has another one.
    @Test func aDeletedObjectWhosePartnerHasAnotherConflicts() throws {
        try Orchard.check(
            keep: ("done: edited partner, edited partner", "oak -, elm ash"),
            force: ("done: overwritten partner, overwritten partner", "oak elm, elm oak"),
            strict: ("UNDO_CONFLICT", "oak gone, elm ash")
        ) { orchard in
            let oak = try orchard.insert(orchard.bob, "Node", ["title": "oak"])
            let elm = try orchard.insert(orchard.bob, "Node", ["title": "elm", "partner": oak])
            let ash = try orchard.insert(orchard.bob, "Node", ["title": "ash"])
            try orchard.delete(orchard.ann, oak)
            try orchard.set(orchard.bob, ash, "partner", elm)
            return { "oak \(try orchard.text(oak, "partner")), elm \(try orchard.text(elm, "partner"))" }
        }
    }

    // MARK: Pairs

    /// The pair is already gone, as the undo would leave it.
    @Test func aRemovedPairDoesNotConflict() throws {
        try Orchard.check(keep: ("nothing", ""), force: ("nothing", ""), strict: ("nothing", "")) { orchard in
            let node = try orchard.insert(orchard.bob, "Node", ["title": "oak"])
            let tag = try orchard.insert(orchard.bob, "Tag", ["name": "tall"])
            try orchard.tag(orchard.ann, node, tag)
            try orchard.untag(orchard.bob, node, tag)
            return { try orchard.list(node, "tags") }
        }
    }

    @Test func aPairThatOthersRestoredDoesNotConflict() throws {
        try Orchard.check(keep: ("nothing", "tall"), force: ("nothing", "tall"), strict: ("nothing", "tall")) {
            orchard in
            let node = try orchard.insert(orchard.bob, "Node", ["title": "oak"])
            let tag = try orchard.insert(orchard.bob, "Tag", ["name": "tall"])
            try orchard.tag(orchard.bob, node, tag)
            try orchard.untag(orchard.ann, node, tag)
            try orchard.tag(orchard.bob, node, tag)
            return { try orchard.list(node, "tags") }
        }
    }

    @Test func aRemovedPairWithADeletedObjectConflicts() throws {
        try Orchard.check(
            keep: ("nothing: ownerGone tags", ""),
            force: ("nothing: ownerGone tags", ""),
            strict: ("UNDO_CONFLICT", "")
        ) { orchard in
            let node = try orchard.insert(orchard.bob, "Node", ["title": "oak"])
            let tag = try orchard.insert(orchard.bob, "Tag", ["name": "tall"])
            try orchard.tag(orchard.bob, node, tag)
            try orchard.untag(orchard.ann, node, tag)
            try orchard.delete(orchard.bob, tag)
            return { try orchard.list(node, "tags") }
        }
    }

    @Test func aPairMovedInItsOrderConflicts() throws {
        try Orchard.check(
            keep: ("nothing: moved tags", "tall old"),
            force: ("done: overwritten tags", "old"),
            strict: ("UNDO_CONFLICT", "tall old")
        ) { orchard in
            let node = try orchard.insert(orchard.bob, "Node", ["title": "oak"])
            let (old, tall) = try (
                orchard.insert(orchard.bob, "Tag", ["name": "old"]),
                orchard.insert(orchard.bob, "Tag", ["name": "tall"])
            )
            try orchard.tag(orchard.bob, node, old)
            try orchard.tag(orchard.ann, node, tall)
            try orchard.tag(orchard.bob, node, tall, .first)
            return { try orchard.list(node, "tags") }
        }
    }

    /// One transaction replaces a pair by an equal one, which is then moved. The new pair remains, and the old one is
    /// not restored beside it.
    @Test func aReplacedPairMovedInItsOrderConflicts() throws {
        try Orchard.check(
            keep: ("nothing: moved tags", "tall old"),
            force: ("done: overwritten tags", "tall old"),
            strict: ("UNDO_CONFLICT", "tall old")
        ) { orchard in
            let node = try orchard.insert(orchard.bob, "Node", ["title": "oak"])
            let (tall, old) = try (
                orchard.insert(orchard.bob, "Tag", ["name": "tall"]),
                orchard.insert(orchard.bob, "Tag", ["name": "old"])
            )
            for tag in [tall, old] { try orchard.tag(orchard.bob, node, tag) }
            let tags = try ModelDraft.orchard.compile().number("Node", "tags")
            try orchard.fixture.write(
                orchard.ann,
                [
                    .unrelate(.object(node), tags, .object(tall)),
                    .relate(.object(node), tags, .object(tall), .last),
                ]
            )
            try orchard.tag(orchard.bob, node, tall, .first)
            return { try orchard.list(node, "tags") }
        }
    }

    /// In an entry of several transactions, the older ones leave the values alone that the newest leaves, at both ends.
    @Test func valuesThatTheNewestTransactionKeepsAreKeptByOlderOnes() throws {
        let orchard = try Orchard()
        let (ann, bob) = (orchard.ann, orchard.bob)
        let nodes = try ["a", "b", "c"].map { try orchard.insert(bob, "Node", ["title": $0]) }
        _ = try orchard.take(.beginGroup(name: nil, joined: nil), ann)
        try orchard.set(ann, nodes[0], "partner", nodes[1])
        try orchard.set(bob, nodes[1], "partner", nodes[2])
        try orchard.set(ann, nodes[1], "partner", nil)
        try orchard.set(bob, nodes[1], "partner", nodes[0])
        #expect(try orchard.undo(ann).hasPrefix("nothing: "))
        #expect(try nodes.map { try orchard.text($0, "partner") } == ["b", "a", "-"])
    }

    // MARK: Constraints of the model

    @Test func anUndoThatWouldCloseACycleIsRefused() throws {
        let same = (answer: "CYCLE", left: "a in b in -")
        try Orchard.check(keep: same, force: same, strict: same) { orchard in
            let (top, children) = try orchard.family("a", "b")
            // b was under a. Then a moved under b.
            try orchard.move(orchard.bob, children[1], under: children[0])
            try orchard.set(orchard.ann, children[1], "parent", nil)
            try orchard.move(orchard.bob, children[0], under: children[1])
            _ = top
            return {
                let above = try orchard.text(children[0], "parent")
                return "a in \(above) in \(try orchard.text(children[1], "parent"))"
            }
        }
    }

    @Test func anUndoThatWouldDuplicateAUniqueValueIsRefused() throws {
        let same = (answer: "NOT_UNIQUE", left: "-, 1")
        try Orchard.check(keep: same, force: same, strict: same) { orchard in
            let one = try orchard.insert(orchard.bob, "Node", ["title": "one", "code": "1"])
            try orchard.set(orchard.ann, one, "code", nil)
            let other = try orchard.insert(orchard.bob, "Node", ["title": "other", "code": "1"])
            return { "\(try orchard.text(one, "code")), \(try orchard.text(other, "code"))" }
        }
    }

    @Test func aForcedUndoRespectsDenyRules() throws {
        try Orchard.check(
            keep: ("UNDO_CONFLICT", "oak"),
            force: ("DELETE_DENIED", "oak"),
            strict: ("UNDO_CONFLICT", "oak")
        ) { orchard in
            let box = try orchard.insert(orchard.ann, "Box", ["name": "crate"])
            try orchard.insert(orchard.bob, "Node", ["title": "oak", "box": box])
            return { try orchard.list(box, "held") }
        }
    }

    /// Objects that the same undo deletes deny nothing.
    @Test func aForcedUndoMayDeleteObjectsThatDenyEachOther() throws {
        let orchard = try Orchard()
        let box = Orchard.insert("Box", ["name": "crate"], in: orchard)
        let node = Orchard.insert("Node", ["title": "oak"], in: orchard)
        let held = try ModelDraft.orchard.compile().number("Box", "held")
        let steps = [box, node, .relate(.inserted(1), held, .inserted(2), .last)]
        let ids = try orchard.fixture.write(orchard.ann, steps).insertedIDs
        try orchard.set(orchard.bob, ids[0], "name", "Bob's")
        #expect(try orchard.undo(orchard.ann) == "UNDO_CONFLICT")
        #expect(try orchard.undo(orchard.ann, UndoOptions(policy: .force)) == "done: lost")
        #expect(try ids.map { try orchard.value($0, "box") == nil } == [true, true])
        #expect(try orchard.text(ids[1], "title") == "gone")
    }

    @Test func aForcedUndoKeepsRequiredReferences() throws {
        // Ann changes the host of a guest from Bob to Cid, and then Bob is deleted. The guest needs a host.
        let orchard = try Orchard()
        let (bob, cid) = try (
            orchard.insert(orchard.bob, "Person", ["name": "Bob"]),
            orchard.insert(orchard.bob, "Person", ["name": "Cid"])
        )
        let guest = try orchard.insert(orchard.bob, "Guest", ["name": "Dan", "host": bob])
        try orchard.set(orchard.ann, guest, "host", cid)
        try orchard.delete(orchard.bob, bob)
        #expect(try orchard.undo(orchard.ann, UndoOptions(policy: .force)) == "nothing: ownerGone host")
        #expect(try orchard.text(guest, "host") == "Cid")
    }

    // MARK: Positions of restored objects

    @Test func aRestoredObjectFollowsItsLeftNeighbour() throws {
        let same = (answer: "done", left: "x a b y c")
        try Orchard.check(keep: same, force: same, strict: same) { orchard in
            let (top, children) = try orchard.family("a", "b", "c")
            try orchard.delete(orchard.ann, children[1])
            for (title, place) in [("x", Place.first), ("y", .after(.object(children[0])))] {
                let id = try orchard.insert(orchard.bob, "Node", ["title": title, "parent": top])
                try orchard.move(orchard.bob, id, under: top, place)
            }
            return { try orchard.list(top, "children") }
        }
    }

    @Test func withoutALeftNeighbourARestoredObjectPrecedesTheRightOne() throws {
        let same = (answer: "done", left: "x b c")
        try Orchard.check(keep: same, force: same, strict: same) { orchard in
            let (top, children) = try orchard.family("a", "b", "c")
            try orchard.delete(orchard.ann, children[1])
            try orchard.delete(orchard.bob, children[0])
            let id = try orchard.insert(orchard.bob, "Node", ["title": "x", "parent": top])
            try orchard.move(orchard.bob, id, under: top, .first)
            return { try orchard.list(top, "children") }
        }
    }

    /// Neighbours that are restored together keep their order.
    @Test func restoredNeighboursKeepTheirOrder() throws {
        let same = (answer: "done", left: "a b c d")
        try Orchard.check(keep: same, force: same, strict: same) { orchard in
            let (top, children) = try orchard.family("a", "b", "c", "d")
            try orchard.fixture.write(orchard.ann, [.delete(.object(children[2])), .delete(.object(children[1]))])
            return { try orchard.list(top, "children") }
        }
    }
}
