import NestModel
import NestTestSupport
import Testing

@testable import NestClient

/// Subscribers change their requests, pause, resume, join and leave while rows are written and connections are lost.
/// Each ends with exactly the rows of its confirmed request, and the server holds exactly the needed views.
@Suite struct SubscriptionChangePropertyTests {
    @Test func everySubscriberReachesItsLastRequestedState() throws {
        for seed in Seeds.range(0..<400) {
            var random = SeededRandom(seed: seed)
            var world = SubscriptionWorld(keepsIDs: random.oneIn(2), "seed \(seed)")
            for _ in 0..<3 { world.subscribe(Self.request(&random)) }
            for step in 0..<80 {
                try Self.step(&world, &random)
                guard step % 20 == 19 else { continue }
                try world.settle(&random)
                try Self.check(world, "seed \(seed), step \(step)")
            }
            for id in world.ids { world.resume(id) }
            try world.settle(&random)
            try Self.check(world, "seed \(seed), at the end")
            #expect(world.subscribers.values.allSatisfy { $0.changes.allSatisfy { $0.answer != nil } }, "seed \(seed)")
            for id in world.ids { world.unsubscribe(id) }
            try world.settle(&random)
            #expect(world.server.counts.isEmpty, "seed \(seed)")
        }
    }

    private static func step(_ world: inout SubscriptionWorld, _ random: inout SeededRandom) throws {
        let subscriber = world.ids.randomElement(using: &random)
        switch random.below(24) {
        case 0: if world.ids.count < 5 { world.subscribe(Self.request(&random)) }
        case 1: if let subscriber, world.ids.count > 1 { world.unsubscribe(subscriber) }
        case 2...4: if let subscriber { world.change(subscriber, to: Self.change(&random)) }
        case 5: if let subscriber { world.pause(subscriber) }
        case 6, 7: if let subscriber { world.resume(subscriber) }
        case 8: if random.oneIn(3) { world.loseConnection() }
        case 9: world.connect()
        case 10...12: world.write(&random)
        case 13: if let subscriber { world.take(subscriber, count: random.below(5)) }
        case 14...18: try world.deliverToServer(&random)
        default: world.deliverToClient()
        }
    }

    /// Returns one of a few requests, so that subscribers often share a view.
    private static func request(_ random: inout SeededRandom) -> ObjectFetchRequest {
        var request = random.oneIn(2) ? Fixtures.request : Fixtures.requestTwice
        if random.oneIn(3) { request.sort = [OrderingTerm(PropertyNumber(1), isAscending: false)] }
        if !random.oneIn(4) {
            request.window = FetchWindow(offset: random.below(3) * 2, limit: random.below(2) * 3 + 3)
        }
        return request
    }

    private static func change(_ random: inout SeededRandom) -> ObjectFetchRequest {
        var request = Self.request(&random)
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
