import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// An undo that rehomes leaves an object elsewhere than its session's older work put it. That work can still be undone:
/// what the session did itself is no conflict.
@Suite struct UndoAfterRehomeTests {
    private static let rehome = UndoOptions(rehomes: true)

    private let orchard: Orchard
    private let top: ObjectID
    private let old: ObjectID
    private let other: ObjectID

    /// Ann has nothing to undo. The nodes are top ── old, other.
    init() throws {
        self.orchard = try Orchard()
        let (top, children) = try self.orchard.family("old", "other")
        (self.top, self.old, self.other) = (top, children[0], children[1])
    }

    private func undo(_ options: UndoOptions = UndoOptions()) throws -> String {
        try self.orchard.undo(self.orchard.ann, options)
    }

    private func redo(_ options: UndoOptions = UndoOptions()) throws -> String {
        try self.orchard.redo(self.orchard.ann, options)
    }

    private func parent(_ id: ObjectID) throws -> String { try self.orchard.text(id, "parent") }

    @Test(arguments: [UndoOptions.Policy.keep, .strict, .force])
    func anInsertCanBeUndoneAfterItsObjectWasRehomed(_ policy: UndoOptions.Policy) throws {
        let (ann, bob) = (self.orchard.ann, self.orchard.bob)
        let node = try self.orchard.insert(ann, "Node", ["title": "c", "parent": self.old])
        try self.orchard.delete(ann, node)
        try self.orchard.delete(bob, self.old)
        #expect(try self.undo(Self.rehome) == "done: rehomed parent")
        #expect(try self.parent(node) == "top")
        #expect(try self.undo(UndoOptions(policy: policy)) == "done")
        #expect(try self.parent(node) == "gone")
        #expect(try self.redo() == "done" && self.parent(node) == "top")
        #expect(try self.redo() == "done" && self.parent(node) == "gone")
        #expect(try self.undo() == "done" && self.parent(node) == "top")
        #expect(try self.undo() == "done" && self.parent(node) == "gone")
    }

    @Test(arguments: [UndoOptions.Policy.keep, .strict, .force])
    func aMoveCanBeUndoneAfterItsObjectWasRehomed(_ policy: UndoOptions.Policy) throws {
        let (ann, bob) = (self.orchard.ann, self.orchard.bob)
        let node = try self.orchard.insert(bob, "Node", ["title": "c", "parent": self.other])
        try self.orchard.move(ann, node, under: self.old)
        try self.orchard.move(ann, node, under: self.top, .first)
        try self.orchard.delete(bob, self.old)
        #expect(try self.undo(Self.rehome) == "done: rehomed parent")
        #expect(try self.orchard.list(self.top, "children") == "other c")
        #expect(try self.undo(UndoOptions(policy: policy)) == "done")
        #expect(try self.parent(node) == "other")
    }

    /// Deleted with its parent, rehomed one level up, and so on: each older step can still be undone.
    @Test func aRowOfRehomingsIsUndone() throws {
        let (ann, bob) = (self.orchard.ann, self.orchard.bob)
        let inner = try self.orchard.insert(bob, "Node", ["title": "inner", "parent": self.old])
        let node = try self.orchard.insert(ann, "Node", ["title": "c", "parent": self.other])
        try self.orchard.move(ann, node, under: inner)
        try self.orchard.set(ann, node, "title", "d")
        try self.orchard.delete(ann, node)
        try self.orchard.delete(bob, inner)
        #expect(try self.undo(Self.rehome) == "done: rehomed parent" && self.parent(node) == "old")
        #expect(try self.undo() == "done" && self.orchard.text(node, "title") == "c")
        #expect(try self.undo() == "done" && self.parent(node) == "other")
        #expect(try self.undo() == "done" && self.parent(node) == "gone")
    }

    /// All steps of one entry: the undo itself rehomes the object before it takes back the older step.
    @Test func anEntryThatRehomesItsOwnObjectIsUndone() throws {
        let (ann, bob) = (self.orchard.ann, self.orchard.bob)
        let node = try self.orchard.insert(bob, "Node", ["title": "c", "parent": self.other])
        guard case .group = try self.orchard.take(.beginGroup(name: nil, joined: nil), ann) else {
            Issue.record("no group")
            return
        }
        try self.orchard.move(ann, node, under: self.old)
        try self.orchard.delete(ann, node)
        _ = try self.orchard.take(.endGroup, ann)
        try self.orchard.delete(bob, self.old)
        #expect(try self.undo(Self.rehome).hasPrefix("done"))
        #expect(try self.parent(node) == "other")
    }

    /// Another session has moved the object since: that is a conflict, as before.
    @Test func aLaterMoveOfAnotherSessionConflicts() throws {
        let (ann, bob) = (self.orchard.ann, self.orchard.bob)
        let node = try self.orchard.insert(ann, "Node", ["title": "c", "parent": self.old])
        try self.orchard.delete(ann, node)
        try self.orchard.delete(bob, self.old)
        #expect(try self.undo(Self.rehome) == "done: rehomed parent")
        try self.orchard.move(bob, node, under: self.other)
        #expect(try self.undo() == "UNDO_CONFLICT")
        #expect(try self.parent(node) == "other")
    }

    /// A revert takes back one transaction in the middle: the later ones of the same session stand, and conflict.
    @Test func aRevertConflictsWithLaterWorkOfTheSameSession() throws {
        let (ann, bob) = (self.orchard.ann, self.orchard.bob)
        let node = try self.orchard.insert(bob, "Node", ["title": "c", "parent": self.top])
        try self.orchard.move(ann, node, under: self.old)
        let first = self.orchard.fixture.store.head
        try self.orchard.move(ann, node, under: self.other)
        let revert = EngineRequest.revert(key: nil, UndoOptions(), first, ofAnyone: false)
        #expect(try self.orchard.words(self.orchard.take(revert, ann)) == "nothing: moved parent")
        #expect(try self.parent(node) == "other")
    }
}
