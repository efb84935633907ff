import NestModel
import NestProtocol
import NestTestSupport
import Testing

@testable import NestClient

/// Random clusters: leaders change, nodes name the wrong one, connections are lost.
@Suite struct ClusterWorldTests {
    @Test(arguments: [0, 1, 2, 3])
    func everyWriteIsExecutedOnceAndInOrder(_ part: UInt64) throws {
        for seed in (part * 40)..<(part * 40 + 40) {
            var random = SeededRandom(seed: seed)
            var world = ClusterWorld()
            // A first attempt that fails would fail the requests.
            while world.machine.welcome == nil { try settle(&world) }
            // Where attempts fail, a write may fail because no node took it in time.
            let mayFail = !seed.isMultiple(of: 2)
            var written: UInt64 = 0
            for _ in 0..<300 {
                switch random.below(12) {
                case 0, 1:
                    written += 1
                    world.write(written)
                case 2 where random.oneIn(4): world.disconnect()
                case 3 where random.oneIn(2):
                    world.lead(random.oneIn(4) ? nil : random.below(ClusterWorld.nodeCount))
                case 4:
                    let leader = random.oneIn(2) ? world.leader : random.below(ClusterWorld.nodeCount)
                    world.learn(random.below(ClusterWorld.nodeCount), believes: random.oneIn(5) ? nil : leader)
                case 5: world.pass(milliseconds: Int64(random.below(60)))
                case 6: world.open(succeeds: !mayFail || !random.oneIn(4))
                case 7, 8: try world.serve()
                default: try world.deliver()
                }
            }
            // The cluster has recovered: whatever was begun ends.
            while !world.isQuiet { try settle(&world) }
            world.lead(Int(seed) % ClusterWorld.nodeCount)
            for node in 0..<ClusterWorld.nodeCount { world.learn(node, believes: world.leader) }
            for _ in 0..<500 { try settle(&world, milliseconds: 100) }
            var acknowledged: [UInt64] = []
            for number in (0..<written).map({ $0 + 1 }) {
                let answers = world.answers[RequestToken(number)] ?? []
                #expect(answers.count == 1, "NEST_SEED=\(seed): write \(number) got \(answers)")
                switch answers.first {
                case .success: acknowledged.append(number)
                case .failure(let error): #expect(mayFail && error.code == .notLeader, "NEST_SEED=\(seed): \(error)")
                case nil: break
                }
            }
            #expect(world.executed == acknowledged, "NEST_SEED=\(seed)")
        }
    }

    private func settle(_ world: inout ClusterWorld, milliseconds: Int64 = 20) throws {
        world.open(succeeds: true)
        try world.serve()
        try world.deliver()
        world.pass(milliseconds: milliseconds)
    }

    /// Two nodes that name each other for ever: the client pauses between its moves, and gives up in the end.
    @Test func nodesThatNameEachOtherAreFollowedWithPausesOnly() throws {
        var world = ClusterWorld()
        world.lead(nil)
        world.learn(0, believes: 1)
        world.learn(1, believes: 0)
        world.write(1)
        for _ in 0..<(Limits.leaderWaitSeconds * 1_000 / 20 + 100) { try settle(&world) }
        let error = #expect(throws: NestError.self) { try world.answers[RequestToken(1)]?.first?.get() }
        #expect(error?.code == .notLeader && error?.message.contains("Nothing was executed") == true)
        // One at once, then with pauses that grow to a second.
        #expect((5...30).contains(world.moves), "\(world.moves) moves")
        #expect(world.executed.isEmpty)
    }
}
