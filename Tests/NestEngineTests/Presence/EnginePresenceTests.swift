import NestEngine
import NestModel
import NestProtocol
import NestTestSupport
import Testing

/// Presence as clients of the engine see it.
@Suite struct EnginePresenceTests {
    private static let scope = EngineFixture.root

    private func show(_ object: ObjectID) -> EngineRequest {
        .setPresence(scope: Self.scope, bytes: PresencePlace(object: object).presence)
    }

    private static func objects(_ message: PresenceMessage) -> [ObjectID] {
        message.changes.compactMap { $0.state.flatMap { PresencePlace(presence: $0.bytes)?.object } }
    }

    @Test func followersKnowWhoIsPresentWithNumberSessionAndLabel() throws {
        let fixture = try EngineFixture(isVolatile: true)
        let ann = try fixture.connect(session: 1, user: UserLabel("Ann", isClaimed: true))
        let bob = try fixture.connect(session: 2)
        #expect(try fixture.ask(bob, .followPresence(scope: Self.scope, follows: true)).isDone)
        #expect(bob.presence.scopes[Self.scope] == [:])
        fixture.now += 1_000_000
        guard case .present(let number) = try fixture.ask(ann, self.show(ObjectID(1))) else {
            Issue.record("no number")
            return
        }
        let state = try #require(bob.presence.states(in: Self.scope).first)
        #expect(state.number == number && number > 0 && state.user == UserLabel("Ann", isClaimed: true))
        #expect(state.sessionNumber > 0)
        #expect(ann.presence.frameCount == 0)
        // To leave, and to leave again.
        fixture.now += 1_000_000
        for _ in 0..<2 {
            _ = try fixture.ask(ann, .setPresence(scope: Self.scope, bytes: nil))
            #expect(bob.presence.states(in: Self.scope).isEmpty)
        }
        #expect(try fixture.ask(bob, .followPresence(scope: Self.scope, follows: false)).isDone)
        fixture.now += 1_000_000
        _ = try fixture.ask(ann, self.show(ObjectID(1)))
        #expect(bob.presence.states(in: Self.scope).isEmpty)
    }

    @Test func aScopeMustExist() throws {
        let fixture = try EngineFixture(isVolatile: true)
        let ann = try fixture.connect(session: 1)
        for request in [
            EngineRequest.setPresence(scope: ObjectID(99), bytes: []),
            .followPresence(scope: ObjectID(99), follows: true),
        ] {
            #expect(try fixture.ask(ann, request).error?.code == .notFound)
        }
        // To leave what was never entered is no mistake.
        #expect(try fixture.ask(ann, .setPresence(scope: ObjectID(99), bytes: nil)).error == nil)
    }

    /// Even if connections are blocked, lists lag or all comes in one batch: when a PRESENCE names a row, the list of
    /// the follower has it.
    @Test func aPresenceComesAfterTheDiffWithItsRow() throws {
        for seed in Seeds.range(0..<40) {
            var random = SeededRandom(seed: seed)
            let fixture = try EngineFixture(isVolatile: true, windowWorkMax: random.oneIn(2) ? 1 : 10_000)
            let clients = try (1...4).map { try fixture.connect(session: $0) }
            var named = 0
            for client in clients {
                try fixture.perform([client.subscribe(EngineFixture.root)])
                _ = try fixture.ask(client, .followPresence(scope: Self.scope, follows: true))
                client.onPresence = { [unowned client] message in
                    let rows = client.state(EngineFixture.root)?.sections.flatMap(\.rows).map(\.id) ?? []
                    let missing = Self.objects(message).filter { !rows.contains($0) }
                    named += Self.objects(message).count
                    #expect(missing.isEmpty, "seed \(seed): \(missing) before the diff")
                }
            }
            for _ in 0..<Seeds.steps(60) {
                fixture.now += Int64(random.below(80_000))
                let client = random.pick(clients)
                switch random.below(5) {
                case 0: try fixture.perform([client.isBlocked ? client.drain() : client.block()])
                case 1: try fixture.perform([.positionTimer])
                default:
                    guard !client.isBlocked else { break }
                    let row = try #require(try fixture.write(client, [EngineFixture.insert("row")]).insertedIDs.first)
                    // The next write of another client is in the batch, before it or behind it.
                    let other = random.pick(clients)
                    let write = other.request(.transaction(.init(mutations: [EngineFixture.insert("other")]))).input
                    let set = client.request(self.show(row)).input
                    try fixture.perform(random.oneIn(2) ? [write, set] : [set, write])
                }
            }
            for client in clients where client.isBlocked { try fixture.perform([client.drain()]) }
            for _ in 0..<3 {
                fixture.now += 1_000_000
                try fixture.perform([.positionTimer])
            }
            #expect(named > 0, "seed \(seed)")
            for client in clients {
                #expect(
                    client.presence.texts(in: Self.scope) == clients[0].presence.texts(in: Self.scope),
                    "seed \(seed)"
                )
            }
        }
    }

    @Test func aConfinedClientSeesTheScopesThatItReaches() throws {
        let fixture = try EngineFixture(isVolatile: true)
        let admin = try fixture.connect(session: 1, user: UserLabel("Ann"))
        let inside = try #require(try fixture.write(admin, [EngineFixture.insert("inside")]).insertedIDs.first)
        let item = try #require(
            try fixture.write(admin, [EngineFixture.insert("item", under: inside)]).insertedIDs.first
        )
        let grant = AccessConfinement(root: inside, entity: EngineFixture.item, relationship: PropertyNumber(6))
        let guest = try fixture.connect(session: 2, scope: .subtree(grant))
        // An object outside is refused like one that does not exist.
        func refusal(_ scope: ObjectID) throws -> NestError? {
            try fixture.ask(guest, .followPresence(scope: scope, follows: true)).error
        }
        let outside = try #require(try refusal(EngineFixture.root))
        #expect(outside == NestError(.notFound, "there is no object with id 1", object: EngineFixture.root))
        #expect(try refusal(inside) == nil && refusal(item) == nil)
        for scope in [EngineFixture.root, inside, item] {
            fixture.now += 1_000_000
            _ = try fixture.ask(admin, .setPresence(scope: scope, bytes: [1]))
        }
        #expect(Set(guest.presence.scopes.keys) == [inside, item])
        #expect(guest.presence.states(in: item).map { $0.user?.text } == ["Ann"])
        // The scope leaves the reach: the next change empties it.
        try fixture.write(admin, [EngineFixture.move(item, .last)])
        fixture.now += 1_000_000
        _ = try fixture.ask(admin, .setPresence(scope: item, bytes: [2]))
        #expect(guest.presence.states(in: item).isEmpty)
        fixture.now += 1_000_000
        _ = try fixture.ask(admin, .setPresence(scope: item, bytes: [3]))
        #expect(guest.presence.states(in: item).isEmpty)
        #expect(guest.presence.states(in: inside).map(\.bytes) == [[1]])
    }
}
