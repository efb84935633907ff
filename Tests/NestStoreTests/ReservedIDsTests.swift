import NestModel
import NestTestSupport
import Testing

@testable import NestStore

/// Object ids that sessions reserve before they insert the objects. `ModelHistory` uses them at random, with a
/// follower.
@Suite struct ReservedIDsTests {
    private let fixture: Fixture

    init() throws {
        self.fixture = try Fixture()
    }

    private var store: Store { self.fixture.store }

    private func reserve(_ count: Int, of session: UInt64 = 1) throws -> [ObjectID] {
        let first = try self.store.access { try self.store.reserveIDs(count, of: session, unsaved: nil) }
        return (0..<Int64(count)).map { ObjectID(first.rawValue + $0) }
    }

    private static func insert(_ title: String, as id: ObjectID) -> Mutation {
        guard case .insert(let entity, let values, let placements) = Fixture.insert(title) else { fatalError() }
        return .insertAs(id, entity: entity, values: values, placements: placements)
    }

    @discardableResult
    private func insert(_ ids: ObjectID..., of session: UInt64 = 1) throws -> [ObjectID] {
        var inserted: [ObjectID] = []
        try self.fixture.commit { graph in
            graph.sessionNumber = session
            let mutations = ids.map { Self.insert("\($0)", as: $0) }
            inserted = try graph.perform(WriteTransaction(mutations: mutations)).flatMap(\.ids)
        }
        return inserted
    }

    private func isRefused(_ code: ErrorCode = .invalid, _ body: () throws -> Void) -> Bool {
        do {
            try body()
            return false
        } catch {
            return (error as? StoreError)?.refusal?.code == code
        }
    }

    @Test func reservedIDsAreTheSessionsAndAreUsedOnce() throws {
        let ids = try self.reserve(3)
        let others = try self.reserve(2, of: 2)
        #expect(Set(ids).isDisjoint(with: others))
        #expect(try self.insert(ids[1], ids[0]) == [ids[1], ids[0]])
        #expect(self.isRefused { try self.insert(ids[0]) })
        #expect(self.isRefused { try self.insert(others[0]) })
        #expect(self.isRefused { try self.insert(ids[2], of: 2) })
        #expect(self.isRefused { try self.insert(ids[2], of: 0) })
        #expect(self.isRefused { try self.insert(ObjectID(others[1].rawValue + 1)) })
        let others2 = try self.fixture.perform(Fixture.insert("next"))
        #expect(others2[0].rawValue > others[1].rawValue)
        // A deleted object had the id.
        try self.fixture.perform(.delete(.object(ids[0])))
        #expect(self.isRefused { try self.insert(ids[0]) })
        #expect(try self.insert(ids[2]) == [ids[2]])
    }

    @Test func aRefusedTransactionLeavesTheIDsReserved() throws {
        let ids = try self.reserve(2)
        #expect(
            self.isRefused(.notFound) {
                try self.fixture.commit { graph in
                    graph.sessionNumber = 1
                    let missing = Mutation.delete(.object(ObjectID(9_999)))
                    _ = try graph.perform(WriteTransaction(mutations: [Self.insert("a", as: ids[0]), missing]))
                }
            }
        )
        // Twice in one transaction.
        #expect(self.isRefused { try self.insert(ids[0], ids[0]) })
        // In a group only the refused request is rolled back.
        try self.fixture.inGroup { group in
            for (id, isRefused) in [(ids[1], false), (ids[1], true), (ids[0], false)] {
                let result = self.isRefused {
                    _ = try group.request(inSavepoint: true) { graph in
                        graph.sessionNumber = 1
                        _ = try graph.perform(WriteTransaction(mutations: [Self.insert("\(id)", as: id)]))
                        return Fixture.description
                    }
                }
                #expect(result == isRefused)
            }
        }
        #expect(self.isRefused { try self.insert(ids[0]) })
    }

    @Test func idsOfATransactionWithoutChangesStayReserved() throws {
        let ids = try self.reserve(1)
        let changes = try self.fixture.commit { graph in
            graph.sessionNumber = 1
            let steps = [Self.insert("a", as: ids[0]), .delete(.inserted(1))]
            _ = try graph.perform(WriteTransaction(mutations: steps))
        }
        #expect(changes == nil)
        #expect(try self.insert(ids[0]) == ids)
    }

    @Test func undoAndRedoKeepTheID() throws {
        let ids = try self.reserve(1)
        try self.insert(ids[0])
        let revision = self.store.head
        try self.fixture.revert(revision)
        #expect(try self.store.access { try self.store.object(ids[0]) } == nil)
        #expect(self.isRefused { try self.insert(ids[0]) })
        try self.fixture.revert(self.store.head)
        #expect(try self.store.access { try self.store.object(ids[0]) } != nil)
    }

    @Test func reservedIDsSurviveAReopening() throws {
        let ids = try self.reserve(3)
        try self.fixture.reopen()
        let next = try self.fixture.perform(Fixture.insert("next"))
        #expect(next[0].rawValue > ids[2].rawValue)
        try self.insert(ids[1])
        try self.fixture.reopen()
        #expect(self.isRefused { try self.insert(ids[1]) })
        #expect(try self.insert(ids[2], ids[0]) == [ids[2], ids[0]])
        // All are used.
        try self.fixture.reopen()
        #expect(self.isRefused { try self.insert(ids[2]) })
        #expect(try self.fixture.perform(Fixture.insert("last"))[0].rawValue > next[0].rawValue)
    }

    /// A program may still hold the ids, in a queue of writes.
    @Test func theIDsOfAForgottenSessionAreGivenToNoOtherObject() throws {
        let ids = try self.reserve(1)
        try self.store.access { try self.store.forgetSessions([1]) }
        #expect(self.isRefused { try self.insert(ids[0]) })
        try self.fixture.reopen()
        #expect(self.isRefused { try self.insert(ids[0]) })
        #expect(try self.fixture.perform(Fixture.insert("next"))[0].rawValue > ids[0].rawValue)
    }

    /// A client whose answers were lost does not know its ids, and is not locked out.
    @Test func aSessionKeepsItsNewestReservedIDs() throws {
        let most = Limits.reservedIDsPerRequestMax
        let first = try self.reserve(most)
        for _ in 1..<(Limits.reservedIDsPerSessionMax / most) { _ = try self.reserve(most) }
        let next = try self.reserve(1)
        #expect(self.isRefused { try self.insert(first[0]) })
        try self.insert(first[1], next[0])
    }

    @Test func aSessionKeepsItsNewestPiecesOfReservedIDs() throws {
        let most = Limits.reservedPiecesPerSessionMax
        let ids = try self.reserve(2 * most + 3)
        // Every second one: each leaves one more piece.
        for number in 0..<most { try self.insert(ids[2 * number + 1]) }
        #expect(self.isRefused { try self.insert(ids[0]) })
        // Another piece, because another session is in between.
        _ = try self.reserve(1, of: 2)
        let next = try self.reserve(1)
        #expect(self.isRefused { try self.insert(ids[2]) })
        try self.insert(ids[4], ids[2 * most], ids[2 * most + 2], next[0])
    }

    @Test func theCheckFindsAnObjectWithAnIDThatIsOnlyReserved() throws {
        let ids = try self.reserve(2)
        try self.insert(ids[0])
        func problems() throws -> [String] { try self.store.reader.check(deadline: .none) { _ in }.problems }
        #expect(try problems() == [])
        try self.store.access {
            try self.store.connection.execute("UPDATE nest_reserved SET first = \(ids[0].rawValue)")
        }
        #expect(try problems().count == 1)
    }

    /// The check names the columns of a user's table beside its own.
    @Test func theCheckReadsTablesWithColumnsOfAnyName() throws {
        let first = AttributeDraft(name: "first", type: .string), last = AttributeDraft(name: "last", type: .string)
        var draft = EntityDraft(name: "Person")
        draft.attributes = [first, last]
        let fixture = try Fixture(try ModelDraft(entities: [draft]).compile())
        #expect(try fixture.store.reader.check(deadline: .none) { _ in }.problems == [])
        try fixture.store.close()
    }
}
