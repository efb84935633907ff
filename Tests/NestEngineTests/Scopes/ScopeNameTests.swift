import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// A session that used a token without a scope and now uses a confined token must not see the names of its earlier
/// changes.
@Suite struct ScopeNameTests {
    private static let secret = "SECRET"
    private static let hidden = "a change made with another token"
    private static let inside = ObjectID(2)
    private static let item = ObjectID(3)
    private static let scope = AuthorisationScope.subtree(
        AccessConfinement(root: Self.inside, entity: EngineFixture.item, relationship: PropertyNumber(6))
    )
    private static let key = Identifier128(high: 8, low: 8)

    private let fixture: EngineFixture
    private let all: ScopedClient
    private let guest: ScopedClient

    /// `all` and `guest` belong to one session. The objects are 1 ── inside 2 ── item 3.
    init() throws {
        self.fixture = try EngineFixture()
        self.all = try ScopedClient(self.fixture, session: 1, .everything)
        self.guest = try ScopedClient(self.fixture, session: 1, Self.scope)
        let other = try ScopedClient(self.fixture, session: 2, .everything)
        try other.write([EngineFixture.insert("inside")])
        try other.write([EngineFixture.insert("item", under: Self.inside)])
    }

    private func message(_ client: ScopedClient, _ request: EngineRequest) throws -> String {
        try #require(try client.ask(request).error).message
    }

    @Test func namesOfChangesWithAnotherTokenAreHidden() throws {
        try self.guest.write([EngineFixture.edit(Self.item, "mine")])
        #expect(try self.guest.undoState().undo?.name == "edit \"mine\"")
        try self.all.write([EngineFixture.insert("\(Self.secret) PLAN")])
        #expect(try self.guest.undoState().undo?.name == Self.hidden)
        #expect(try self.guest.history() == [Self.hidden, "edit \"mine\""])
        #expect(try self.all.undoState().undo?.name == "add item \"SECRET PLAN\"")
        #expect(try self.all.history() == ["add item \"SECRET PLAN\"", "edit \"mine\""])
    }

    @Test func refusalsDoNotContainHiddenNames() throws {
        try self.all.write([EngineFixture.insert("\(Self.secret) PLAN")])
        let requests: [EngineRequest] = [
            .undo(key: nil), .undo(key: nil, UndoOptions(policy: .force)), .undo(key: nil, expected: Revision(1)),
            .previewUndo(.undo, UndoOptions()),
        ]
        for request in requests {
            let message = try self.message(self.guest, request)
            #expect(!message.contains(Self.secret) && message.contains(Self.hidden), "\(message)")
        }
    }

    @Test func pushedUndoStatesHideNames() throws {
        _ = try self.guest.undoState(follows: true)
        let insert = WriteTransaction(mutations: [EngineFixture.insert(Self.secret)])
        _ = self.guest.take(try self.fixture.perform([self.all.input(.transaction(insert))]))
        #expect(self.guest.pushed.map { $0.undo?.name } == [Self.hidden])
        _ = self.guest.take(try self.fixture.perform([self.all.input(.undo(key: nil))]))
        #expect(self.guest.pushed.map { $0.redo?.name } == [nil, Self.hidden])
    }

    /// All objects that the entry changed are in the scope, but its name may contain other information.
    @Test func anUndoInsideTheScopeHidesTheName() throws {
        try self.all.write([EngineFixture.edit(Self.item, "edited")], name: "as \(Self.secret) wants it")
        guard let preview = try self.guest.ask(.previewUndo(.undo, UndoOptions())).preview else {
            Issue.record("no preview")
            return
        }
        #expect(preview.name == Self.hidden && preview.updatedCount == 1)
        let undone = try #require(try self.guest.ask(.undo(key: Self.key)).receipt)
        #expect(undone.isChanged && undone.name == Self.hidden)
        #expect(try #require(try self.guest.ask(.undo(key: Self.key)).receipt).name == Self.hidden)
        #expect(try self.guest.undoState().redo?.name == Self.hidden)
        #expect(try self.guest.history() == [Self.hidden, Self.hidden])
        #expect(try self.all.undoState().redo?.name == "as SECRET wants it")
        try self.fixture.restart()
        let guest = try ScopedClient(self.fixture, session: 1, Self.scope)
        #expect(try guest.undoState().redo?.name == Self.hidden)
        #expect(try #require(try guest.ask(.undo(key: Self.key)).receipt).name == Self.hidden)
        let redone = try #require(try guest.ask(.redo(key: nil)).receipt)
        #expect(redone.isChanged && redone.name == Self.hidden)
        #expect(try ScopedClient(self.fixture, session: 1, .everything).undoState().undo?.name == "as SECRET wants it")
    }

    @Test func ownNamesAreShownAfterARestart() throws {
        try self.guest.write([EngineFixture.edit(Self.item, "mine")])
        try self.fixture.restart()
        let guest = try ScopedClient(self.fixture, session: 1, Self.scope)
        #expect(try guest.undoState().undo?.name == "edit \"mine\"")
        #expect(try guest.history() == ["edit \"mine\""])
        let deeper = AccessConfinement(root: Self.item, entity: EngineFixture.item, relationship: PropertyNumber(6))
        #expect(try ScopedClient(self.fixture, session: 1, .subtree(deeper)).history() == [Self.hidden])
    }

    @Test func theNameOfAGroupIsHiddenIfAnotherTokenBeganIt() throws {
        guard case .group(let number) = try self.all.ask(.beginGroup(name: Self.secret, joined: nil)) else {
            Issue.record("no group")
            return
        }
        _ = try self.guest.ask(.beginGroup(name: nil, joined: number))
        #expect(try self.guest.write([EngineFixture.edit(Self.item, "mine")]).name == Self.hidden)
        #expect(try self.guest.undoState().undo?.name == Self.hidden)
        #expect(try self.all.undoState().undo?.name == Self.secret)
    }

    @Test func aRepeatedKeyHidesTheNameOfTheFirstAnswer() throws {
        try self.all.write([EngineFixture.edit(Self.item, "edited")], name: Self.secret, key: Self.key)
        let again = try self.guest.write([EngineFixture.edit(Self.item, "edited")], name: Self.secret, key: Self.key)
        #expect(again.isReplayed && again.name == Self.hidden)
    }

    /// The conflicts of an undo of this connection are shown even if the name is hidden.
    @Test func conflictsInsideTheScopeAreShown() throws {
        try self.all.write([EngineFixture.edit(Self.item, "edited")], name: Self.secret)
        let other = try ScopedClient(self.fixture, session: 2, .everything)
        try other.write([EngineFixture.edit(Self.item, "theirs")])
        for _ in 0..<2 {
            let receipt = try #require(try self.guest.ask(.undo(key: Self.key)).receipt)
            #expect(receipt.name == Self.hidden)
            #expect(receipt.conflicts.listed.map(\.object) == [Self.item])
        }
        let wide = try #require(try self.all.ask(.undo(key: Self.key)).receipt)
        #expect(wide.isReplayed && wide.name == Self.secret)
    }

    /// A deleted object has been restored and moved out of the scope.
    @Test func objectsRestoredOutsideTheScopeAreNotDescribed() throws {
        try self.guest.write([.delete(.object(Self.item))])
        let other = try ScopedClient(self.fixture, session: 2, .everything)
        let back = try other.ask(.revert(key: nil, UndoOptions(), self.fixture.engine.head, ofAnyone: true))
        #expect(back.receipt?.isChanged == true)
        try other.write([EngineFixture.move(Self.item, .last), EngineFixture.edit(Self.item, Self.secret)])
        let message = try self.message(self.guest, .undo(key: nil))
        #expect(message.contains("outside the token's scope"), "\(message)")
    }
}
