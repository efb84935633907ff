import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol

/// Random histories of connections with and without a token scope. An engine that stores the members of scopes gives
/// the same answers as one that walks up the tree for each request. After each batch every object is in the same scopes
/// in both engines.
@Suite struct ScopeHistoryTests {
    private struct History {
        let seed: UInt64
        var random: SeededRandom
        let known: ScopeWorld
        let walked: ScopeWorld
        /// The current connection of each session.
        var connections: [UInt64: UInt64] = [:]
        private var lastConnection: UInt64 = 0

        private static let scopes: [UInt64: ObjectID] = [2: ObjectID(2), 3: ObjectID(3), 4: ObjectID(2)]

        init(seed: UInt64) throws {
            self.seed = seed
            self.random = SeededRandom(seed: seed)
            let rowsPerTurn = [1, 3, 8, 40, 1_000][self.random.below(5)]
            let streamedFrom = [4, 12, 4_096][self.random.below(3)]
            self.known = try ScopeWorld(rowsPerTurn: rowsPerTurn, streamedFrom: streamedFrom)
            self.walked = try ScopeWorld(rowsPerTurn: 0, streamedFrom: streamedFrom)
            self.connect(1)
            for owner in [1, 2, 1, 3, 4] as [Int64] {
                self.both { $0.write(1, EngineFixture.insert("x", under: ObjectID(owner))) }
            }
            for session in Self.scopes.keys.sorted() { self.connect(session) }
        }

        private func both(_ body: (ScopeWorld) throws -> Void) rethrows {
            try body(self.known)
            try body(self.walked)
        }

        private mutating func connect(_ session: UInt64) {
            self.lastConnection += 1
            let connection = self.lastConnection
            self.connections[session] = connection
            let scope = Self.scopes[session].map { ScopeWorld.scope($0) } ?? .everything
            self.both { $0.connect(connection, session: session, scope) }
        }

        // MARK: Requests

        private mutating func id() -> ObjectID {
            ObjectID(Int64(1 + self.random.below(Int(self.walked.lastID) + 1)))
        }

        private mutating func place() -> Place {
            switch self.random.below(4) {
            case 0: .first
            case 1: .after(.object(self.id()))
            default: .last
            }
        }

        private mutating func mutation(_ inserted: inout Int64) -> Mutation {
            let created = inserted < 0 && self.random.oneIn(2)
            let owner: ObjectReference =
                created ? ObjectReference(rawValue: -1 - Int64(self.random.below(Int(-inserted)))) : .object(self.id())
            let placement = Placement(relationship: EngineFixture.parent, owner: owner, place: self.place())
            switch self.random.below(10) {
            case 0...2:
                inserted -= 1
                return .insert(
                    entity: EngineFixture.item,
                    values: [PropertyAssignment(EngineFixture.title, .value(.string("n")))],
                    placements: [placement]
                )
            case 3: return EngineFixture.edit(self.id(), "e\(self.random.below(9))")
            case 4: return .delete(.object(self.id()))
            default: return .move(.object(self.id()), placement)
            }
        }

        private mutating func request() throws -> EngineRequest {
            let options = UndoOptions(
                policy: UndoOptions.Policy.allCases[self.random.below(3)],
                rehomes: self.random.oneIn(4)
            )
            switch self.random.below(16) {
            case 0, 1: return .undo(key: nil, options)
            case 2: return .redo(key: nil, options)
            case 3:
                let revision = Revision(UInt64(1 + self.random.below(Int(self.walked.store.head.rawValue))))
                return .revert(key: nil, options, revision, ofAnyone: true)
            case 4: return .previewUndo(.undo, options)
            case 5, 6:
                // The import is made once, and both engines read the same spool file.
                var depth = -1
                let depths = (0..<(1 + self.random.below(20))).map { _ in
                    depth = self.random.below(depth + 2)
                    return depth
                }
                return try self.known.imported(depths, under: self.id())
            case 7...9: return .object(self.id())
            default:
                var inserted: Int64 = 0
                let mutations = (0..<[1, 1, 1, 2, 3, 6][self.random.below(6)]).map { _ in self.mutation(&inserted) }
                var transaction = WriteTransaction(mutations: mutations)
                if self.random.oneIn(6) {
                    let head = Revision(self.walked.store.head.rawValue)
                    transaction.preconditions = [Precondition(object: self.id(), revision: head)]
                }
                return .transaction(transaction)
            }
        }

        // MARK: Steps

        private func compare(_ requests: [(UInt64, EngineRequest)], _ step: Int) {
            let (known, walked) = (self.known.perform(requests), self.walked.perform(requests))
            for (index, request) in requests.enumerated() where known[index] != walked[index] {
                Issue.record("seed \(self.seed), step \(step): \(request): \(known[index]), walking: \(walked[index])")
            }
        }

        mutating func step(_ number: Int) throws {
            if self.random.oneIn(6) { try self.reconnect(number) }
            let sessions: [UInt64] = [1, 1, 2, 3, 4]
            let requests = try (0..<(1 + self.random.below(6))).map { _ in
                (self.connections[sessions[self.random.below(sessions.count)]] ?? 0, try self.request())
            }
            self.compare(requests, number)
            self.compareMembers(number)
        }

        private func compareMembers(_ step: Int) {
            let ids = (1...self.walked.lastID + 1).map { ObjectID($0) }
            for session in [2, 3] as [UInt64] {
                guard let connection = self.connections[session] else { continue }
                self.compare(ids.map { (connection, .object($0)) }, step)
            }
        }

        /// Reconnects sessions, so that their scope is dropped or kept. Others write while the scope is read again.
        private mutating func reconnect(_ number: Int) throws {
            let gone = self.random.oneIn(2) ? [2, 4] : [3] as [UInt64]
            let isLong = self.random.oneIn(3)
            for session in gone {
                let connection = self.connections[session] ?? 0
                self.both { world in
                    world.perform([.disconnected(ConnectionID(connection))])
                    if !isLong { world.perform([.tick], seconds: 61) }
                }
            }
            for session in gone { self.connect(session) }
            for _ in 0..<self.random.below(5) {
                let requests = try (0..<(1 + self.random.below(3))).map { _ in try self.request() }
                // One turn does not finish reading the scope.
                self.both { world in world.perform(requests.map { world.request(self.connections[1] ?? 0, $0).input }) }
            }
            self.known.finish()
            self.compareMembers(number)
        }

        var scopesRead: Bool { self.known.statistic("token_scopes") == 2 && self.walked.statistic("token_scopes") == 0 }
    }

    @Test(arguments: 0..<24 as Range<UInt64>)
    func storedScopesAgreeWithWalks(seed: UInt64) throws {
        var history = try History(seed: seed)
        for step in 0..<30 { try history.step(step) }
        #expect(history.known.store.head == history.walked.store.head && history.scopesRead, "seed \(seed)")
    }
}
