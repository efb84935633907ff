import NestEngine
import NestModel
import Testing

/// A connection of a session with a token scope, as the engine knows it.
final class ScopedClient {
    private let fixture: EngineFixture
    private let connection: ConnectionID
    private var lastRequest: UInt32 = 0
    /// The undo states that the server has pushed.
    private(set) var pushed: [UndoState] = []

    init(_ fixture: EngineFixture, session: UInt64, _ scope: AuthorisationScope) throws {
        self.fixture = fixture
        self.connection = fixture.newConnection()
        let id = Identifier128(high: 5, low: session)
        try fixture.perform([.connected(self.connection, session: id, scope: scope)])
    }

    /// Returns the input for a request, to send it in a batch with others.
    func input(_ request: EngineRequest) -> EngineInput {
        self.lastRequest += 1
        return .request(self.connection, requestID: self.lastRequest, request)
    }

    func take(_ effects: [EngineEffect]) -> [EngineReply] {
        var replies: [EngineReply] = []
        for effect in effects {
            if case .undoState(let state, let to) = effect, to.contains(self.connection) { self.pushed.append(state) }
            if case .reply(self.connection, _, let reply) = effect { replies.append(reply) }
        }
        return replies
    }

    func ask(_ request: EngineRequest) throws -> EngineReply {
        try #require(self.take(try self.fixture.perform([self.input(request)])).first)
    }

    @discardableResult
    func write(_ mutations: [Mutation], name: String? = nil, key: Identifier128? = nil) throws -> Receipt {
        let reply = try self.ask(.transaction(WriteTransaction(name: name, key: key, mutations: mutations)))
        if let error = reply.error { throw error }
        return try #require(reply.receipt)
    }

    func undoState(follows: Bool = false) throws -> UndoState {
        guard case .undoState(let state) = try self.ask(.undoState(follows: follows)) else { return UndoState() }
        return state
    }

    func history() throws -> [String] {
        let request = EngineRequest.history(before: Revision(0), limit: 100, onlyMine: true)
        guard let entries = try self.ask(request).entries else { return [] }
        return entries.map(\.name)
    }
}
