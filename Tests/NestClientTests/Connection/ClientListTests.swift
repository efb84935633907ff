import NIOCore
import NestFraming
import NestModel
import NestProtocol
import NestTestSupport
import Testing

@testable import NestClient

/// A client with a list of addresses, step by step.
@Suite struct ClientListTests: ClientSteps {
    private static let dead = NestError(.unreachable, "nothing listens there")

    private static func address(_ number: Int) -> ServerAddress { ServerAddress(host: "n\(number)", port: 7000) }

    private static func machine(_ count: Int, seed: UInt64 = 1, store: String? = nil) -> ClientStateMachine {
        let hello = Hello(clientName: "t", session: Identifier128(high: 1, low: 2))
        return ClientStateMachine(hello: hello, seed: seed, homes: (0..<count).map(Self.address), store: store)
    }

    private static func pause(_ actions: [ClientAction]) -> Int? {
        actions.lazy.compactMap { if case .openChannelAfter(let pause) = $0 { pause } else { nil } }.first
    }

    // MARK: Addresses

    @Test func clientsBeginAtDifferentAddresses() {
        let first = Set((0..<64).map { Self.machine(3, seed: $0).route.current })
        #expect(first == Set((0..<3).map(Self.address)))
    }

    /// Nodes die and come back in any order. The client tries each once before it pauses, and ends at a live one.
    @Test func theClientEndsAtALiveNodeAndTriesNoneTwiceBeforeAll() {
        for seed in Seeds.range(0..<300) {
            var random = SeededRandom(seed: seed)
            let count = 2 + random.below(4)
            var machine = Self.machine(count, seed: seed)
            var now = Self.start
            var actions = machine.connect()
            var live: Set<ServerAddress> = []
            for turn in 0..<12 {
                // Any nodes live now, at least one.
                live = Set((0..<count).filter { _ in random.oneIn(2) }.map(Self.address))
                live.insert(Self.address(random.below(count)))
                var tried: [ServerAddress] = []
                while machine.phase != .ready {
                    if let pause = Self.pause(actions) {
                        #expect(pause == 0 || Set(tried).count == count, "NEST_SEED=\(seed): paused after \(tried)")
                        if pause > 0 { tried = [] }
                        actions = machine.backoffEnded()
                    }
                    #expect(actions == [.openChannel], "NEST_SEED=\(seed)")
                    let here = machine.route.current
                    #expect(!tried.contains(here), "NEST_SEED=\(seed), turn \(turn): \(here) again after \(tried)")
                    tried.append(here)
                    #expect(tried.count <= count, "NEST_SEED=\(seed)")
                    if live.contains(here), !random.oneIn(8) {
                        Self.welcome(&machine, now: now)
                    } else {
                        actions = machine.channelClosed(Self.dead, now: now)
                        if machine.phase == .idle {
                            #expect(Set(tried).count == count, "NEST_SEED=\(seed)")
                            tried = []
                            actions = machine.connect()
                        }
                    }
                }
                #expect(live.contains(machine.route.current), "NEST_SEED=\(seed)")
                now = now + .seconds(Int64(Limits.reconnectNodeHealthySeconds))
                actions = machine.channelClosed(nil, now: now)
            }
        }
    }

    /// Nodes that accept clients and close at once: no storm of connections.
    @Test func nodesThatCloseAtOnceAreTriedWithPauses() throws {
        var machine = Self.machine(3)
        _ = machine.connect()
        Self.welcome(&machine)
        var pauses: [Int] = []
        for _ in 0..<12 {
            pauses.append(try #require(Self.pause(machine.channelClosed(nil, now: Self.start))))
            _ = machine.backoffEnded()
            Self.welcome(&machine)
        }
        // The round ends with the address of the first connection.
        #expect(
            pauses.map { $0 > 0 } == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map { $0 >= 3 && $0 % 3 == 0 },
            "\(pauses)"
        )
        #expect(pauses[9] > pauses[3])
    }

    @Test func aFailedFirstAttemptNamesEveryServer() {
        var machine = Self.machine(3)
        _ = machine.submit(Self.read(1))
        var actions: [ClientAction] = []
        for number in 0..<3 {
            let isRefused = machine.route.current == Self.address(1)
            let error = isRefused ? NestError(.unauthenticated, "no such token") : Self.dead
            actions = machine.channelClosed(error, now: Self.start)
            if number < 2 { #expect(actions == [.openChannel]) }
        }
        guard case .connectFailed(let error)? = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(actions.last == .fail(RequestToken(1), error) && machine.phase == .idle)
        #expect(error.code == .unauthenticated && error.message.hasPrefix("cannot connect to any of 3 servers:\n"))
        for line in ["n0:7000: nothing listens", "n1:7000: no such token", "n2:7000: nothing"] {
            #expect(error.message.contains(line), "\(error.message)")
        }
    }

    /// What one server refuses for good, another may accept; what all refuse ends the client.
    @Test func onlyARefusalOfAllServersEndsTheClient() {
        var machine = Self.machine(2)
        _ = machine.connect()
        let refusal = ErrorMessage(NestError(.unauthenticated, "no such token"))
        func refuse() -> [ClientAction] {
            _ = machine.channelOpened(now: Self.start)
            #expect(machine.received(Self.frame(refusal), now: Self.start) == [.closeChannel])
            return machine.channelClosed(nil, now: Self.start)
        }
        #expect(refuse() == [.openChannel])
        Self.welcome(&machine)
        let other = machine.route.current
        #expect(Self.pause(machine.channelClosed(nil, now: Self.start)) == 0)
        _ = machine.backoffEnded()
        #expect(machine.route.current != other)
        #expect(Self.pause(refuse()) == 0)
        _ = machine.backoffEnded()
        _ = refuse()
        guard case .closed(let error) = machine.phase else {
            Issue.record("\(machine.phase)")
            return
        }
        #expect(error.code == .unauthenticated && error.message.contains("any of 2 servers"))
    }

    @Test func goAwayOfAStoppingNodeSendsTheClientOnAtOnce() {
        for (code, expected) in [(ErrorCode.shuttingDown, 0), (.schemaChanged, 700)] {
            var machine = Self.machine(3)
            _ = machine.connect()
            Self.welcome(&machine)
            let first = machine.route.current
            _ = machine.submit(Self.read(1))
            let goAway = GoAway(code: code, lastRequestID: 0, retryAfterMilliseconds: 700, message: "")
            #expect(machine.received(Self.frame(goAway), now: Self.start) == [.closeChannel])
            #expect(machine.channelClosed(nil, now: Self.start) == [.openChannelAfter(milliseconds: expected)])
            #expect(machine.route.current != first)
            _ = machine.backoffEnded()
            #expect(Self.sent(Self.welcome(&machine)) == [.getObject])
        }
    }

    /// A list stays a list: a leader that WELCOME names is not one of it.
    @Test func theLeaderIsNotAddedToAList() {
        var machine = Self.machine(2)
        _ = machine.connect()
        Self.welcome(&machine)
        for _ in 0..<6 {
            _ = machine.channelClosed(Self.dead, now: Self.start)
            _ = machine.backoffEnded()
            #expect(machine.route.isHome)
        }
    }

    @Test func aServerWithAnotherStoreIsRefused() {
        var right = Self.machine(1, store: "default")
        _ = right.connect()
        Self.welcome(&right)
        #expect(right.phase == .ready)
        for isNode in [true, false] {
            var wrong = Self.machine(1, store: "x")
            _ = wrong.connect()
            Self.welcome(&wrong, isNode ? .follower : nil)
            guard case .closed(let error) = wrong.phase else {
                Issue.record("\(wrong.phase)")
                return
            }
            #expect(error.code == .notFound && error.message.contains("'default', not 'x'"))
        }
    }

    // MARK: Revisions

    private static func atLeast(_ frame: Frame) throws -> Revision {
        frame.type == MessageType.subscribe.rawValue
            ? try Subscribe(body: frame.body).atLeast : try Fetch(body: frame.body).atLeast
    }

    private static func move(_ machine: inout ClientStateMachine, history: UInt64 = 7, isNode: Bool = true) throws
        -> [Frame]
    {
        _ = machine.channelClosed(nil, now: Self.start)
        _ = machine.backoffEnded()
        return try Self.frames(Self.welcome(&machine, isNode ? .follower : nil, history: history))
    }

    /// Each message with a revision raises the revision that the client asks of the next node.
    @Test func readsAskForTheHighestRevisionThatTheClientHasSeen() throws {
        var machine = Self.machine(2)
        _ = machine.connect()
        Self.welcome(&machine, revision: 3)
        #expect(try Self.frames(machine.submit(Self.fetch(1))).map(Self.atLeast) == [Revision(3)])
        _ = machine.submit(Self.write(2))
        let receipt = ReceiptMessage(Receipt(revision: Revision(5), isChanged: true))
        _ = machine.received(Self.frame(receipt, id: 2), now: Self.start)
        #expect(try Self.frames(machine.submit(Self.fetch(3))).map(Self.atLeast) == [Revision(5)])
        _ = machine.received(Self.frame(Progress(revision: Revision(8))), now: Self.start)
        let subscribed = try Self.frames(machine.subscribe(SubscriberID(50), to: Fixtures.request))
        #expect(try subscribed.map(Self.atLeast) == [Revision(8)])
        let snapshot = SnapshotMessage(Fixtures.header(Fixtures.state(9, [])))
        _ = machine.received(Self.frame(snapshot, id: 1), now: Self.start)
        // What the caller asks for counts if it is more.
        #expect(
            try Self.frames(machine.submit(Self.fetch(4, atLeast: Revision(20)))).map(Self.atLeast) == [Revision(20)]
        )
        // The node that takes over is behind. The third and the fourth fetch are sent again, with the subscription.
        #expect(try Self.move(&machine).map(Self.atLeast) == [Revision(9), Revision(20), Revision(9)])
        // Revisions of another history say nothing.
        #expect(try Self.move(&machine, history: 8).map(Self.atLeast) == [Revision(0), Revision(20), Revision(0)])
    }

    @Test func diffsRaiseTheRevisionOfReads() throws {
        var machine = Self.machine(2)
        _ = machine.connect()
        Self.welcome(&machine)
        _ = machine.subscribe(SubscriberID(50), to: Fixtures.request)
        let view: UInt32 = Limits.viewIDMin
        _ = machine.received(Self.frame(Fixtures.subscribed(view, .snapshot), id: 1), now: Self.start)
        var state = Fixtures.state(4, [])
        _ = machine.received(Self.frame(SnapshotMessage(Fixtures.header(state)), id: view), now: Self.start)
        #expect(try Self.frames(machine.submit(Self.fetch(1))).map(Self.atLeast) == [Revision(4)])
        let diff = Fixtures.append(Fixtures.row(2, "Milk"), to: &state, at: 6, from: 4)
        _ = machine.received(Self.frame(Fixtures.body(diff), id: view), now: Self.start)
        #expect(try Self.frames(machine.submit(Self.fetch(2))).map(Self.atLeast) == [Revision(6)])
    }

    /// A single server has the newest revision; a node has to ask the log.
    @Test func newestIsAskedOfNodesOnly() throws {
        var machine = Self.machine(2)
        _ = machine.connect()
        Self.welcome(&machine, revision: 3)
        #expect(try Self.frames(machine.submit(Self.fetch(1, atLeast: .newest))).map(Self.atLeast) == [.newest])
        #expect(try Self.move(&machine, isNode: false).map(Self.atLeast) == [Revision(3)])
    }

    /// A node that does not get there in time is left, and the request is asked of the next; of the last, the error
    /// counts.
    @Test func aNodeThatLagsIsLeft() throws {
        var machine = Self.machine(3)
        _ = machine.connect()
        Self.welcome(&machine, revision: 3)
        _ = machine.submit(Self.fetch(1))
        let late = ErrorMessage(NestError(.revisionNotReached, "the store is at revision 2, not yet at 3"))
        var visited: Set<ServerAddress> = [machine.route.current]
        for _ in 0..<2 {
            #expect(machine.received(Self.frame(late, id: 1), now: Self.start) == [.closeChannel])
            #expect(machine.channelClosed(nil, now: Self.start) == [.openChannelAfter(milliseconds: 0)])
            _ = machine.backoffEnded()
            #expect(try Self.frames(Self.welcome(&machine)).map(Self.atLeast) == [Revision(3)])
            visited.insert(machine.route.current)
        }
        #expect(visited.count == 3)
        #expect(machine.received(Self.frame(late, id: 1), now: Self.start) == [.fail(RequestToken(1), late.error)])
    }
}
