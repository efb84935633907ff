import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol
import NestSchema

/// What an undo entry is: groups, typing, names, what is passed over, limits; and that all of it outlives a restart.
@Suite struct UndoEntryTests {
    private let fixture: EngineFixture
    private let ann: SimulatedClient
    /// Another connection of hers.
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

    private func type(_ client: SimulatedClient, _ id: ObjectID, _ title: String, _ key: String, _ milliseconds: Int)
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

    /// Another connection of the session joins; it leaves alone, and the opener ends it for both.
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

    @Test func aGroupEndsWithItsConnectionItsUndoAndInTime() throws {
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

    /// Whoever had joined it writes entries of his own from then on.
    @Test func aGroupEndsForAllWithTheConnectionThatOpenedIt() throws {
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

    @Test func sixteenGroupsAtATime() throws {
        for _ in 0..<Limits.undoGroupsPerSessionMax {
            guard case .group = try self.begin(try self.fixture.connect(session: 1)) else {
                Issue.record("no group")
                return
            }
        }
        #expect(try self.begin(self.ann).error?.code == .limitExceeded)
        guard case .group = try self.begin(self.bob) else {
            Issue.record("another session's groups count")
            return
        }
    }

    /// What an entry is made of is limited: the group goes on in another.
    @Test func aGroupOfTooManyGoesOnInAnother() throws {
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

    // MARK: Typing

    @Test func typingIsOneEntry() throws {
        try self.insert(self.ann, "")
        let id = ObjectID(2)
        for text in ["M", "Mi", "Mil"] {
            try self.type(self.ann, id, text, "2.title", 1_500)
            self.fixture.now += 1_000_000
        }
        #expect(try self.state(self.ann).undo?.transactionCount == 3)
        // Too late, another key, another's write between is no matter, one's own is.
        self.fixture.now += 1_000_000
        try self.type(self.ann, id, "Milk", "2.title", 1_500)
        try self.type(self.ann, id, "Milk!", "other", 1_500)
        try self.insert(self.bob, "Bob's")
        try self.type(self.ann, id, "Milk?", "other", 1_500)
        try self.insert(self.ann, "own")
        try self.type(self.ann, id, "Milk.", "other", 1_500)
        var titles: [String?] = []
        for _ in 0..<5 {
            #expect(try self.undo(self.ann).receipt?.isChanged == true)
            titles.append(try self.title(id))
        }
        #expect(titles == ["Milk?", "Milk?", "Milk", "Mil", ""])
    }

    /// In a group the key has no effect, then or later.
    @Test func typingInAGroupIsTheGroups() throws {
        try self.insert(self.ann, "")
        _ = try self.begin(self.ann)
        try self.type(self.ann, ObjectID(2), "a", "key", 60_000)
        try self.type(self.ann, ObjectID(2), "b", "another", 60_000)
        _ = try self.fixture.ask(self.ann, .endGroup)
        try self.type(self.ann, ObjectID(2), "c", "another", 60_000)
        let state = try self.state(self.ann)
        #expect(state.undoCount == 3 && state.undo?.transactionCount == 1)
    }

    // MARK: Blocked entries

    /// An entry of which nothing is left to do is passed over, also after a restart; by its revision it can still be taken.
    @Test func anEntryOfWhichNothingIsLeftIsPassedOver() throws {
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

    @Test func aRevertIsAnEntryOfItsOwn() throws {
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
        // One of nothing clears no redo.
        let nothing = try self.fixture.ask(self.ann, .revert(key: nil, keep, Revision(2), ofAnyone: true))
        #expect(nothing.receipt?.isChanged == false)
        #expect(try self.state(self.ann).redoCount == 1)
    }

    // MARK: Keys and what is meant

    @Test func aRepeatedUndoIsAnsweredAgain() throws {
        for title in ["a", "b"] { try self.insert(self.ann, title) }
        let key = Identifier128(high: 4, low: 4)
        let first = try self.fixture.ask(self.ann, .undo(key: key)).receipt
        let second = try self.fixture.ask(self.ann, .undo(key: key)).receipt
        #expect(second?.isReplayed == true && second?.revision == first?.revision && second?.name == first?.name)
        #expect(try self.fixture.children() == [ObjectID(2)])
        let other = EngineRequest.undo(key: key, UndoOptions(policy: .force))
        #expect(try self.fixture.ask(self.ann, other).error?.code == .keyReused)
    }

    @Test func anEntryThatIsNotTheNewestIsNotTaken() throws {
        for title in ["a", "b"] { try self.insert(self.ann, title) }
        let old = EngineRequest.undo(key: nil, UndoOptions(), expected: Revision(1))
        #expect(try self.fixture.ask(self.ann, old).error?.code == .conflict)
        let new = EngineRequest.undo(key: nil, UndoOptions(), expected: Revision(2))
        #expect(try self.fixture.ask(self.ann, new).receipt?.isChanged == true)
    }

    // MARK: Being told

    /// Who follows is told of each change, before or with the receipt; who does not drain, of the newest.
    @Test func aConnectionIsToldOfItsUndoState() throws {
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
