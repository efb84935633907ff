import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol
import NestSchema

/// Undo entries: groups, undo coalescing, names, blocked entries and limits, also after a restart.
@Suite struct UndoEntryTests {
    private let fixture: EngineFixture
    private let ann: SimulatedClient
    /// Another connection of Ann's session.
    private let phone: SimulatedClient
    private let bob: SimulatedClient

    init() throws {
        self.fixture = try EngineFixture()
        self.ann = try self.fixture.connect(session: 1)
        self.phone = try self.fixture.connect(session: 1)
        self.bob = try self.fixture.connect(session: 2)
    }

    private func state(_ client: SimulatedClient) throws -> UndoState {
        guard case .undoState(let state) = try self.fixture.ask(client, .undoState(follows: false)) else {
            throw NestError(.internalError, "no undo state")
        }
        return state
    }

    private func begin(_ client: SimulatedClient, _ name: String? = nil, joined: UInt64? = nil) throws -> EngineReply {
        try self.fixture.ask(client, .beginGroup(name: name, joined: joined))
    }

    private func insert(_ client: SimulatedClient, _ title: String) throws {
        try self.fixture.write(client, [EngineFixture.insert(title)])
    }

    private func edit(_ client: SimulatedClient, _ id: ObjectID, _ title: String, _ key: String, _ milliseconds: Int)
        throws
    {
        let coalescing = Coalescing(key: key, milliseconds: milliseconds)
        let transaction = WriteTransaction(mutations: [EngineFixture.edit(id, title)], coalescing: coalescing)
        let reply = try self.fixture.ask(client, .transaction(transaction))
        #expect(reply.receipt?.isChanged == true)
    }

    private func undo(_ client: SimulatedClient, _ policy: UndoOptions.Policy = .keep) throws -> EngineReply {
        try self.fixture.ask(client, .undo(key: nil, UndoOptions(policy: policy)))
    }

    private func title(_ id: ObjectID) throws -> String? {
        try self.fixture.store.access { try self.fixture.store.object(id)?.row.values[0].stringValue }
    }

    // MARK: Groups

    @Test func aGroupIsOneEntry() throws {
        _ = try self.begin(self.ann, "tidy up")
        for title in ["a", "b", "c"] { try self.insert(self.ann, title) }
        try self.insert(self.phone, "by phone")
        guard case .done = try self.fixture.ask(self.ann, .endGroup) else {
            Issue.record("the group does not end")
            return
        }
        try self.insert(self.ann, "d")
        #expect(try self.state(self.ann).undoCount == 3)
        _ = try self.undo(self.ann)
        _ = try self.undo(self.ann)
        #expect(try self.undo(self.ann).receipt?.name == "tidy up")
        #expect(try self.fixture.children().isEmpty)
        #expect(try self.state(self.ann).redo?.name == "tidy up")
        #expect(try self.fixture.ask(self.ann, .redo(key: nil)).receipt?.isChanged == true)
        #expect(try self.fixture.children().count == 3)
    }

    /// Another connection of the session may join a group and leave it. The connection that began the group ends it for
    /// both.
    @Test func connectionsOfASessionShareAGroup() throws {
        guard case .group(let number) = try self.begin(self.ann) else {
            Issue.record("no group")
            return
        }
        #expect(try self.begin(self.bob, joined: number).error?.code == .notFound)
        _ = try self.begin(self.phone, joined: number)
        try self.insert(self.ann, "a")
        try self.insert(self.phone, "b")
        #expect(
            try self.state(self.ann).undo == .init(revision: Revision(2), name: #"add item "b""#, transactionCount: 2)
        )
        _ = try self.fixture.ask(self.phone, .endGroup)
        try self.insert(self.phone, "alone")
        try self.insert(self.ann, "c")
        #expect(try self.state(self.ann).undo?.transactionCount == 3)
        _ = try self.begin(self.phone, joined: number)
        _ = try self.fixture.ask(self.ann, .endGroup)
        #expect(try self.fixture.ask(self.phone, .endGroup).error?.code == .notFound)
        #expect(try self.state(self.ann).undoCount == 2)
    }

    @Test func aGroupEndsByDisconnectUndoOrTimeout() throws {
        _ = try self.begin(self.ann)
        try self.insert(self.ann, "a")
        #expect(try self.begin(self.ann).error?.code == .invalid)
        try self.fixture.perform([.disconnected(self.ann.connection)])
        try self.fixture.perform([self.ann.connect(as: self.fixture.newConnection())])
        #expect(try self.fixture.ask(self.ann, .endGroup).error?.code == .notFound)
        try self.insert(self.ann, "b")
        #expect(try self.state(self.ann).undoCount == 2)

        _ = try self.begin(self.ann)
        try self.insert(self.ann, "c")
        _ = try self.undo(self.ann)
        #expect(try self.state(self.ann).group == nil)

        _ = try self.begin(self.ann)
        try self.insert(self.ann, "d")
        self.fixture.now += Int64(Limits.undoGroupSeconds - 1) * 1_000_000
        try self.insert(self.ann, "e")
        self.fixture.now += Int64(Limits.undoGroupSeconds - 1) * 1_000_000
        #expect(try self.state(self.ann).group != nil)
        self.fixture.now += 2_000_000
        try self.insert(self.ann, "f")
        #expect(try self.state(self.ann).undo?.transactionCount == 1)
        #expect(try self.fixture.ask(self.ann, .endGroup).error?.code == .notFound)
    }

    /// Connections that had joined the group write separate entries afterwards.
    @Test func aGroupEndsForAllWithTheConnectionThatBeganIt() throws {
        guard case .group(let number) = try self.begin(self.ann) else {
            Issue.record("no group")
            return
        }
        _ = try self.begin(self.phone, joined: number)
        try self.insert(self.phone, "a")
        try self.fixture.perform([.disconnected(self.ann.connection)])
        #expect(try self.state(self.phone).group == nil)
        try self.insert(self.phone, "b")
        #expect(try self.state(self.phone).undoCount == 2)
        #expect(try self.fixture.ask(self.phone, .endGroup).error?.code == .notFound)
    }

    @Test func groupsPerSessionAreLimited() throws {
        for _ in 0..<Limits.undoGroupsPerSessionMax {
            guard case .group = try self.begin(try self.fixture.connect(session: 1)) else {
                Issue.record("no group")
                return
            }
        }
        #expect(try self.begin(self.ann).error?.code == .limitExceeded)
        guard case .group = try self.begin(self.bob) else {
            Issue.record("groups of another session count")
            return
        }
    }

    /// An entry has a limited number of transactions. The group continues in another entry.
    @Test func aGroupBeyondTheLimitContinuesInAnotherEntry() throws {
        _ = try self.begin(self.ann, "many")
        let count = Limits.undoEntryTransactionsMax + 1
        for start in stride(from: 0, to: count, by: 500) {
            let inputs = (start..<min(start + 500, count)).map { number in
                self.ann.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("\(number)")]))).input
            }
            try self.fixture.perform(inputs)
        }
        let state = try self.state(self.ann)
        #expect(state.undoCount == 2 && state.undo?.transactionCount == 1)
        _ = try self.undo(self.ann)
        #expect(try self.undo(self.ann).receipt?.isChanged == true)
        #expect(try self.fixture.children().isEmpty)
        _ = try self.fixture.ask(self.ann, .redo(key: nil))
        #expect(try self.fixture.children().count == count - 1)
    }

    @Test func theOldestEntriesAreDroppedAndCounted() throws {
        for _ in 0..<3 {
            let inputs = (0..<400).map { number in
                self.ann.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("\(number)")]))).input
            }
            try self.fixture.perform(inputs)
        }
        try self.fixture.restart()
        for client in [self.ann, self.phone] {
            try self.fixture.perform([client.connect(as: self.fixture.newConnection())])
        }
        let state = try self.state(self.ann)
        #expect(state.undoCount == Limits.undoEntriesPerSessionMax && state.droppedCount == 200)
    }

    // MARK: Undo coalescing

    @Test func coalescedWritesAreOneEntry() throws {
        try self.insert(self.ann, "")
        let id = ObjectID(2)
        for text in ["M", "Mi", "Mil"] {
            try self.edit(self.ann, id, text, "2.title", 1_500)
            self.fixture.now += 1_000_000
        }
        #expect(try self.state(self.ann).undo?.transactionCount == 3)
        // A write that is too late, a write with another key and an own write in between begin a new entry. A write of
        // another session does not.
        self.fixture.now += 1_000_000
        try self.edit(self.ann, id, "Milk", "2.title", 1_500)
        try self.edit(self.ann, id, "Milk!", "other", 1_500)
        try self.insert(self.bob, "Bob's")
        try self.edit(self.ann, id, "Milk?", "other", 1_500)
        try self.insert(self.ann, "own")
        try self.edit(self.ann, id, "Milk.", "other", 1_500)
        var titles: [String?] = []
        for _ in 0..<5 {
            #expect(try self.undo(self.ann).receipt?.isChanged == true)
            titles.append(try self.title(id))
        }
        #expect(titles == ["Milk?", "Milk?", "Milk", "Mil", ""])
    }

    /// In a group a coalescing key has no effect, nor does it after the group.
    @Test func coalescingKeysHaveNoEffectInAGroup() throws {
        try self.insert(self.ann, "")
        _ = try self.begin(self.ann)
        try self.edit(self.ann, ObjectID(2), "a", "key", 60_000)
        try self.edit(self.ann, ObjectID(2), "b", "another", 60_000)
        _ = try self.fixture.ask(self.ann, .endGroup)
        try self.edit(self.ann, ObjectID(2), "c", "another", 60_000)
        let state = try self.state(self.ann)
        #expect(state.undoCount == 3 && state.undo?.transactionCount == 1)
    }

    // MARK: Blocked entries

    /// If nothing in an entry can still be undone, undo skips it, also after a restart. A revert of its revision may
    /// still force it.
    @Test func undoSkipsEntriesThatOthersOverwrote() throws {
        try self.insert(self.ann, "a")
        try self.fixture.write(self.ann, [EngineFixture.edit(ObjectID(2), "Ann's")])
        try self.fixture.write(self.bob, [EngineFixture.edit(ObjectID(2), "Bob's")])
        let receipt = try #require(try self.undo(self.ann).receipt)
        #expect(!receipt.isChanged && receipt.revision == Revision(3) && receipt.conflicts.count == 1)
        let conflict = try #require(receipt.conflicts.listed.first)
        #expect(conflict.revision == Revision(3) && conflict.sessionNumber == 2 && conflict.label == "Bob's")
        let before = try self.state(self.ann)
        #expect(before.undo?.revision == Revision(1) && before.blockedCount == 1)

        try self.fixture.restart()
        for client in [self.ann, self.bob] {
            try self.fixture.perform([client.connect(as: self.fixture.newConnection())])
        }
        #expect(try self.state(self.ann) == before)
        guard
            let entries = try self.fixture.ask(
                self.ann,
                .history(before: Revision(0), limit: 10, onlyMine: true)
            ).entries
        else { throw NestError(.internalError, "no history") }
        #expect(entries.map(\.isBlocked) == [true, false])
        let force = UndoOptions(policy: .force)
        let revert = try self.fixture.ask(self.ann, .revert(key: nil, force, Revision(2), ofAnyone: false))
        #expect(revert.receipt?.isChanged == true)
        #expect(try self.title(ObjectID(2)) == "a")
    }

    // MARK: Reverts

    @Test func aRevertIsANewEntry() throws {
        try self.insert(self.bob, "Bob's")
        let keep = UndoOptions()
        let refused = try self.fixture.ask(self.ann, .revert(key: nil, keep, Revision(1), ofAnyone: false))
        #expect(refused.error?.code == .forbidden)
        let reply = try self.fixture.ask(self.ann, .revert(key: nil, keep, Revision(1), ofAnyone: true))
        #expect(reply.receipt?.name == #"add item "Bob's""#)
        #expect(try self.fixture.children().isEmpty)
        #expect(try self.state(self.bob).undoCount == 1)
        #expect(try self.undo(self.ann).receipt?.isChanged == true)
        #expect(try self.fixture.children() == [ObjectID(2)])
        #expect(try self.state(self.ann).redoCount == 1)
        // A revert that changes nothing does not clear the redo stack.
        let nothing = try self.fixture.ask(self.ann, .revert(key: nil, keep, Revision(2), ofAnyone: true))
        #expect(nothing.receipt?.isChanged == false)
        #expect(try self.state(self.ann).redoCount == 1)
    }

    // MARK: Keys and expected entries

    @Test func anUndoWithARepeatedKeyIsReplayed() throws {
        for title in ["a", "b"] { try self.insert(self.ann, title) }
        let key = Identifier128(high: 4, low: 4)
        let first = try self.fixture.ask(self.ann, .undo(key: key)).receipt
        let second = try self.fixture.ask(self.ann, .undo(key: key)).receipt
        #expect(second?.isReplayed == true && second?.revision == first?.revision && second?.name == first?.name)
        #expect(try self.fixture.children() == [ObjectID(2)])
        let other = EngineRequest.undo(key: key, UndoOptions(policy: .force))
        #expect(try self.fixture.ask(self.ann, other).error?.code == .keyReused)
    }

    @Test func anUndoOfAnotherEntryThanExpectedIsRefused() throws {
        for title in ["a", "b"] { try self.insert(self.ann, title) }
        let old = EngineRequest.undo(key: nil, UndoOptions(), expected: Revision(1))
        #expect(try self.fixture.ask(self.ann, old).error?.code == .conflict)
        let new = EngineRequest.undo(key: nil, UndoOptions(), expected: Revision(2))
        #expect(try self.fixture.ask(self.ann, new).receipt?.isChanged == true)
    }

    // MARK: Pushes

    /// A follower gets each change of its undo state, before or with the receipt. A blocked follower gets only the
    /// newest.
    @Test func changesOfTheUndoStateArePushedToFollowers() throws {
        _ = try self.fixture.ask(self.phone, .undoState(follows: true))
        try self.insert(self.ann, "a")
        #expect(self.phone.undoState?.undo?.name == #"add item "a""#)
        #expect(self.ann.undoState == nil)
        try self.insert(self.bob, "b")
        #expect(self.phone.undoState?.undoCount == 1)
        try self.fixture.perform([self.phone.block()])
        for title in ["c", "d"] { try self.insert(self.ann, title) }
        #expect(self.phone.undoState?.undoCount == 1)
        try self.fixture.perform([self.phone.drain()])
        #expect(self.phone.undoState?.undo?.name == #"add item "d""#)
        _ = try self.fixture.ask(self.phone, .undoState(follows: false))
        try self.insert(self.ann, "e")
        #expect(self.phone.undoState?.undoCount == 3)
    }
}
