import NestEngine
import NestModel
import NestProtocol
import NestTestSupport
import Testing

/// `PresenceTable` by itself: time and connections are what the test says.
@Suite struct PresenceTableTests {
    private static let scope = ObjectID(1)
    private static let second: Int64 = 1_000_000

    /// After random events and then quiet, every follower knows what the naive list has, even if clients were blocked,
    /// lost or expelled in between. At no time does a follower get more than 20 frames a second of a scope.
    @Test func afterQuietEverybodyKnowsTheLastStates() throws {
        for seed in Seeds.range(0..<200) {
            var world = PresenceWorld(seed: seed)
            for _ in 0..<Seeds.steps(300) { try world.step() }
            try world.settle()
            world.compare()
        }
    }

    private func client(_ id: UInt64, session: UInt64? = nil) -> PresenceTable.Client {
        PresenceTable.Client(ConnectionID(id), session: Identifier128(high: 0, low: session ?? id))
    }

    private func flush(_ table: inout PresenceTable, at now: Int64) throws -> [PresenceMessage] {
        try table.flush(now: now, head: Revision(0)) { _, _ in .ready }.map { try PresenceWorld.message($0.body) }
    }

    @discardableResult
    private func set(
        _ table: inout PresenceTable,
        _ text: String,
        by client: PresenceTable.Client,
        in scope: ObjectID = PresenceTableTests.scope,
        at now: Int64
    ) throws -> UInt64 {
        try table.set([UInt8](text.utf8), in: scope, by: client, head: Revision(0), now: now)
    }

    @Test func aSessionThatComesBackInTimeIsTheSameAndNothingIsSent() throws {
        var table = PresenceTable()
        try table.follow(Self.scope, ConnectionID(9), now: 0)
        let number = try self.set(&table, "here", by: self.client(1), at: 0)
        #expect(try self.flush(&table, at: 0).map(\.changes.count) == [1])
        table.disconnect(ConnectionID(1), now: Self.second)
        #expect(try self.flush(&table, at: 3 * Self.second).isEmpty)
        #expect(try self.set(&table, "here", by: self.client(2, session: 1), at: 3 * Self.second) == number)
        #expect(try self.flush(&table, at: 3 * Self.second).isEmpty)
        #expect(try self.flush(&table, at: 9 * Self.second).isEmpty && table.count == 1)
    }

    @Test func aLostPresenceEndsAfterTheGraceAndAnExpelledOneAtOnce() throws {
        var table = PresenceTable()
        try table.follow(Self.scope, ConnectionID(9), now: 0)
        let first = try self.set(&table, "a", by: self.client(1), at: 0)
        let second = try self.set(&table, "b", by: self.client(2), at: 0)
        _ = try self.flush(&table, at: 0)
        table.disconnect(ConnectionID(1), now: Self.second)
        table.disconnect(ConnectionID(2), isExpelled: true, now: Self.second)
        let grace = Int64(Limits.presenceGraceSeconds) * Self.second
        #expect(try self.flush(&table, at: Self.second).map(\.changes) == [[.init(gone: second)]])
        #expect(try self.flush(&table, at: Self.second + grace - 1).isEmpty)
        #expect(try self.flush(&table, at: Self.second + grace).map(\.changes) == [[.init(gone: first)]])
        #expect(table.count == 0 && table.byteCount == 0 && table.isQuiet)
    }

    /// `presenceFramesPerSecondMax`: what changes in between is sent together, and what has changed back is not sent.
    @Test func framesOfAScopeArePacedAndOnlyTheNewestStateIsSent() throws {
        var table = PresenceTable()
        try table.follow(Self.scope, ConnectionID(9), now: 0)
        #expect(try self.flush(&table, at: 0).map(\.isWhole) == [true])
        try self.set(&table, "a", by: self.client(1), at: 1)
        try self.set(&table, "b", by: self.client(1), at: 2)
        #expect(try self.flush(&table, at: 49_999).isEmpty)
        let frames = try self.flush(&table, at: 50_000)
        #expect(frames.map(\.isWhole) == [false])
        #expect(frames[0].changes.map { $0.state?.bytes } == [[UInt8]("b".utf8)])
        try self.set(&table, "c", by: self.client(1), at: 50_001)
        try self.set(&table, "b", by: self.client(1), at: 50_002)
        #expect(try self.flush(&table, at: 200_000).isEmpty)
    }

    /// `presenceBytesPerSecondMax`: large frames for many followers come less often.
    @Test func manyBytesAreSentLessOften() throws {
        var table = PresenceTable()
        for id in 100..<1_100 as Range<UInt64> { try table.follow(Self.scope, ConnectionID(id), now: 0) }
        let text = String(repeating: "x", count: Limits.presenceBytesMax)
        for id in 0..<60 as Range<UInt64> { try self.set(&table, text, by: self.client(id), at: 0) }
        let bytes = try #require(table.flush(now: 0, head: Revision(0)) { _, _ in .ready }.first?.body.count)
        try self.set(&table, "y", by: self.client(1), at: 1)
        let due = Int64(bytes * 1_000) * Self.second / Int64(Limits.presenceBytesPerSecondMax)
        #expect(due > 3 * Self.second)
        #expect(try self.flush(&table, at: due - 1).isEmpty)
        #expect(try self.flush(&table, at: due).count == 1)
    }

    /// `presenceSetsPerSecondMax`
    @Test func setsAreLimitedPerSecond() throws {
        var table = PresenceTable()
        func sets(at now: Int64) -> Int {
            var count = 0
            while (try? self.set(&table, "\(count)", by: self.client(1), at: now)) != nil { count += 1 }
            return count
        }
        #expect(sets(at: 0) == Limits.presenceSetsPerSecondMax)
        #expect(sets(at: Self.second / 2) == Limits.presenceSetsPerSecondMax / 2)
        #expect(sets(at: 100 * Self.second) == Limits.presenceSetsPerSecondMax)
        // To leave is always possible. After the clock was set back, time counts from there.
        #expect(table.leave(Self.scope, ConnectionID(1)) > 0 && table.count == 0)
        #expect(sets(at: 0) == 0)
        #expect(sets(at: Self.second) == Limits.presenceSetsPerSecondMax)
    }

    private func refusal(_ body: () throws -> Void) -> ErrorCode? {
        do {
            try body()
            return nil
        } catch {
            return (error as? NestError)?.code
        }
    }

    /// `presenceScopesPerConnectionMax`
    @Test func scopesOfAConnectionAreLimited() throws {
        var table = PresenceTable()
        for scope in 1...Int64(Limits.presenceScopesPerConnectionMax) {
            if scope % 2 == 0 { try table.follow(ObjectID(scope), ConnectionID(1), now: 0) }
            try self.set(&table, "here", by: self.client(1), in: ObjectID(scope), at: scope * Self.second)
        }
        let more = ObjectID(1_000)
        #expect(self.refusal { try self.set(&table, "", by: self.client(1), in: more, at: 0) } == .limitExceeded)
        #expect(self.refusal { try table.follow(more, ConnectionID(1), now: 0) } == .limitExceeded)
        _ = table.leave(ObjectID(1), ConnectionID(1))
        #expect(self.refusal { try table.follow(more, ConnectionID(1), now: 0) } == nil)
    }

    /// `presencesPerScopeMax`. The whole state of a full scope fits into a frame.
    @Test func presencesOfAScopeAreLimited() throws {
        var table = PresenceTable()
        let label = UserLabel(String(repeating: "u", count: Limits.nameBytesMax))
        let text = String(repeating: "x", count: Limits.presenceBytesMax)
        for id in 0..<UInt64(Limits.presencesPerScopeMax) {
            var client = self.client(id)
            client.user = label
            try self.set(&table, text, by: client, at: 0)
        }
        let more = self.client(1_000_000)
        #expect(self.refusal { try self.set(&table, "", by: more, at: 0) } == .limitExceeded)
        // A session that comes back takes the place of what it has lost.
        table.disconnect(ConnectionID(7), now: 0)
        try self.set(&table, text, by: self.client(1_000_001, session: 7), at: 0)
        try table.follow(Self.scope, ConnectionID(2_000_000), now: 0)
        let body = try #require(table.flush(now: 0, head: Revision(0)) { _, _ in .ready }.first?.body)
        #expect(body.count <= Limits.frameBytesMax)
        #expect(try PresenceWorld.message(body).changes.count == Limits.presencesPerScopeMax)
    }

    /// `presenceMemoryBytesMax`
    @Test func theMemoryOfAllPresencesIsLimited() throws {
        var table = PresenceTable()
        let text = String(repeating: "x", count: Limits.presenceBytesMax)
        var refused: ErrorCode?
        var count = 0
        while refused == nil {
            let scope = ObjectID(Int64(count / Limits.presencesPerScopeMax) + 1)
            refused = self.refusal { try self.set(&table, text, by: self.client(UInt64(count)), in: scope, at: 0) }
            count += 1
        }
        #expect(refused == .busy && table.byteCount <= Limits.presenceMemoryBytesMax)
        #expect(table.byteCount > Limits.presenceMemoryBytesMax - 2 * Limits.presenceBytesMax)
        // Less in place of more is possible.
        try self.set(&table, "", by: self.client(0), at: Self.second)
        #expect(table.byteCount < Limits.presenceMemoryBytesMax - Limits.presenceBytesMax / 2)
    }

    /// A node shows what another node says when it has reached the revision of it; until then the state before.
    @Test func statesOfOtherNodesWaitForTheirRevision() throws {
        var table = PresenceTable()
        try table.follow(Self.scope, ConnectionID(9), now: 0)
        func take(_ text: String, at revision: UInt64) {
            let state = PresenceState(number: 5, bytes: [UInt8](text.utf8))
            let session = Identifier128(high: 0, low: 1)
            let change = PeerPresence.Change(
                scope: Self.scope,
                number: 5,
                session: session,
                revision: Revision(revision),
                state
            )
            table.take(PeerPresence(begins: table.count == 0, [change]), from: .leader, now: 0)
        }
        func shown(at now: Int64, head: UInt64) throws -> [[String]] {
            try table.flush(now: now, head: Revision(head)) { _, _ in .ready }.map {
                try PresenceWorld.message($0.body).changes.map {
                    String(decoding: $0.state?.bytes ?? [], as: UTF8.self)
                }
            }
        }
        take("a", at: 3)
        #expect(try shown(at: 0, head: 2) == [[]])
        #expect(try shown(at: Self.second, head: 3) == [["a"]])
        take("b", at: 5)
        #expect(try shown(at: 2 * Self.second, head: 4).isEmpty)
        take("c", at: 6)
        #expect(try shown(at: 3 * Self.second, head: 5).isEmpty)
        #expect(try shown(at: 4 * Self.second, head: 6) == [["c"]])
    }

    @Test func aScopeOutsideTheReachIsEmptiedAndFollowedNoMore() throws {
        var table = PresenceTable()
        try table.follow(Self.scope, ConnectionID(8), now: 0)
        try table.follow(Self.scope, ConnectionID(9), now: 0)
        try self.set(&table, "a", by: self.client(1), at: 0)
        _ = try self.flush(&table, at: 0)
        try self.set(&table, "b", by: self.client(1), at: Self.second)
        let pushes = table.flush(now: Self.second, head: Revision(0)) { id, _ in id.rawValue == 8 ? .outside : .ready }
        #expect(pushes.map(\.recipients) == [[ConnectionID(9)], [ConnectionID(8)]])
        let last = try PresenceWorld.message(try #require(pushes.last).body)
        #expect(last.isWhole && last.changes.isEmpty)
        #expect(!table.knows(Self.scope, ConnectionID(8)) && table.followerCount == 1)
    }
}
