import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

@testable import NestEngine

/// PUT_VALUE in the engine: a part in a turn, of the connection that has spent least.
@Suite struct ValuePutTests {
    private static let part = Limits.valuePartBytes

    private let fixture: EngineFixture

    init() throws {
        self.fixture = try EngineFixture(model: EngineFixture.modelWithValues)
    }

    /// Runs turns until the engine has nothing to do. Returns their number.
    @discardableResult
    private func finish(turnsMax: Int = 100) throws -> Int {
        var turns = 0
        while self.fixture.engine.hasBacklog, turns < turnsMax {
            try self.fixture.perform([])
            turns += 1
        }
        #expect(turns < turnsMax)
        return turns
    }

    /// A client that waits for ids does not wait for the values of others.
    @Test func reservationsDoNotWaitForLargeValues() throws {
        let (a, b) = try (self.fixture.connect(session: 1), self.fixture.connect(session: 2))
        let puts = try (0..<4).map { try a.request(EngineFixture.putting(2 * Self.part, seed: UInt64($0))) }
        try self.fixture.perform(puts.map(\.input))
        for _ in 0..<2 {
            let request = b.request(.reserveIDs(2))
            try self.fixture.perform([request.input])
            guard case .reserved? = b.replies[request.id] else {
                Issue.record("no ids in the turn of the request")
                continue
            }
        }
        #expect(puts.contains { a.replies[$0.id] == nil })
        try self.finish()
        #expect(puts.allSatisfy { a.replies[$0.id]?.largeValue != nil })
    }

    /// A turn writes one part; writes of others are committed between them, and nothing sees the value before its end.
    @Test func aTurnHasOnePart() throws {
        let (a, b) = try (self.fixture.connect(session: 1), self.fixture.connect(session: 2))
        let put = try a.request(EngineFixture.putting(3 * Self.part - 1))
        try self.fixture.perform([put.input])
        for part in 1...3 {
            #expect(a.replies[put.id] == nil)
            #expect(self.fixture.engine.hasBacklog)
            let write = b.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("\(part)")])))
            try self.fixture.perform([write.input])
            #expect(b.replies[write.id]?.receipt != nil)
            let pieces = try self.fixture.store.valueRows("nest_value_piece")
            #expect(pieces == part * Self.part / Limits.largeValuePieceBytes)
            let (isEmpty, isLast) = ("descriptor = x''", part == 3)
            #expect(try self.fixture.store.valueRows("nest_value", where: isEmpty) == (isLast ? 0 : 1))
            #expect(try self.fixture.store.reader.check(deadline: .none) { _ in }.problems == [])
        }
        #expect(!self.fixture.engine.hasBacklog)
        let value = try #require(a.replies[put.id]?.largeValue)
        let id = try #require(try self.fixture.children().first)
        #expect(try self.fixture.write(a, [EngineFixture.setting(id, value)]).isChanged)
    }

    /// A client that has sent much waits for one that has sent little.
    @Test func connectionsTakeTurnsByLength() throws {
        let (a, b) = try (self.fixture.connect(session: 1), self.fixture.connect(session: 2))
        let puts = try (0..<8).map { try a.request(EngineFixture.putting(4 * Self.part, seed: UInt64($0))) }
        try self.fixture.perform(puts.map(\.input))
        try self.fixture.perform([])
        // In a turn of its own: its parts take turns with those of the other connection.
        let put = try b.request(EngineFixture.putting(2 * Self.part, seed: 9))
        try self.fixture.perform([put.input])
        var turns = 0
        while b.replies[put.id] == nil, turns < 100 {
            try self.fixture.perform([])
            turns += 1
        }
        #expect(turns <= 4, "\(turns)")
        #expect(puts.filter { a.replies[$0.id] != nil }.count <= 1)
        // What it has sent counts for its later writes too.
        #expect(self.fixture.engine.turns.spent(by: a.connection) > 0)
        #expect(try self.finish() <= 34)
    }

    @Test func whoHasLeftLeavesNoParts() throws {
        let (a, b) = try (self.fixture.connect(session: 1), self.fixture.connect(session: 2))
        var holder: EngineFixture.Holder? = EngineFixture.Holder()
        weak let held = holder
        let requests = try [EngineFixture.putting(2 * Self.part, heldBy: holder), EngineFixture.putting(10)]
        holder = nil
        try self.fixture.perform(requests.map { a.request($0).input })
        let put = try b.request(EngineFixture.putting(2 * Self.part, seed: 2))
        try self.fixture.perform([put.input])
        #expect(try self.fixture.store.valueRows("nest_value") == 1)
        try self.fixture.perform([.disconnected(a.connection)])
        try self.finish()
        #expect(b.replies[put.id]?.largeValue != nil)
        #expect(try self.fixture.store.valueRows("nest_value") == 1)
        #expect(try self.fixture.store.valueRows("nest_value_piece") == 2 * Self.part / Limits.largeValuePieceBytes)
        withExtendedLifetime(requests) { #expect(held != nil) }
    }

    @Test func aDamagedValueLeavesNoParts() throws {
        let client = try self.fixture.connect(session: 1)
        let put = try client.request(EngineFixture.putting(3 * Self.part, isDamaged: true))
        let next = try client.request(EngineFixture.putting(5))
        try self.fixture.perform([put.input, next.input])
        try self.finish()
        #expect(client.replies[put.id]?.error?.code == .checksum)
        #expect(client.replies[next.id]?.largeValue != nil)
        #expect(try self.fixture.store.valueRows("nest_value_piece") == 1)
    }

    /// A value that has lost its parts to newer ones of its session is refused, and leaves nothing.
    @Test func aValueWhoseSessionSendsManyOthersIsRefused() throws {
        let (a, b) = try (self.fixture.connect(session: 1), self.fixture.connect(session: 1))
        let put = try a.request(EngineFixture.putting(40 * Self.part))
        try self.fixture.perform([put.input])
        try self.fixture.perform([])
        let others = try (0..<Limits.stagedValuesPerSessionMax).map {
            try b.request(EngineFixture.putting(1, seed: UInt64($0)))
        }
        try self.fixture.perform(others.map(\.input))
        try self.finish()
        #expect(a.replies[put.id]?.error?.code == .limitExceeded)
        #expect(others.allSatisfy { b.replies[$0.id]?.largeValue != nil })
        #expect(try self.fixture.store.valueRows("nest_value_piece") == Limits.stagedValuesPerSessionMax)
    }

    /// A server that ends in the middle leaves parts that nothing can set, and that a day later are gone.
    @Test func partsOfAnEarlierProcessAreDropped() throws {
        let client = try self.fixture.connect(session: 1)
        try self.fixture.perform([try client.request(EngineFixture.putting(3 * Self.part)).input])
        try self.fixture.perform([])
        try self.fixture.restart()
        #expect(try self.fixture.store.valueRows("nest_value") == 1)
        #expect(try self.fixture.store.reader.check(deadline: .none) { _ in }.problems == [])
        self.fixture.now += Int64(Limits.stagedValueSeconds) * 1_000_000
        try self.fixture.perform([.tick])
        #expect(try self.fixture.store.valueRows("nest_value") == 0)
        #expect(try self.fixture.store.valueRows("nest_value_piece") == 0)
    }
}
