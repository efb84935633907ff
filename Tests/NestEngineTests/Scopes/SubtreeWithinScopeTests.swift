import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

/// A result of a confined token for the subtree of an object depends on whether that object is in the token's scope.
@Suite struct SubtreeWithinScopeTests {
    private struct Guest {
        let client: SimulatedClient
        let request: ObjectFetchRequest

        var ids: [ObjectID] {
            self.client.subscriptions[self.request]?.state?.sections.flatMap { $0.rows.map(\.id) } ?? []
        }
    }

    /// Subscribes to the objects below `id` with a token that is confined to `root`.
    private func guest(_ fixture: EngineFixture, confinedTo root: ObjectID, below id: ObjectID) throws -> Guest {
        let layout = try #require(fixture.store.layout[EngineFixture.item])
        let grant = AccessConfinement(
            root: root,
            entity: EngineFixture.item,
            relationship: layout.toMany[0].relationship.number
        )
        let client = try fixture.connect(session: 2, scope: .subtree(grant))
        let item = try #require(ManagedObjectModel.nestedList.entity(EngineFixture.item))
        var request = ObjectFetchRequest(entity: item.number)
        request.predicate = try FetchPredicate("SELF IN SUBTREE(\(id.rawValue))", of: item, in: .nestedList)
        request = request.canonical(in: .nestedList)
        try fixture.perform([client.subscribe(request)])
        while fixture.engine.hasBacklog { try fixture.perform([]) }
        return Guest(client: client, request: request)
    }

    private func insert(_ fixture: EngineFixture, _ client: SimulatedClient, _ title: String, under owner: ObjectID)
        throws -> ObjectID
    {
        try fixture.write(client, [EngineFixture.insert(title, under: owner)]).insertedIDs[0]
    }

    @Test func aRestoredObjectBringsItsSubtree() throws {
        let fixture = try EngineFixture()
        let owner = try fixture.connect(session: 1)
        let list = try self.insert(fixture, owner, "list", under: EngineFixture.root)
        let top = try self.insert(fixture, owner, "top", under: list)
        let inside = try self.insert(fixture, owner, "inside", under: top)
        try fixture.write(owner, [.delete(.object(top))])
        let guest = try self.guest(fixture, confinedTo: list, below: top)
        #expect(guest.ids.isEmpty)
        #expect(try fixture.ask(owner, .undo(key: nil)).receipt != nil)
        #expect(guest.ids == [inside])
    }

    @Test func theSubtreeOfAnObjectOutsideTheScopeIsEmpty() throws {
        let fixture = try EngineFixture()
        let owner = try fixture.connect(session: 1)
        let list = try self.insert(fixture, owner, "list", under: EngineFixture.root)
        let other = try self.insert(fixture, owner, "other", under: EngineFixture.root)
        let inside = try self.insert(fixture, owner, "inside", under: other)
        let row = try self.insert(fixture, owner, "row", under: list)
        let guest = try self.guest(fixture, confinedTo: list, below: other)
        #expect(guest.ids.isEmpty)
        // An object above the scope's root is still outside the scope.
        try fixture.write(owner, [EngineFixture.move(list, under: other, .last)])
        #expect(guest.ids.isEmpty)
        try fixture.write(owner, [EngineFixture.move(list, under: EngineFixture.root, .last)])
        try fixture.write(owner, [EngineFixture.move(other, under: list, .last)])
        #expect(guest.ids == [inside])
        try fixture.write(owner, [EngineFixture.move(row, under: inside, .last)])
        #expect(Set(guest.ids) == [inside, row])
        try fixture.write(owner, [EngineFixture.move(other, under: EngineFixture.root, .last)])
        #expect(guest.ids.isEmpty)
    }
}
