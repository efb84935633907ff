import NestModel
import NestProtocol
import NestSchema
import NestTestSupport
import Testing

@testable import NestStore

#if canImport(Glibc)
import Glibc
#endif

/// Two stores of a cluster, and the log between them.
@Suite struct ReplicaTests {
    private let fixture: Fixture
    private let replica: Replica

    init() throws {
        self.fixture = try Fixture(inMemory: true, isReplicated: true) { $0.streamedFrom = 4 }
        self.replica = try #require(self.fixture.replica)
    }

    private var store: Store { self.fixture.store }

    private func following<Result>(_ body: (Store) throws -> Result) throws -> Result {
        try self.replica.store.access { try body(self.replica.store) }
    }

    private func expectEqual(_ comment: Comment? = nil) throws {
        let isEqual = try self.store.tableHash() == self.replica.store.tableHash()
        #expect(isEqual, comment)
        if !isEqual { #expect(try self.replica.store.differences(from: self.store) == [], comment) }
        #expect(self.replica.store.remembered == self.store.remembered, comment)
    }

    private static func grant(_ name: String) -> TokenGrant { TokenGrant(name: name, role: .admin) }

    private static func secret(_ number: UInt64) -> TokenSecret {
        TokenSecret(
            high: Identifier128(high: number, low: 1),
            low: Identifier128(high: number, low: 2)
        )
    }

    // MARK: Notes

    @Test func sessionsOfAGroupAreInItsRecord() throws {
        let session = Store.Session(number: 3, id: Identifier128(high: 3, low: 3), written: 17)
        try self.fixture.inGroup { group in
            _ = try group.request(inSavepoint: true) { graph in
                _ = try graph.perform(WriteTransaction(mutations: [Fixture.insert("a")]))
                return Fixture.description
            }
            try self.store.saveSession(session)
        }
        let applied = try self.replica.catchUp()
        #expect(applied.last?.headers.count == 1)
        #expect(try self.following { try $0.sessions() }.map(\.number) == [3])
        try self.expectEqual()
        try self.store.access { try self.store.forgetSessions([3]) }
        try self.replica.catchUp()
        #expect(try self.following { try $0.sessions() }.isEmpty)
        try self.expectEqual()
    }

    /// An undo that changes nothing has no revision: its record has only the note.
    @Test func blockedEntriesReachTheFollowerWithTheirAnswer() throws {
        try self.fixture.perform(Fixture.insert("a"))
        let answer = JournalHeader(
            revision: Revision(1),
            time: 5,
            sessionNumber: 1,
            kind: .undo,
            reverted: nil,
            name: "undo",
            key: Identifier128(high: 4, low: 4),
            requestHash: 9,
            results: []
        )
        try self.fixture.inGroup { try $0.block(Revision(1), answer: answer) }
        let applied = try #require(try self.replica.catchUp().last)
        #expect(applied.record.kind == .notes)
        #expect(applied.blocked.map(\.revision) == [Revision(1)])
        #expect(applied.blocked.first?.answer?.key == answer.key)
        try self.expectEqual()
    }

    @Test func tokensAreCreatedAndRevokedOnAllNodes() throws {
        let (first, second) = try self.store.access {
            (
                try self.store.createToken(Self.grant("a"), secretHash: Self.secret(1), now: 1),
                try self.store.createToken(Self.grant("b"), secretHash: Self.secret(2), now: 2)
            )
        }
        try self.store.access { try self.store.noteUse([first.description.number: 99]) }
        try self.replica.catchUp()
        #expect(try self.following { try $0.tokens() }.map(\.secretHash) == [first.secretHash, second.secretHash])
        // Each node keeps its own times of use.
        #expect(try self.following { try $0.tokens() }.map(\.description.lastUsed) == [0, 0])
        try self.expectEqual()
        try self.store.access { try self.store.revokeToken(second.description.number, now: 3) }
        try self.replica.catchUp()
        try self.expectEqual()
        // No leader assigns a number twice.
        try self.fixture.exchange()
        let third = try self.store.access {
            try self.store.createToken(Self.grant("c"), secretHash: Self.secret(3), now: 3)
        }
        #expect(third.description.number == second.description.number + 1)
    }

    /// Each node must enforce the expiry, and every node shows the same users.
    @Test func usersAndExpiriesOfTokensReachTheFollower() throws {
        let grants = [
            TokenGrant(name: "a", role: .admin, user: "Ann"), TokenGrant(name: "b", role: .read, expires: 99),
            TokenGrant(name: "c", role: .read),
        ]
        try self.store.access {
            for (number, grant) in grants.enumerated() {
                _ = try self.store.createToken(grant, secretHash: Self.secret(UInt64(number)), now: 1)
            }
        }
        let applied = try self.replica.catchUp()
        #expect(try self.following { try $0.tokens() }.map(\.description.grant) == grants)
        try self.expectEqual()
        // A token without both has the note that older nodes know; they refuse the other one.
        let tags = applied.flatMap(\.record.notes).compactMap { note -> UInt8? in
            guard case .tokenCreated = note else { return nil }
            var writer = ByteWriter()
            writer.write(note: note)
            return writer.bytes[0]
        }
        #expect(tags == [8, 8, 4])
    }

    @Test func usersOfTransactionsReachTheFollower() throws {
        for user in [UserLabel("Ann"), UserLabel("Bob", isClaimed: true), nil] {
            try self.fixture.inGroup { group in
                for key in ["k", nil] {
                    _ = try group.request(inSavepoint: true) { graph in
                        _ = try graph.perform(WriteTransaction(mutations: [Fixture.insert("a")]))
                        let description = Fixture.description
                        description.user = user
                        description.coalescingKey = key
                        return description
                    }
                }
            }
        }
        try self.replica.catchUp()
        let headers = try self.following { try $0.headers(before: Revision(0), limit: 9) }
        #expect(headers.map { $0.user?.text } == [nil, nil, "Bob", "Bob", "Ann", "Ann"])
        #expect(headers.map { $0.user?.isClaimed } == [nil, nil, true, true, false, false])
        #expect(headers.map(\.coalescingKey) == [nil, "k", nil, "k", nil, "k"])
        try self.expectEqual()
    }

    @Test func theFollowerDropsTheHistoryThatTheLeaderDrops() throws {
        for number in 0..<6 { try self.fixture.perform(Fixture.insert("\(number)")) }
        try self.fixture.inGroup { try $0.block(Revision(2), answer: nil) }
        try self.replica.catchUp()
        let trim = { (store: Store) in try store.access { try store.trimJournal(now: 1_000, revisionsMax: 2) } }
        #expect(try trim(self.replica.store) == nil)
        #expect(try trim(self.store) == Revision(4))
        let applied = try self.replica.catchUp()
        #expect(applied.count == 1)
        #expect(self.replica.store.oldestBase == Revision(4))
        try self.expectEqual()
    }

    @Test func aFollowerRefusesEveryWriteAndKeepsItsState() throws {
        try self.replica.catchUp()
        let follower = self.replica.store
        let before = try follower.tableHash()
        func expectOvertaken(_ body: () throws -> Void) {
            do {
                try follower.access(body)
                Issue.record("a follower has written")
            } catch StoreError.overtaken {
            } catch {
                Issue.record(error)
            }
        }
        expectOvertaken { _ = try follower.createToken(Self.grant("a"), secretHash: Self.secret(1), now: 1) }
        expectOvertaken { try follower.forgetSessions([1]) }
        expectOvertaken {
            let group = try follower.beginGroup(time: 1, alwaysSavepoint: false)
            defer { try? group.rollback() }
            _ = try group.request(inSavepoint: true) { graph in
                _ = try graph.perform(WriteTransaction(mutations: [Fixture.insert("a")]))
                return Fixture.description
            }
            try group.commit()
        }
        #expect(try follower.tableHash() == before)
        #expect(follower.head == self.store.head)
        try self.expectEqual()
    }

    // MARK: Undo

    /// The owner of a deleted object is deleted too: its restoration is refused, or goes under the root.
    @Test(arguments: UndoOptions.Policy.allCases, [false, true])
    func undosOfEveryPolicyAreReplayed(policy: UndoOptions.Policy, rehomes: Bool) throws {
        let list = try #require(try self.fixture.perform(Fixture.insert("list")).first)
        let item = try #require(
            try self.fixture.perform(Fixture.insert("item", under: .object(list)), Fixture.insert("other")).first
        )
        let deletion = try #require(
            try self.fixture.commit { _ = try $0.perform(WriteTransaction(mutations: [.delete(.object(item))])) }
        )
        try self.fixture.perform(.delete(.object(list)))
        var restored: ChangeSet?
        do {
            restored = try self.fixture.revert(deletion.revision, UndoOptions(policy: policy, rehomes: rehomes))
        } catch StoreError.refused {}
        if rehomes, policy != .strict { #expect(restored?.insertedCount == 1) }
        let replayed = try self.replica.catchUp().last?.changes.first
        if let restored {
            #expect(try replayed?.difference(from: restored, self.replica.store, self.store) == nil)
            let again = try #require(try self.fixture.revert(restored.revision))
            let applied = try #require(try self.replica.catchUp().last?.changes.first)
            #expect(try applied.difference(from: again, self.replica.store, self.store) == nil)
        }
        try self.expectEqual()
    }

    // MARK: Bulk writes

    /// A sub-tree of several blocks.
    private func staged() throws -> StagedSubtree {
        let title = String(repeating: "a long title ", count: 20)
        return try self.fixture.stage((0..<3_000).map { (depth: $0 % 7, title: "\($0) \(title)") }, under: ObjectID(1))
    }

    @Test func importsAndTheirUndoAreReplayedBlockByBlock() throws {
        let staged = try self.staged()
        let written = try #require(
            try self.fixture.commit { graph in _ = try graph.importSubtree(staged) }
        )
        let imported = try #require(try self.replica.catchUp().last)
        #expect(imported.record.blockCount > 1)
        let changes = try #require(imported.changes.first)
        #expect(changes.blockCount > 1)
        // Memory does not grow with the write.
        #expect(changes.changedRows.count <= 5)
        #expect(try changes.difference(from: written, self.replica.store, self.store) == nil)
        try self.expectEqual()
        let undone = try #require(try self.fixture.revert(written.revision))
        let replayed = try #require(try self.replica.catchUp().last?.changes.first)
        #expect(try replayed.difference(from: undone, self.replica.store, self.store) == nil)
        try self.expectEqual()
    }

    /// Only the blocks with objects that something needs are read again.
    @Test func onlyConcernedBlocksAreNoted() throws {
        let staged = try self.staged()
        try self.fixture.commit { graph in _ = try graph.importSubtree(staged) }
        let follower = self.replica.store
        var applied: AppliedRecord?
        for entry in self.replica.log.entries(after: try #require(follower.logState?.position.position)) {
            applied = try follower.apply(entry) { $0.id == ObjectID(2_500) }
        }
        let changes = try #require(applied?.changes.first)
        #expect(changes.concernedBlocks.count == 1)
        var found = false
        try follower.access { try follower.forEachChangedObject(changes) { found = found || $0.id == ObjectID(2_500) } }
        #expect(found)
    }

    // MARK: Outcomes

    private func expectFailure(_ expected: String, _ body: () throws -> Void) {
        do {
            try body()
            Issue.record("not \(expected)")
        } catch {
            #expect("\(error)".contains(expected), "\(error)")
        }
    }

    private func insert(_ title: String) throws { try self.fixture.perform(Fixture.insert(title)) }

    @Test func anAnswerThatIsLostLeavesTheCommitUncertainUntilItIsSettled() throws {
        try self.insert("before")
        let before = try self.store.tableHash()
        self.replica.log.inject(.lostAnswer)
        self.expectFailure("has not answered") { try self.insert("lost") }
        #expect(try self.store.tableHash() == before)
        // Nothing else is written meanwhile, and reading goes on.
        self.expectFailure("has not answered yet") { try self.insert("next") }
        #expect(try self.store.settle(.unknown, isConcerned: { _ in true }) == nil)
        let applied = try #require(try self.store.settle(.appended, isConcerned: { _ in true }))
        #expect(applied.headers.count == 1)
        #expect(self.store.uncertain == nil)
        #expect(self.store.isLeading)
        try self.insert("after")
        try self.replica.catchUp()
        try self.expectEqual()
    }

    @Test(arguments: [AppendOutcome.taken, .behind, .refused(NestError(.diskFull, "full"))])
    func aRecordThatIsNotInTheLogNeverHappened(outcome: AppendOutcome) throws {
        self.replica.log.inject(.lostRequest)
        self.expectFailure("has not answered") { try self.insert("lost") }
        #expect(try self.store.settle(outcome, isConcerned: { _ in true }) == nil)
        #expect(self.store.uncertain == nil)
        let staysLeader = outcome != .taken && outcome != .behind
        #expect(self.store.isLeading == staysLeader)
        try self.replica.catchUp()
        try self.expectEqual()
        if staysLeader { try self.insert("after") }
    }

    @Test func aRefusedRecordIsRefusedAndTheNextOneIsWritten() throws {
        self.replica.log.inject(.refused(NestError(.diskFull, "the log's disk is full")))
        expectRefusal(.diskFull) { try self.insert("a") }
        try self.insert("b")
        try self.replica.catchUp()
        try self.expectEqual()
    }

    /// Both believe that they lead: the chain lets only one write.
    @Test func theFormerLeaderIsFencedByTheRecordOfTheNext() throws {
        try self.insert("a")
        try self.replica.catchUp()
        let former = self.store
        let next = self.replica.store
        try self.replica.lead(next)
        #expect(former.isLeading)
        self.expectFailure("another node") { try self.insert("b") }
        #expect(!former.isLeading)
        for entry in self.replica.log.entries(after: try #require(former.logState?.position.position)) {
            _ = try former.apply(entry, isConcerned: { _ in true })
        }
        try self.expectEqual()
        #expect(next.isLeading)
    }

    @Test func anOpenRecordOfALostLeaderIsDroppedWhenAnotherTakesItsPlace() throws {
        try self.replica.catchUp()
        self.replica.log.inject(.lostRequest)
        self.expectFailure("has not answered") { try self.insert("lost") }
        try self.replica.lead(self.replica.store)
        let former = self.store
        for entry in self.replica.log.entries(after: try #require(former.logState?.position.position)) {
            _ = try former.apply(entry, isConcerned: { _ in true })
        }
        #expect(former.uncertain == nil)
        #expect(!former.isLeading)
        try self.expectEqual()
    }

    /// A revision is in the log, and the answer is lost: the undo's reply has the number of its revisions on any node.
    @Test func aRetriedUndoIsAnsweredByAnotherNode() throws {
        try self.insert("a")
        let key = Identifier128(high: 5, low: 5)
        try self.fixture.inGroup { group in
            var last: WriteResult?
            for title in ["b", "c"] {
                last = try group.request(inSavepoint: true) { graph in
                    _ = try graph.perform(WriteTransaction(mutations: [Fixture.insert(title)]))
                    return Fixture.description
                }
            }
            _ = group.complete(try #require(last), key: key, conflicts: UndoConflicts(), revisionCount: 2)
        }
        let headers = try #require(try self.replica.catchUp().last?.headers)
        #expect(headers.map(\.revisionCount) == [1, 2])
        #expect(headers.map(\.key) == [nil, key])
        try self.expectEqual()
        // An older server reads the journal of a single store: there it is not written.
        let single = try Fixture(inMemory: true)
        try single.inGroup { group in
            let result = try group.request(inSavepoint: true) { graph in
                _ = try graph.perform(WriteTransaction(mutations: [Fixture.insert("a")]))
                return Fixture.description
            }
            let last = group.complete(
                try #require(result),
                key: key,
                conflicts: UndoConflicts(),
                revisionCount: 2
            )
            #expect(last.header.revisionCount == 1)
        }
    }

    @Test func aStoreLeadsWhenItsOpenLeaderRecordIsInTheLog() throws {
        try self.replica.catchUp()
        let follower = self.replica.store
        self.replica.log.inject(.lostAnswer)
        self.expectFailure("has not answered") { try self.replica.lead(follower) }
        #expect(!follower.isLeading)
        #expect(try follower.settle(.appended, isConcerned: { _ in true }) != nil)
        #expect(follower.isLeading)
    }

    /// The time of the log never falls, whatever the clock of the next leader shows.
    @Test func timesOfRecordsNeverFall() throws {
        self.replica.log.inject()
        try self.fixture.perform(Fixture.insert("a"))
        try self.replica.catchUp()
        let follower = self.replica.store
        try self.replica.lead(follower)
        let time = try #require(follower.logState?.time)
        try follower.access {
            let group = try follower.beginGroup(time: -1_000_000, alwaysSavepoint: false)
            let result = try group.request(inSavepoint: true) { graph in
                _ = try graph.perform(WriteTransaction(mutations: [Fixture.insert("b")]))
                return Fixture.description
            }
            try group.commit()
            #expect(result?.header.time == time)
        }
        #expect(follower.logState?.time == time)
    }

    // MARK: History

    @Test func aRenewedHistoryReachesTheFollower() throws {
        try self.replica.catchUp()
        let id = Identifier128(high: 77, low: 77)
        let server = LogServer(timeline: 2, isReplicated: false)
        #expect(try self.replica.lead(self.store, server: server, historyID: id).reopen == .historyRenewed)
        let applied = try #require(try self.replica.catchUp().last)
        #expect(applied.reopen == .historyRenewed)
        #expect(self.replica.store.historyID == id)
        #expect(self.replica.store.logState?.server == server)
        try self.expectEqual()
    }

    /// The state behind a cut is the snapshot of its position: records do not lead there.
    @Test func aCutIsNotApplied() throws {
        try self.replica.catchUp()
        let before = try self.replica.store.tableHash()
        let here = try #require(self.replica.store.logState)
        let record = try LogRecord(
            .cut,
            writer: LogRecord.Writer(node: Identifier128(high: 1, low: 1), epoch: 9),
            time: here.time,
            head: self.replica.store.head,
            directory: self.fixture.directory.path
        )
        let chain = try here.position.chain.followed(by: record.bytes, at: here.position.position + 1)
        let entry = LogEntry(
            position: LogPosition(position: here.position.position + 1, chain: chain),
            bytes: record.bytes
        )
        #expect(try self.replica.store.apply(entry, isConcerned: { _ in true }).reopen == .cut)
        #expect(self.replica.store.logState == here)
        #expect(try self.replica.store.tableHash() == before)
    }

    @Test func aMarkIsARecordThatChangesNothing() throws {
        try self.insert("a")
        let mark = try self.store.appendMark(now: 50)
        let digest = try self.store.reader.beginDigest()
        #expect(digest.position == mark.position)
        try self.insert("b")
        let applied = try #require(try self.replica.catchUp().dropLast().last)
        #expect(applied.record.kind == .mark)
        try self.replica.catchUp()
        #expect(try digest.compute() != self.replica.store.tableHash())
    }

    @Test func digestsOfEqualStoresAreEqual() throws {
        try self.insert("a")
        let own = try self.store.reader.beginDigest()
        try self.replica.catchUp()
        let other = try self.replica.store.reader.beginDigest()
        #expect(own.position == other.position)
        let digest = try own.compute()
        #expect(try other.compute() == digest)
        #expect(try self.store.tableHash() == digest)
        try self.insert("b")
        #expect(try self.store.reader.beginDigest().compute() != digest)
    }
}
