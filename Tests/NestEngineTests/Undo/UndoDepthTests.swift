import Foundation
import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

@Suite struct UndoDepthTests {
    /// Previews, undoes and redoes the deletion of a deep chain with each policy, on a stack of 256 KiB. Only a forced
    /// redo deletes an object that another session has inserted at the bottom, and its undo restores that object.
    @Test func deepChainsAreUndoneWithEveryPolicy() throws {
        let depth = ProcessInfo.processInfo.environment["NEST_DEPTH"].flatMap { Int($0) } ?? 20_000
        let fixture = try EngineFixture()
        let (ann, bob) = try (fixture.connect(session: 1), fixture.connect(session: 2))
        let rows = (0..<depth).map { (depth: $0, title: "level \($0)") }
        let chain = try fixture.imported(rows, under: EngineFixture.root, by: ann)
        func ask(_ client: SimulatedClient, _ request: EngineRequest) throws -> EngineReply {
            try onSmallStack { try fixture.ask(client, request) }
        }
        try onSmallStack { _ = try fixture.perform([chain]) }
        let top = try #require(try fixture.children().first)
        let bottom = ObjectID(top.rawValue + Int64(depth) - 1)
        try fixture.write(ann, [.delete(.object(top))])

        guard let preview = try ask(ann, .previewUndo(.undo, UndoOptions())).preview else {
            Issue.record("no preview")
            return
        }
        #expect(preview.insertedCount == depth && preview.changes.count == Limits.previewObjectsMax)
        #expect(try ask(ann, .undo(key: nil)).receipt?.isChanged == true)
        #expect(try fixture.children(ObjectID(bottom.rawValue - 1)) == [bottom])

        // The redo would delete Bob's object too.
        try fixture.write(bob, [EngineFixture.insert("Bob's", under: bottom)])
        for policy in [UndoOptions.Policy.keep, .strict] {
            let refused = try ask(ann, .redo(key: nil, UndoOptions(policy: policy)))
            #expect(refused.error?.code == .undoConflict, "\(policy)")
        }
        let force = UndoOptions(policy: .force)
        #expect(try ask(ann, .redo(key: nil, force)).receipt?.isChanged == true)
        #expect(try fixture.children().isEmpty)
        #expect(try ask(ann, .undo(key: nil)).receipt?.conflicts.isEmpty == true)
        #expect(try fixture.children(bottom).count == 1)
    }
}
