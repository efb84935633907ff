import NestEngine
import NestModel
import NestStore
import Testing
import NestProtocol
import NestSchema

/// The cost limits of requests, and fair scheduling after an expensive request.
@Suite struct WorkBudgetTests {
    private func connect(_ fixture: EngineFixture, session: UInt64, confinedTo root: ObjectID) throws -> SimulatedClient
    {
        let grant = AccessConfinement(
            root: root,
            entity: EngineFixture.item,
            relationship: try #require(fixture.store.layout[EngineFixture.item]).toMany[0].relationship.number
        )
        return try fixture.connect(session: session, scope: .subtree(grant))
    }

    private func rows(_ count: Int) -> [(depth: Int, title: String)] { (0..<count).map { (0, "\($0)") } }

    @Test func stepsPerConfinedWriteAreLimited() throws {
        let fixture = try EngineFixture()
        let owner = try fixture.connect(session: 1)
        let list = try fixture.write(owner, [EngineFixture.insert("list")]).insertedIDs[0]
        let guest = try self.connect(fixture, session: 2, confinedTo: list)
        let bystander = try fixture.connect(session: 3)
        let bomb = try fixture.imported(self.rows(Limits.confinedWriteStepsMax + 1), under: list, by: guest)
        let (id, write) = bystander.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("beside")])))
        let head = fixture.engine.head
        try fixture.perform([write, bomb])
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        #expect(bystander.replies[id]?.receipt != nil)
        #expect(guest.replies.values.compactMap(\.error).map(\.code) == [.limitExceeded])
        #expect(try fixture.engine.head == head.next && fixture.children(list).isEmpty)
        // A smaller import of the same connection succeeds.
        try fixture.perform([try fixture.imported(self.rows(100), under: list, by: guest)])
        #expect(try fixture.children(list).count == 100)
    }

    @Test func stepsPerPreviewAreLimited() throws {
        let fixture = try EngineFixture()
        let owner = try fixture.connect(session: 1)
        try fixture.perform([try fixture.imported(self.rows(40_000), under: EngineFixture.root, by: owner)])
        let reply = try fixture.ask(owner, .previewUndo(.undo, UndoOptions()))
        #expect(reply.error?.code == .limitExceeded || reply.preview != nil)
        try fixture.perform([try fixture.imported(self.rows(140_000), under: EngineFixture.root, by: owner)])
        #expect(try fixture.ask(owner, .previewUndo(.undo, UndoOptions())).error?.code == .limitExceeded)
        #expect(try fixture.children().count == 180_000)
    }

    /// Of two imports that one connection sends at once, the second waits until another connection has had its write.
    @Test func otherConnectionsGetATurnAfterAnExpensiveWrite() throws {
        let fixture = try EngineFixture(turnStepsMax: 1_024)
        let heavy = try fixture.connect(session: 1)
        let light = try fixture.connect(session: 2)
        let first = try fixture.imported(self.rows(3_000), under: EngineFixture.root, by: heavy)
        let second = try fixture.imported(self.rows(3_000), under: EngineFixture.root, by: heavy)
        let (read, fetch) = heavy.request(.object(EngineFixture.root))
        let (id, write) = light.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("light")])))
        try fixture.perform([first, second, fetch, write])
        #expect(heavy.replies.values.compactMap(\.receipt).count == 1)
        // A read must see the earlier writes of its own connection, so it waits with them.
        #expect(heavy.replies[read] == nil && light.replies[id] == nil)
        try fixture.perform([])
        #expect(light.replies[id]?.receipt?.revision == Revision(2))
        #expect(heavy.replies.values.compactMap(\.receipt).count == 1)
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        let receipts = heavy.replies.values.compactMap(\.receipt?.revision).sorted()
        #expect(receipts == [Revision(1), Revision(3)])
        guard case .object(let body)? = heavy.replies[read] else { return #expect(Bool(false), "no object") }
        #expect(try body.decoded().counts.first?.count == 6_001)
    }

    /// A write is not committed together with an expensive undo behind it. The write is answered first, and the undo
    /// begins the next turn.
    @Test func aWriteDoesNotWaitForAnExpensiveUndoBehindIt() throws {
        let fixture = try EngineFixture(turnStepsMax: 2_048)
        let heavy = try fixture.connect(session: 1)
        let light = try fixture.connect(session: 2)
        try fixture.perform([try fixture.imported(self.rows(5_000), under: EngineFixture.root, by: heavy)])
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        let undo = heavy.request(.undo(key: nil, UndoOptions()))
        let write = light.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("light")])))
        try fixture.perform([write.1, undo.1])
        #expect(light.replies[write.0]?.receipt?.revision == Revision(2))
        #expect(heavy.replies[undo.0] == nil && fixture.engine.hasBacklog)
        let later = light.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("later")])))
        try fixture.perform([later.1])
        // The heavy connection has to wait because its import was expensive.
        #expect(light.replies[later.0]?.receipt?.revision == Revision(3) && heavy.replies[undo.0] == nil)
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        #expect(heavy.replies[undo.0]?.receipt?.revision == Revision(4))
        #expect(try fixture.children().count == 2)
        // The same applies to a delete with a cascade.
        let list = try fixture.write(light, [EngineFixture.insert("list")]).insertedIDs[0]
        try fixture.perform([try fixture.imported(self.rows(5_000), under: list, by: heavy)])
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        let delete = heavy.request(.transaction(WriteTransaction(mutations: [.delete(.object(list))])))
        let third = light.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("third")])))
        try fixture.perform([third.1, delete.1])
        #expect(light.replies[third.0]?.receipt != nil && heavy.replies[delete.0] == nil)
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        #expect(heavy.replies[delete.0]?.receipt != nil)
        #expect(try fixture.children().count == 3)
    }

    /// A write that has not begun is dropped when its connection closes.
    @Test func waitingWritesEndWithTheirConnection() throws {
        let fixture = try EngineFixture(turnStepsMax: 1_024)
        let heavy = try fixture.connect(session: 1)
        let first = try fixture.imported(self.rows(3_000), under: EngineFixture.root, by: heavy)
        let second = try fixture.imported(self.rows(3_000), under: EngineFixture.root, by: heavy)
        try fixture.perform([first, second])
        try fixture.perform([.disconnected(heavy.connection)])
        #expect(try !fixture.engine.hasBacklog && fixture.children().count <= 6_000)
        #expect(fixture.engine.head <= Revision(2))
    }
}
