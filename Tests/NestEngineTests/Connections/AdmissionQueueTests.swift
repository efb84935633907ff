import NestEngine
import NestModel
import NestStore
import Testing

/// `Admission` without an engine.
@Suite struct AdmissionQueueTests {
    private let connections = EngineConnections()
    private let memory = AnswerMemory(bytesMax: 1_000)
    private let admission: Admission
    private let request = EngineRequest.fetch(ObjectFetchRequest(entity: EntityNumber(1)), atLeast: Revision(0))

    init() throws {
        let store = try Store(
            .init(location: .memory, model: .nestedList),
            newHistoryID: Identifier128(high: 1, low: 2)
        )
        let limits = EngineLimits(admissionWorkMax: 100, answerBytesUnreadMax: 50)
        let scopes = TokenScopes(store, rowsPerTurn: limits.scopeRowsPerTurnMax)
        self.admission = Admission(self.connections, scopes, limits, self.memory)
        for number in 1...3 as ClosedRange<UInt64> {
            self.connections.add(ConnectionID(number), session: number, scope: .everything)
        }
    }

    private func connection(_ number: UInt64) throws -> EngineConnection {
        try #require(self.connections[ConnectionID(number)])
    }

    private func turn() -> UInt64? {
        guard let next = self.admission.next() else { return nil }
        self.admission.endTurn(next.connection)
        return next.connection.id.rawValue
    }

    @Test func connectionsTakeTurnsRegardlessOfTheirRequestCount() throws {
        for number in [1, 1, 1, 2, 3, 3] as [UInt64] {
            self.admission.enqueue(self.request, 1, try self.connection(number))
        }
        #expect((0..<7).map { _ in self.turn() } == [1, 2, 3, 1, 3, 1, nil])
    }

    @Test func requestsForResultsDoNotOvertakeWaitingOnes() throws {
        #expect(!self.admission.mustWait(self.request, try self.connection(1)))
        self.admission.enqueue(self.request, 1, try self.connection(1))
        #expect(self.admission.mustWait(self.request, try self.connection(2)))
        #expect(!self.admission.mustWait(.statistics, try self.connection(2)))
        #expect(self.turn() == 1)
        #expect(!self.admission.mustWait(self.request, try self.connection(2)))
    }

    @Test func requestsWaitOnceTheWorkOfATurnIsUsedUp() throws {
        self.admission.work = 100
        #expect(self.admission.mustWait(self.request, try self.connection(1)))
        self.admission.beginTurn()
        #expect(!self.admission.mustWait(self.request, try self.connection(1)))
    }

    @Test func aConnectionWithUnreadAnswersGetsNoMore() throws {
        let connection = try self.connection(1)
        var effects: [EngineEffect] = []
        self.admission.charge(50, to: connection, &effects)
        #expect(effects.isEmpty && !self.admission.mustWait(self.request, connection))
        self.admission.charge(1, to: connection, &effects)
        self.admission.charge(1, to: connection, &effects)
        #expect(effects.count == 1 && self.admission.answerBytes == 52)
        #expect(self.admission.mustWait(self.request, connection))
        self.admission.enqueue(self.request, 1, connection)
        #expect(self.turn() == nil)
        self.admission.drained(connection)
        self.admission.giveTurn(connection)
        #expect(self.turn() == 1)
    }

    @Test func noConnectionGetsATurnWithoutMemoryForAnswers() throws {
        var held: AnswerShare? = self.memory.share(500)
        self.admission.enqueue(self.request, 1, try self.connection(1))
        #expect(held != nil && !self.admission.hasBacklog && self.turn() == nil)
        held = nil
        #expect(self.admission.hasBacklog && self.turn() == 1)
    }

    @Test func aClosedConnectionLosesItsTurn() throws {
        for number in [1, 2] as [UInt64] { self.admission.enqueue(self.request, 1, try self.connection(number)) }
        _ = self.connections.remove(ConnectionID(1))
        #expect([self.turn(), self.turn()] == [2, nil])
    }
}
