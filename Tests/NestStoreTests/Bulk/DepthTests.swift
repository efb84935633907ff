import Foundation
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

@Suite struct DepthTests {
    /// A chain of 50,000 levels is imported, moved, exported, deleted, restored and deleted again on a stack of 256
    /// KiB: nothing recurses. `NEST_DEPTH=1000000` makes it a million levels.
    @Test func aDeepChainIsAnOrdinaryTree() throws {
        let fixture = try Fixture()
        let depth = ProcessInfo.processInfo.environment["NEST_DEPTH"].flatMap { Int($0) } ?? 50_000
        let staged = try fixture.stage((0..<depth).map { ($0, "level \($0)") }, under: ObjectID(1))
        let other = try fixture.perform(Fixture.insert("other"))[0]
        let top = try onSmallStack {
            var top = ObjectID(0)
            try fixture.commit { top = try $0.importSubtree(staged).first }
            return top
        }
        let bottom = ObjectID(top.rawValue + Int64(depth) - 1)
        expectRefusal(.cycle) { try onSmallStack { _ = try fixture.perform(Fixture.move(top, under: bottom)) } }
        try onSmallStack { _ = try fixture.perform(Fixture.move(top, under: other)) }
        let before = try onSmallStack { try fixture.export(ObjectID(1)) }
        #expect(before.count == depth + 2 && before.last?.depth == depth + 1)

        let deleted = try onSmallStack {
            try fixture.commit { _ = try $0.perform(WriteTransaction(mutations: [.delete(.object(top))])) }
        }
        let deletion = try #require(deleted)
        #expect(deletion.deletedCount == depth)
        #expect(try fixture.export(ObjectID(1)).count == 2)
        try fixture.reopen()
        let undone = try onSmallStack { try fixture.revert(deletion.revision) }
        let undo = try #require(undone)
        #expect(undo.insertedCount == depth)
        #expect(try onSmallStack { try fixture.export(ObjectID(1)) } == before)
        let redone = try onSmallStack { try fixture.revert(undo.revision) }
        let redo = try #require(redone)
        #expect(redo.deletedCount == depth)
        #expect(try fixture.export(ObjectID(1)).count == 2)
    }

    /// A wide import is undone and redone completely; ids and order are restored.
    @Test func aLargeImportIsOneEntry() throws {
        let fixture = try Fixture()
        let first = try fixture.perform(Fixture.insert("before"))[0]
        let rows = (0..<30_000).map { (depth: $0 % 3 == 0 ? 0 : $0 % 3, title: "row \($0)") }
        let staged = try fixture.stage(rows, under: ObjectID(1), .before(.object(first)))
        let changes = try #require(try fixture.commit { _ = try $0.importSubtree(staged) })
        #expect(changes.insertedCount == rows.count)
        let before = try fixture.export(ObjectID(1))
        #expect(before.dropFirst().dropLast().map { $0.values[0] } == rows.map { .string($0.title) })
        let undo = try #require(try fixture.revert(changes.revision))
        #expect(try fixture.children(ObjectID(1)) == [first])
        try fixture.revert(undo.revision)
        #expect(try fixture.export(ObjectID(1)) == before)
    }
}
