import NestModel
import NestTestSupport
import Testing

@testable import NestClient

/// Subscribers change their requests, pause, resume, join and leave while rows are written, connections are lost, diffs
/// are wrong and backups are restored. Each sees only states of its own requests (`ConsumerLaw`) and ends with exactly
/// the rows of the last one, and the server holds exactly the needed views.
@Suite struct SubscriptionChangePropertyTests {
    /// Runs in which a diff ends at the revision of a window's position, a subscription is joined to another one while
    /// one of its subscribers has a change under way, and a request is renamed after a reset.
    private static let rareSeeds: [UInt64] = [941, 1_432, 1_502, 1_895, 2_026]

    /// What a run does often. Subscribers meet in the same view if there are few requests; their queues are long if
    /// they seldom take a change, and short if they do at once.
    private struct Mix {
        let requests: [ObjectFetchRequest]
        let isEager: Bool
        let hasRestores: Bool

        init(_ random: inout SeededRandom) {
            self.requests = (0..<2 + random.below(5)).map { _ in SubscriptionChangePropertyTests.request(&random) }
            self.isEager = random.oneIn(2)
            self.hasRestores = random.oneIn(3)
        }

        func request(_ random: inout SeededRandom) -> ObjectFetchRequest {
            self.requests.randomElement(using: &random)!
        }
    }

    @Test func everySubscriberReachesItsLastRequestedState() throws {
        var events = SubscriptionWorld.Events()
        for seed in Array(Seeds.range(0..<500)) + (Seeds.isUsual ? Self.rareSeeds : []) {
            var random = SeededRandom(seed: seed)
            var world = SubscriptionWorld(keepsIDs: random.oneIn(2), isFaulty: random.oneIn(3), "seed \(seed)")
            let mix = Mix(&random)
            for _ in 0..<3 { world.subscribe(mix.request(&random)) }
            for step in 0..<80 {
                try Self.step(&world, mix, &random)
                guard step % 20 == 19 else { continue }
                try world.settle(&random)
                try Self.check(world, "seed \(seed), step \(step)")
                world.checkCache("seed \(seed), step \(step)")
            }
            for id in world.ids { world.resume(id) }
            try world.settle(&random)
            try Self.check(world, "seed \(seed), at the end")
            #expect(world.subscribers.values.allSatisfy { $0.changes.allSatisfy { $0.answer != nil } }, "seed \(seed)")
            for id in world.ids { world.unsubscribe(id) }
            try world.settle(&random)
            #expect(world.server.counts.isEmpty, "seed \(seed)")
            events += world.events
        }
        guard Seeds.isUsual else { return }
        #expect(
            events.joins > 0 && events.waitingJoins > 0 && events.mismatches > 0 && events.restores > 0
                && events.cached > 0 && events.compared > 0,
            "\(events)"
        )
    }

    private static func step(_ world: inout SubscriptionWorld, _ mix: Mix, _ random: inout SeededRandom) throws {
        if random.oneIn(5) { world.connect() }
        let subscriber = world.ids.randomElement(using: &random)
        if let subscriber, mix.isEager, random.oneIn(2) { world.take(subscriber, count: 1 + random.below(6)) }
        switch random.below(26) {
        case 0, 1: if world.ids.count < 5 { world.subscribe(mix.request(&random)) }
        case 2: if let subscriber, world.ids.count > 1 { world.unsubscribe(subscriber) }
        case 3...6: if let subscriber { world.change(subscriber, to: Self.change(mix, &random)) }
        case 7: if let subscriber { world.pause(subscriber) }
        case 8: if let subscriber { world.resume(subscriber) }
        case 9: if random.oneIn(3) { world.loseConnection() }
        case 10: if mix.hasRestores, random.oneIn(3) { world.restore(&random) }
        case 11, 12: world.write(&random)
        case 13: if let subscriber { world.take(subscriber, count: random.below(5)) }
        case 14: if let subscriber, random.oneIn(4) { world.restart(subscriber) }
        case 15: world.handleMismatch()
        case 16...20: try world.deliverToServer(&random)
        default: world.deliverToClient()
        }
    }

    /// Returns one of a few requests, so that subscribers often share a view.
    private static func request(_ random: inout SeededRandom) -> ObjectFetchRequest {
        var request = random.oneIn(2) ? Fixtures.request : Fixtures.requestTwice
        if random.oneIn(3) { request.projection.append(PlainServer.second) }
        if random.oneIn(3) { request.sort = [OrderingTerm(PropertyNumber(1), isAscending: false)] }
        if !random.oneIn(4) {
            request.window = FetchWindow(offset: random.below(3) * 2, limit: random.below(2) * 3 + 3)
        }
        return request
    }

    private static func change(_ mix: Mix, _ random: inout SeededRandom) -> ObjectFetchRequest {
        var request = mix.request(&random)
        if random.oneIn(6) { request.window = FetchWindow(limit: PlainServer.refusedLimit) }
        return request
    }

    private static func check(_ world: SubscriptionWorld, _ label: String) throws {
        var views: Set<PlainServer.Key> = []
        for (id, subscriber) in world.subscribers {
            let comment = Comment(rawValue: "\(label), subscriber \(id.rawValue)")
            let (state, request) = (subscriber.queue.state, subscriber.queue.request)
            guard !subscriber.isPaused else { continue }
            views.insert(PlainServer.Key(request))
            #expect(PlainServer.Key(request) == PlainServer.Key(subscriber.request), comment)
            let expected = world.server.state(subscriber.request)
            #expect(state.sections == expected.sections, comment)
            #expect(state.window == expected.window, comment)
            // The newest change that the server accepts is in force.
            for change in subscriber.changes {
                #expect(!(PlainServer.isRefused(change.request) && change.answer == .made), comment)
            }
            if let last = subscriber.changes.last {
                #expect(last.answer == (PlainServer.isRefused(last.request) ? .refused : .made), comment)
            }
        }
        #expect(
            world.server.counts.count == views.count && world.server.counts.values.allSatisfy { $0 == 1 },
            "\(label)"
        )
    }
}
