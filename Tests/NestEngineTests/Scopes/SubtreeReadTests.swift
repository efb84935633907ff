import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// Requests for a large subtree wait until the engine has read it, in turns between the commits.
@Suite struct SubtreeReadTests {
    private static func below(_ root: ObjectID) throws -> ObjectFetchRequest {
        let item = try #require(ManagedObjectModel.nestedList.entity(EngineFixture.item))
        var request = ObjectFetchRequest(entity: item.number)
        request.predicate = try FetchPredicate("SELF IN SUBTREE(\(root.rawValue))", of: item, in: .nestedList)
        return request.canonical(in: .nestedList)
    }

    private static func world(rowsPerTurn: Int) throws -> (ScopeWorld, chain: [ObjectID]) {
        let world = try ScopeWorld(rowsPerTurn: rowsPerTurn)
        world.connect(1, session: 1)
        world.connect(2, session: 2)
        world.write(1, EngineFixture.insert("root"))
        return (world, try world.chain(1_500, under: ObjectID(2)))
    }

    @Test func aLargeSubtreeIsReadInTurnsBetweenCommits() throws {
        let (world, chain) = try Self.world(rowsPerTurn: 50)
        let request = try Self.below(ObjectID(2))
        let subscribed = world.request(2, .subscribe(request, resume: nil, atLeast: Revision(0)))
        let fetched = world.request(2, .fetch(request, atLeast: Revision(0)))
        world.perform([subscribed.input, fetched.input])
        #expect(world.answers[subscribed.id] == nil && world.engine.hasBacklog)
        #expect(world.statistic("token_scopes") == 1)
        var turns = 0
        while world.answers[subscribed.id] == nil {
            turns += 1
            // Objects are inserted and deleted meanwhile.
            let edit =
                turns == 10
                ? Mutation.delete(.object(chain[1_450])) : EngineFixture.insert("new", under: chain[turns * 7 % 1_400])
            let steps = world.steps([world.request(1, .transaction(WriteTransaction(mutations: [edit]))).input])
            // The last turn also answers the requests.
            #expect(steps < 5_000 || world.answers[subscribed.id] != nil)
            try #require(turns < 200)
        }
        #expect(turns > 20)
        world.finish()
        #expect(world.answers[subscribed.id]?.contains("subscribed") ?? false)
        #expect(world.answers[fetched.id]?.contains("snapshot") ?? false)
        #expect(world.statistic("live_result_rows") == 1_450 + turns - 1)
        // The result follows later changes.
        world.write(1, EngineFixture.insert("new", under: chain[3]), .delete(.object(chain[1_400])))
        #expect(try #require(world.statistic("live_result_rows")) < 1_450 + turns)
        world.perform([.disconnected(ConnectionID(2))])
        world.perform([.tick], seconds: 100)
        #expect(world.statistic("token_scopes") == 0 && world.statistic("live_results") == 0)
    }

    @Test func aClosedConnectionEndsItsRequestAndTheRead() throws {
        let (world, _) = try Self.world(rowsPerTurn: 50)
        let request = world.request(2, .fetch(try Self.below(ObjectID(2)), atLeast: Revision(0)))
        world.perform([request.input])
        #expect(world.statistic("requests_waiting") == 1 && world.statistic("token_scopes") == 1)
        world.perform([.disconnected(ConnectionID(2))])
        #expect(world.statistic("requests_waiting") == 0 && world.statistic("token_scopes") == 0)
        #expect(!world.engine.hasBacklog && world.answers[request.id] == nil)
    }

    /// A fetch keeps nothing, and the next one reads the subtree again.
    @Test func aFetchDoesNotKeepTheSubtree() throws {
        let (world, _) = try Self.world(rowsPerTurn: 50)
        for _ in 0..<2 {
            let answer = world.perform([(2, .fetch(try Self.below(ObjectID(2)), atLeast: Revision(0)))])[0]
            #expect(answer.contains("snapshot"))
            #expect(world.statistic("token_scopes") == 0)
        }
    }

    /// The members of a token's own scope are already known, so that results of the scope need no read.
    @Test func resultsOfAScopeUseItsMembers() throws {
        let (world, _) = try Self.world(rowsPerTurn: 50)
        world.connect(3, session: 3, ScopeWorld.scope(ObjectID(2)))
        world.finish()
        let item = try #require(ManagedObjectModel.nestedList.entity(EngineFixture.item))
        let request = world.request(
            3,
            .subscribe(ObjectFetchRequest(entity: item.number), resume: nil, atLeast: Revision(0))
        )
        world.perform([request.input])
        #expect(world.answers[request.id]?.contains("subscribed") ?? false)
        #expect(world.statistic("token_scopes") == 1)
    }
}
