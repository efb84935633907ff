import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// The users that history, conflicts and changes show.
@Suite struct UserTests {
    private static let ann = UserLabel("Ann")
    private static let bob = UserLabel("Bob", isClaimed: true)
    private static let inside = ObjectID(2)
    private static let scope = AuthorisationScope.subtree(
        AccessConfinement(root: Self.inside, entity: EngineFixture.item, relationship: PropertyNumber(6))
    )

    private let fixture: EngineFixture

    init() throws { self.fixture = try EngineFixture() }

    private func users(_ client: SimulatedClient, onlyMine: Bool = false) throws -> [UserLabel?] {
        let request = EngineRequest.history(before: Revision(0), limit: 100, onlyMine: onlyMine)
        return try #require(try self.fixture.ask(client, request).entries).map(\.user)
    }

    @discardableResult
    private func insert(_ client: SimulatedClient, _ title: String, under owner: ObjectID = EngineFixture.root) throws
        -> Receipt
    {
        try self.fixture.write(client, [EngineFixture.insert(title, under: owner)])
    }

    /// A session that changes its user keeps the earlier user of what it wrote, also after a restart.
    @Test func historyShowsTheUserAtTheTimeOfTheWrite() throws {
        let ann = try self.fixture.connect(session: 1, user: Self.ann)
        try self.insert(ann, "a")
        let bob = try self.fixture.connect(session: 1, user: Self.bob)
        try self.insert(bob, "b")
        let other = try self.fixture.connect(session: 2)
        try self.insert(other, "c")
        #expect(try self.users(other) == [nil, Self.bob, Self.ann])
        #expect(try self.users(ann, onlyMine: true) == [Self.bob, Self.ann])
        _ = try self.fixture.ask(ann, .undo(key: nil))
        try self.fixture.restart()
        let reader = try self.fixture.connect(session: 9)
        #expect(try self.users(reader) == [Self.ann, nil, Self.bob, Self.ann])
    }

    /// Every transaction of a batch has the user of its own connection.
    @Test func aBatchKeepsTheUserOfEachTransaction() throws {
        let clients = try [Self.ann, nil, Self.bob].enumerated().map { index, user in
            try self.fixture.connect(session: UInt64(index + 1), user: user)
        }
        try self.fixture.perform(
            clients.map { client in
                client.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("x")]))).input
            }
        )
        #expect(try self.users(clients[0]) == [Self.bob, nil, Self.ann])
    }

    /// A token of another reach hides the user as it hides the name.
    @Test func aConfinedTokenSeesTheUsersOfItsReachOnly() throws {
        let all = try self.fixture.connect(session: 1, user: Self.ann)
        try self.insert(all, "inside")
        let guest = try self.fixture.connect(session: 1, scope: Self.scope, user: UserLabel("Guest"))
        try self.insert(guest, "item", under: Self.inside)
        #expect(try self.users(guest, onlyMine: true) == [UserLabel("Guest"), nil])
        #expect(try self.users(all) == [UserLabel("Guest"), Self.ann])
    }

    @Test func conflictsAndPreviewsNameTheUserOfTheLaterChange() throws {
        let ann = try self.fixture.connect(session: 1, user: Self.ann)
        let bob = try self.fixture.connect(session: 2, user: Self.bob)
        try self.insert(bob, "oak")
        let key = Identifier128(high: 3, low: 3)
        try self.fixture.write(ann, [EngineFixture.edit(ObjectID(2), "elm")])
        try self.fixture.write(ann, [EngineFixture.insert("other")])
        try self.fixture.write(bob, [EngineFixture.edit(ObjectID(2), "fir")])
        let revert = UndoTarget.revert(Revision(2), ofAnyone: true)
        let options = UndoOptions(policy: .force)
        let preview = try #require(try self.fixture.ask(ann, .previewUndo(revert, options)).preview)
        #expect(preview.conflicts.listed.map(\.user) == [Self.bob])
        // The answer to a repeated key has the users too.
        for isReplayed in [false, true] {
            let reply = try self.fixture.ask(ann, .revert(key: key, options, Revision(2), ofAnyone: true))
            let receipt = try #require(reply.receipt)
            #expect(receipt.conflicts.listed.map(\.user) == [Self.bob] && receipt.isReplayed == isReplayed)
            #expect(receipt.conflicts.listed.map(\.sessionNumber) == [2])
        }
    }

    /// A confined client learns that its value was changed, and not by which user of a wider reach.
    @Test func conflictsHideTheUsersOfAnotherReach() throws {
        let all = try self.fixture.connect(session: 1, user: Self.ann)
        try self.insert(all, "inside")
        try self.insert(all, "item", under: Self.inside)
        let item = ObjectID(3)
        let guest = try self.fixture.connect(session: 2, scope: Self.scope, user: UserLabel("Guest"))
        let friend = try self.fixture.connect(session: 3, scope: Self.scope, user: UserLabel("Friend"))
        for (other, expected) in [(all, nil), (friend, UserLabel("Friend"))] {
            try self.fixture.write(guest, [EngineFixture.edit(item, "mine \(expected?.text ?? "")")])
            try self.fixture.write(other, [EngineFixture.edit(item, "theirs")])
            let preview = try self.fixture.ask(guest, .previewUndo(.undo, UndoOptions(policy: .force))).preview
            let conflicts = try #require(preview).conflicts.listed
            #expect(conflicts.map(\.user) == [expected] && conflicts.first?.revision != nil)
            _ = try self.fixture.ask(guest, .undo(key: nil, UndoOptions(policy: .force)))
        }
    }

    /// The users of conflicts in very many transactions stay unknown, and the headers that are read are work.
    @Test func theUsersOfConflictsCostALimitedPartOfTheJournal() throws {
        let ann = try self.fixture.connect(session: 1, user: Self.ann)
        let bob = try self.fixture.connect(session: 2, user: Self.bob)
        let items = (2..<6).map { ObjectID($0) }
        for item in items { try self.insert(ann, "\(item)") }
        try self.fixture.write(ann, items.map { EngineFixture.edit($0, "mine") })
        // Four journal rows of 200 headers; three of them are read.
        for item in items {
            let edit = WriteTransaction(mutations: [EngineFixture.edit(item, "theirs")])
            let other = WriteTransaction(mutations: [EngineFixture.insert("other")])
            let all = Array(repeating: other, count: 199) + [edit]
            try self.fixture.perform(all.map { bob.request(.transaction($0)).input })
        }
        let options = UndoOptions(policy: .force)
        let preview = try #require(try self.fixture.ask(ann, .previewUndo(.undo, options)).preview)
        #expect(preview.conflicts.listed.count { $0.user == Self.bob } == 3 && preview.conflicts.listed.count == 4)
        #expect((603..<700).contains(self.fixture.engine.admission.work))
        let receipt = try #require(try self.fixture.ask(ann, .undo(key: nil, options)).receipt)
        #expect(receipt.conflicts.listed.count { $0.user == Self.bob } == 3 && receipt.conflicts.listed.count == 4)
        #expect(self.fixture.engine.admission.work >= 603)
    }

    /// The engine's clock decides whether another admin token is valid.
    @Test func anExpiredAdminTokenDoesNotReplaceTheLastOne() throws {
        let admin = try self.fixture.connect(session: 1)
        for (number, expires) in [nil, self.fixture.now + 60_000_000].enumerated() {
            let half = Identifier128(high: 1, low: UInt64(number))
            let grant = TokenGrant(name: "t", role: .admin, expires: expires)
            let create = EngineRequest.createToken(grant, secretHash: TokenSecret(high: half, low: half))
            #expect(try self.fixture.ask(admin, create).error == nil)
        }
        self.fixture.now += 60_000_000
        #expect(try self.fixture.ask(admin, .revokeToken(1)).error?.code == .conflict)
        #expect(try self.fixture.ask(admin, .revokeToken(2)).isDone)
    }

    @Test func changesHaveTheirUser() throws {
        let ann = try self.fixture.connect(session: 1, user: Self.ann)
        let bob = try self.fixture.connect(session: 2, user: Self.bob)
        let other = try self.fixture.connect(session: 3)
        for client in [ann, bob, other] { try self.insert(client, "x") }
        let point = ResumePoint(historyID: self.fixture.store.historyID, revision: Revision(0))
        // A simulated client does not follow changes.
        let follower = self.fixture.newConnection()
        let effects = try self.fixture.perform([
            .connected(follower, session: Identifier128(high: 8, low: 8), scope: .everything),
            .request(follower, requestID: 1, .subscribeChanges(since: point, place: 0, entities: [])),
        ])
        let parts = try effects.compactMap { effect -> ChangeSetPart? in
            guard case .push(let push, _) = effect, case .changeSet(let body) = push.content else { return nil }
            return try ByteReader.read(body.bytes) { (reader) throws(DecodingFailure) in try reader.changeSetPart() }
        }
        #expect(parts.map(\.user) == [Self.ann, Self.bob, nil])
    }
}
