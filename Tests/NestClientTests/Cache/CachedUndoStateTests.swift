import NestFraming
import NestModel
import NestProtocol
import NestTestSupport
import Testing

@testable import NestClient

/// The undo state that followers see from the cache.
@Suite struct CachedUndoStateTests: ClientSteps {
    private static let session = Identifier128(high: 1, low: 2)
    private static let state = UndoState(
        undo: .init(revision: Revision(5), name: "move \"Milk\"", transactionCount: 1),
        undoCount: 3,
        group: 9
    )
    private static var shown: UndoState {
        var state = Self.state
        state.group = nil
        return state
    }

    private static func machine(session: Identifier128 = Self.session) -> ClientStateMachine {
        ClientStateMachine(hello: Hello(clientName: "t", session: session), seed: 1, usesCache: true)
    }

    private static func recorded(_ actions: [ClientAction]) -> [CachedView] {
        actions.compactMap { if case .cache(.replace(let view)) = $0 { view } else { nil } }
    }

    private static func removed(_ actions: [ClientAction]) -> [[UInt8]] {
        actions.compactMap { if case .cache(.remove(let request, _)) = $0 { request } else { nil } }
    }

    /// What a client records that has followed the undo state.
    private static func cached() throws -> CachedView {
        var machine = Self.machine()
        _ = machine.followUndoState()
        let request = try #require(try Self.frames(Self.welcome(&machine, nil)).first)
        let actions = machine.received(Self.frame(UndoStateMessage(Self.state), id: request.id), now: Self.start)
        #expect(actions.contains(.deliverUndoState(Self.state)))
        // A push without a change is not written again.
        #expect(machine.received(Self.frame(UndoStateMessage(Self.state)), now: Self.start) == [])
        let view = try #require(Self.recorded(actions).first)
        #expect(view.request == ClientStateMachine.undoStateKey)
        return view
    }

    @Test func followersSeeTheLastStateUntilTheServerHasSentIt() throws {
        var machine = Self.machine()
        #expect(machine.followUndoState(try Self.cached()).first == .deliverUndoState(Self.shown))
        let request = try #require(try Self.frames(Self.welcome(&machine, nil)).first)
        let next = UndoState(redo: Self.state.undo, redoCount: 1)
        let actions = machine.received(Self.frame(UndoStateMessage(next), id: request.id), now: Self.start)
        #expect(actions.contains(.deliverUndoState(next)))
        #expect(Self.recorded(actions).count == 1)
    }

    /// It is no reason to give up that no server can be reached: the state stays.
    @Test func withoutAServerTheStateStays() throws {
        var machine = Self.machine()
        _ = machine.followUndoState(try Self.cached())
        let actions = machine.channelClosed(nil, now: Self.start)
        #expect(!actions.contains { if case .endUndoState = $0 { true } else { false } })
        #expect(actions.contains { if case .openChannelAfter = $0 { true } else { false } })
        #expect(machine.undoState == Self.shown)
        var other = Self.machine()
        _ = other.followUndoState()
        let ended = other.channelClosed(nil, now: Self.start)
        #expect(ended.contains { if case .endUndoState = $0 { true } else { false } })
    }

    @Test func theStateOfAnotherSessionTokenOrStoreIsNotShown() throws {
        let cached = try Self.cached()
        var others = [Self.machine(session: Identifier128(high: 1, low: 3))]
        others.append(
            ClientStateMachine(
                hello: Hello(clientName: "t", session: Self.session),
                seed: 1,
                store: "other",
                usesCache: true
            )
        )
        for var machine in others {
            let actions = machine.followUndoState(cached)
            #expect(Self.removed(actions) == [ClientStateMachine.undoStateKey])
            #expect(machine.undoState == nil)
        }
    }

    @Test func theStateOfAnotherHistoryIsDropped() throws {
        let cached = try Self.cached()
        var machine = Self.machine()
        _ = machine.followUndoState(cached)
        let actions = Self.welcome(&machine, nil, history: 8)
        #expect(Self.removed(actions) == [ClientStateMachine.undoStateKey])
        #expect(actions.contains(.deliverUndoState(UndoState())))
        // A follower that comes later does not see it either.
        var connected = Self.machine()
        _ = connected.connect()
        Self.welcome(&connected, nil, history: 8)
        #expect(Self.removed(connected.followUndoState(cached)) == [ClientStateMachine.undoStateKey])
    }

    @Test func aDamagedStateIsDropped() throws {
        func isDropped(_ change: (inout CachedView) -> Void) throws {
            var view = try Self.cached()
            change(&view)
            var machine = Self.machine()
            #expect(Self.removed(machine.followUndoState(view)) == [ClientStateMachine.undoStateKey])
            #expect(machine.undoState == nil)
        }
        try isDropped { $0.frames = [] }
        try isDropped { $0.frames[0].body[0] ^= 1 }
        try isDropped { $0.frames[0].type = SnapshotMessage.type.rawValue }
        try isDropped { $0.digest ^= 1 }
        try isDropped { view in
            view.frames[0].body = [1]
            view.digest = fnv1a([1])
        }
    }

    /// A state that the server has sent is newer than any that a slow cache returns.
    @Test func aLateStateOfTheCacheIsIgnored() throws {
        let cached = try Self.cached()
        var machine = Self.machine()
        _ = machine.followUndoState()
        let request = try #require(try Self.frames(Self.welcome(&machine, nil)).first)
        let next = UndoState(undoCount: 1)
        _ = machine.received(Self.frame(UndoStateMessage(next), id: request.id), now: Self.start)
        #expect(machine.beginUndoState(cached) == [])
        #expect(machine.undoState == next)
    }
}

extension SocketTests {
    struct CachedUndoStateClientTests {
        /// Also with a session that is read from its file before the first connection.
        @Test(arguments: [ClientSession.kept, .secret(Identifier128(high: 1, low: 2))])
        func aClientBeginsWithTheUndoStateOfItsLastRun(_ session: ClientSession) async throws {
            let cache = SharedCache()
            let directory = TemporaryDirectory()
            let state = UndoState(undo: .init(revision: Revision(5), name: "edit", transactionCount: 1), undoCount: 1)
            try await FakeServer.run { server in
                guard server.number == 0 else { return }
                try await server.welcome()
                let (id, message) = try await server.expect(GetUndoState.self)
                #expect(message.follows)
                try await server.send(UndoStateMessage(state), id: id)
                await server.untilClosed()
            } client: { port in
                var configuration = Fixtures.configuration(port)
                configuration.cache = cache
                configuration.session = session
                configuration.sessionDirectory = directory.path
                configuration.reconnectPauseMax = .milliseconds(50)
                for _ in 0..<2 {
                    // The second run reaches no server.
                    let client = NestClient(configuration)
                    var states = client.undoStates().makeAsyncIterator()
                    let first = try await states.next()
                    #expect(first == state)
                    await client.close()
                }
            }
        }
    }
}
