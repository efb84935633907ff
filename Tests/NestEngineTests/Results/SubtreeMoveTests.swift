import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

/// Results with IN SUBTREE stay correct if a batch moves several objects. The engine does not walk up the tree for
/// objects that stay inside or outside.
@Suite struct SubtreeMoveTests {
    private static func subscribe(_ world: ScopeWorld, _ root: ObjectID) throws -> ObjectFetchRequest {
        let item = try #require(ManagedObjectModel.nestedList.entity(EngineFixture.item))
        var request = ObjectFetchRequest(entity: item.number)
        request.predicate = try FetchPredicate("SELF IN SUBTREE(\(root.rawValue))", of: item, in: .nestedList)
        request = request.canonical(in: .nestedList)
        #expect(world.perform([(1, .subscribe(request, resume: nil, atLeast: Revision(0)))])[0].contains("subscribed"))
        return request
    }

    /// Returns the number of rows of the live result and of a fresh read.
    private static func counts(_ world: ScopeWorld) throws -> (live: Int?, anew: Int) {
        var below = 0
        var next = [ObjectID(2)]
        let layout = try #require(world.store.layout[EngineFixture.item])
        while let owner = next.popLast() {
            try world.store.access {
                try world.store.forEach(layout.toMany[0], of: owner) { id, _ in
                    below += 1
                    next.append(id)
                }
            }
        }
        return (world.statistic("live_result_rows"), below)
    }

    /// An object that is inserted below a chain leaves the result if the same batch moves the top of the chain out.
    @Test func objectsInsertedBelowAMovedObjectLeaveWithIt() throws {
        for round in 0..<20 {
            let world = try ScopeWorld()
            world.connect(1, session: 1)
            world.write(1, EngineFixture.insert("root"))
            let chain = try world.chain(2 + round % 3, under: ObjectID(2))
            _ = try Self.subscribe(world, ObjectID(2))
            let mutations = [
                EngineFixture.insert("new", under: chain[chain.count - 1]), EngineFixture.move(chain[0], .last),
            ]
            world.perform(mutations.map { (1, .transaction(WriteTransaction(mutations: [$0]))) })
            let counts = try Self.counts(world)
            #expect(counts.live == counts.anew && counts.anew == 0, "round \(round)")
        }
    }

    @Test func movesInsideASubtreeDoNotWalkUp() throws {
        let world = try ScopeWorld()
        world.connect(1, session: 1)
        world.write(1, EngineFixture.insert("root"))
        func steps(_ depth: Int) throws -> Int {
            let chain = try world.chain(depth, under: ObjectID(2))
            let last = chain[depth - 1]
            let leaves = world.lastID
            for _ in 0..<2 { world.write(1, EngineFixture.insert("leaf", under: last)) }
            let moves = (1...2).map { EngineFixture.move(ObjectID(leaves + Int64($0)), under: chain[depth - 2], .last) }
            return world.steps(moves.map { world.request(1, .transaction(WriteTransaction(mutations: [$0]))).input })
        }
        _ = try Self.subscribe(world, ObjectID(2))
        _ = try steps(3)
        // The chain is short enough that the result follows it without a background read.
        let (shallow, deep) = (try steps(3), try steps(1_900))
        #expect(deep < shallow + 200, "\(shallow), \(deep)")
        let counts = try Self.counts(world)
        #expect(counts.live == counts.anew)
    }
}
