import NestModel
import NestTestSupport
import Testing

@testable import NestClient

/// A user folds, unfolds, zooms, scrolls, filters and pauses faster than the server answers, while objects come, move
/// and go, views lag and connections are lost. No accepted fold state, zoom or predicate is lost, only the newest
/// window is asked for, and every state is that of a naive outline. The program ends, and its next run begins with the
/// rows and the fold states that the cache has.
@Suite struct OutlinePropertyTests {
    @Test func everyOutlineShowsWhatItsUserHasSet() throws {
        var events = OutlineWorld.Events()
        for seed in Seeds.range(0..<400) {
            var random = SeededRandom(seed: seed)
            let expansions: [OutlineExpansion] = [.none, .all, .attribute(PropertyNumber(3))]
            var world = OutlineWorld(expansions.randomElement(using: &random)!, "seed \(seed)", &random)
            for step in 0..<120 {
                try Self.step(&world, expansions, &random)
                guard step % 30 == 29, !world.isPaused else { continue }
                try world.settle(&random)
                try world.check("step \(step)")
            }
            if world.isPaused { world.pauseOrResume() }
            try world.settle(&random)
            try world.check("at the end")
            world.unsubscribe()
            try world.settle(&random)
            #expect(world.server.view == nil, "seed \(seed)")
            events.diffs += world.events.diffs
            events.runs += world.events.runs
            events.refusals += world.events.refusals
            events.replaced += world.events.replaced
            events.restored += world.events.restored
            events.begun += world.events.begun
            events.checked += world.events.checked
        }
        guard Seeds.isUsual else { return }
        #expect(
            events.diffs > 0 && events.runs > 0 && events.refusals > 0 && events.replaced > 0
                && events.restored > 0 && events.begun > 0 && events.checked > 0,
            "\(events)"
        )
    }

    private static func step(
        _ world: inout OutlineWorld,
        _ expansions: [OutlineExpansion],
        _ random: inout SeededRandom
    ) throws {
        if random.oneIn(4) { world.connect() }
        let object = random.oneIn(12) ? OutlineServer.missing : world.server.objects.randomElement(using: &random)!
        switch random.below(27) {
        case 0...2:
            let others = (0..<random.below(3)).map { _ in
                ExpandedState(world.server.objects.randomElement(using: &random)!, isExpanded: random.oneIn(2))
            }
            world.setExpanded([ExpandedState(object, isExpanded: !random.oneIn(3))] + others)
        case 3: world.edit(OutlineEdit(source: object, window: .range(offset: 0, limit: 4 + random.below(6))))
        case 4, 5: world.edit(OutlineEdit(window: .range(offset: random.below(6), limit: 4 + random.below(6))))
        case 6: world.edit(OutlineEdit(window: .around(object, before: 2, after: 3)))
        case 7: world.edit(OutlineEdit(predicate: Self.predicate(&random)))
        case 8:
            guard random.oneIn(3) else { break }
            let exceptions = random.oneIn(2) ? [object] : []
            let outline = FetchOutline(expansions.randomElement(using: &random)!, exceptions: exceptions)
            world.edit(OutlineEdit(outline: outline))
        case 9: if random.oneIn(4) { world.pauseOrResume() }
        case 10: if random.oneIn(4) { world.loseConnection() }
        case 11: if random.oneIn(6) { world.restart() }
        case 12...15: world.write(&random)
        case 16: world.catchUp()
        case 17: for _ in 0..<random.below(6) { world.take() }
        case 26: if random.oneIn(4) { try world.beginAgain() }
        case 18...21: try world.deliverToServer(&random)
        default: world.deliverToClient()
        }
    }

    private static func predicate(_ random: inout SeededRandom) -> FetchPredicate {
        random.oneIn(2) ? .everything : FetchPredicate(nodes: [.constant(false)])
    }
}
