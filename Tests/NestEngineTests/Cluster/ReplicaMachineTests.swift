import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// What a node does next, by what the log and its engine say.
@Suite struct ReplicaMachineTests {
    static let me = Identifier128(high: 0, low: 1)
    static let other = Identifier128(high: 0, low: 2)
    static let chain = Chain(Identifier128(high: 8, low: 8))

    /// A log with scripted answers.
    struct Scene {
        var machine: ReplicaMachine
        var now: Int64 = 0
        var overview: LogOverview
        var server = LogServer(timeline: 1, isReplicated: true)
        var snapshots: [LogSnapshot] = []
        var stale: [LogSnapshot] = []
        var nodes: [LogNode] = []
        var recordBytes: Int64 = 0
        /// The records that the next reads return.
        var pages: [[LogEntry]] = []
        /// The state behind the leader record.
        var elected: LogState?
        /// Whether the log names the node that the lead is given to.
        var releases = true
        /// Whether the log cannot be reached.
        var fails = false
        private(set) var readCount = 0
        private(set) var overviewCount = 0
        /// What was done besides asking.
        var done: [ReplicaMachine.Action] = []

        init(position: Int64 = 5, known: LogServer = LogServer(timeline: 1, isReplicated: true)) {
            let place = LogPosition(position: position, chain: ReplicaMachineTests.chain)
            let state = LogState(
                store: 1,
                position: place,
                writer: .init(node: ReplicaMachineTests.other, epoch: 3),
                server: known
            )
            self.machine = ReplicaMachine(node: ReplicaMachineTests.me, state: state, random: SeededRandom(seed: 1))
            self.overview = LogOverview(
                head: place,
                base: 0,
                epoch: 3,
                leader: ReplicaMachineTests.node(ReplicaMachineTests.other),
                isLeaderSessionGone: false,
                doubt: false,
                chainAtPosition: ReplicaMachineTests.chain
            )
        }

        /// Performs what the machine wants for some milliseconds, or until it has ended.
        mutating func run(_ milliseconds: Int64) {
            let end = self.now + milliseconds
            while self.now < end {
                let action = self.machine.next(now: self.now)
                if self.fails, Self.asksTheLog(action) {
                    self.machine.report(.failed(.unavailable("cut off")), now: self.now)
                    continue
                }
                switch action {
                case .wait(let time): self.now = min(max(time, self.now + 1), end)
                case .overview:
                    self.overviewCount += 1
                    self.machine.report(.overview(self.overview), now: self.now)
                case .server: self.machine.report(.server(self.server), now: self.now)
                case .records:
                    self.readCount += 1
                    let page = self.pages.isEmpty ? [] : self.pages.removeFirst()
                    self.machine.report(.records(page), now: self.now)
                case .claim:
                    self.done.append(action)
                    self.overview.epoch += 1
                    self.overview.leader = ReplicaMachineTests.node(ReplicaMachineTests.me)
                    self.machine.report(.claimed(epoch: self.overview.epoch), now: self.now)
                case .survey:
                    let survey = ReplicaMachine.Survey(
                        nodes: self.nodes,
                        snapshots: self.snapshots,
                        stale: self.stale,
                        recordBytes: self.recordBytes,
                        time: 0
                    )
                    self.machine.report(.surveyed(survey), now: self.now)
                case .renewLease, .note: self.machine.report(.done, now: self.now)
                case .release, .setDoubt, .truncate, .withdraw:
                    self.done.append(action)
                    self.machine.report(.done, now: self.now)
                case .giveLead:
                    self.done.append(action)
                    self.machine.report(.released(self.releases), now: self.now)
                case .follow:
                    self.done.append(action)
                    self.machine.report(.followed(true), now: self.now)
                case .snapshot:
                    self.done.append(action)
                    self.machine.snapshotTaken(now: self.now, succeeded: false)
                case .input(.confirm):
                    self.machine.take(.leading(self.elected!), now: self.now)
                case .input, .reopen, .stop, .moved: self.done.append(action)
                }
            }
        }

        private static func asksTheLog(_ action: ReplicaMachine.Action) -> Bool {
            switch action {
            case .wait, .input, .reopen, .stop, .moved, .snapshot: false
            default: true
            }
        }

        /// The leader record that the engine was asked to append.
        var lead: (writer: LogRecord.Writer, server: LogServer, historyID: Identifier128?)? {
            for case .input(.lead(let writer, let server, let history)) in self.done {
                return (writer, server, history)
            }
            return nil
        }

        mutating func takeLead() {
            guard let lead else { return }
            var position = self.overview.head
            position.position += 1
            self.overview.head = position
            self.overview.chainAtPosition = position.chain
            let state = LogState(store: 1, position: position, writer: lead.writer, server: lead.server)
            self.elected = state
            self.machine.take(.applied(state), now: self.now)
            self.run(20)
            self.done = []
        }

        var hasClaimed: Bool { self.done.contains { if case .claim = $0 { true } else { false } } }
        var reopening: ReplicaReopening? {
            for case .reopen(let reason) in self.done { return reason }
            return nil
        }
        /// The first truncation.
        var truncation: (through: Int64, removed: [Int64])? {
            for case .truncate(let position, let removed) in self.done {
                return (position, removed.map(\.position.position))
            }
            return nil
        }
        var doubts: [Bool] {
            self.done.compactMap { if case .setDoubt(let doubt) = $0 { doubt } else { nil } }
        }
    }

    static func node(_ id: Identifier128, isAlive: Bool = true) -> LogNode {
        LogNode(id: id, name: id.hex, address: "\(id.low)", version: "", isAlive: isAlive)
    }

    @Test func followsALeaderThatIsThere() {
        var scene = Scene()
        scene.run(2_000)
        #expect(!scene.hasClaimed && scene.machine.role == .follower && scene.machine.isReady(now: scene.now))
        #expect(scene.machine.leaderAddress == "2")
    }

    @Test func claimsWhenTheLeadersSessionIsGoneForAWhile() {
        var scene = Scene()
        scene.overview.isLeaderSessionGone = true
        scene.run(100)
        #expect(!scene.hasClaimed)
        // Seen again: it connects anew.
        scene.overview.isLeaderSessionGone = false
        scene.run(60)
        scene.overview.isLeaderSessionGone = true
        scene.run(120)
        #expect(!scene.hasClaimed)
        scene.run(200)
        #expect(scene.hasClaimed)
    }

    @Test func claimsWhenTheLeaseHasEnded() {
        var scene = Scene()
        scene.overview.leader = Self.node(Self.other, isAlive: false)
        scene.run(150)
        #expect(scene.hasClaimed && scene.lead?.writer == .init(node: Self.me, epoch: 4))
        #expect(scene.lead?.historyID == nil)
        scene.takeLead()
        #expect(scene.machine.role == .leader && scene.machine.epoch == 4)
    }

    @Test func aNodeBehindTheLogClaimsOnlyAfterItHasReadEverything() {
        var scene = Scene()
        scene.overview.leader = nil
        scene.overview.head.position = 9
        scene.run(60)
        #expect(!scene.hasClaimed)
    }

    @Test(arguments: [(true, false), (false, true)])
    func beginsANewHistoryOnAnotherTimelineUnlessItWasReplicated(_ wasReplicated: Bool, _ renews: Bool) {
        var scene = Scene(known: LogServer(timeline: 1, isReplicated: wasReplicated))
        scene.server = LogServer(timeline: 2, isReplicated: true)
        scene.overview.leader = nil
        scene.run(200)
        #expect((scene.lead?.historyID != nil) == renews)
    }

    @Test func beginsANewHistoryWhenInDoubt() {
        var scene = Scene()
        scene.overview.doubt = true
        scene.overview.leader = nil
        scene.run(200)
        #expect(scene.lead?.historyID != nil)
        scene.machine.take(.mustReopen(.newHistory), now: scene.now)
        scene.run(20)
        #expect(scene.doubts == [false] && scene.reopening == .newHistory)
    }

    @Test func aLeaderWhoseLogIsElsewhereClaimsAgain() {
        var scene = Scene()
        scene.overview.leader = nil
        scene.run(200)
        scene.takeLead()
        scene.run(1_500)
        #expect(!scene.hasClaimed)
        scene.server.timeline = 2
        scene.run(1_500)
        #expect(scene.hasClaimed)
        #expect(scene.done.contains { if case .input(.follow) = $0 { true } else { false } })
    }

    @Test func aLeaderRecordInALogThatHasLostRecordsIsNotEnough() {
        var scene = Scene()
        scene.overview.leader = nil
        scene.run(200)
        // The server that the leader record names was replaced before the record arrived.
        scene.server.timeline = 2
        scene.takeLead()
        #expect(scene.machine.role == .follower)
    }

    @Test func aLeaderFollowsWhenAnotherNodeHasClaimed() {
        var scene = Scene()
        scene.overview.leader = nil
        scene.run(200)
        scene.takeLead()
        scene.overview.leader = Self.node(Self.other)
        scene.overview.epoch += 1
        scene.run(1_500)
        #expect(scene.machine.role == .follower && !scene.hasClaimed)
    }

    @Test func aStoreAheadOfTheLogSetsTheDoubtAndJoinsAnew() {
        var scene = Scene()
        scene.overview.head.position = 3
        scene.overview.chainAtPosition = nil
        scene.run(100)
        #expect(scene.doubts == [true])
        guard case .diverged = scene.reopening else {
            Issue.record("\(scene.done)")
            return
        }
    }

    @Test func aStoreOnAnotherLineJoinsAnew() {
        var scene = Scene()
        scene.overview.head.position = 8
        scene.overview.chainAtPosition = .empty
        scene.run(100)
        #expect(scene.doubts.isEmpty)
        guard case .diverged = scene.reopening else {
            Issue.record("\(scene.done)")
            return
        }
    }

    @Test func aStoreBehindTheLogsBaseJoinsAnew() {
        var scene = Scene()
        scene.overview.head.position = 20
        scene.overview.base = 10
        scene.overview.chainAtPosition = nil
        scene.run(100)
        #expect(scene.reopening == .behindLog(base: 10))
    }

    @Test func aDamagedRecordStopsTheNodeUnlessTheStoreIsOnAnotherLine() {
        var scene = Scene()
        scene.run(100)
        scene.machine.take(.damaged("record 6"), now: scene.now)
        scene.run(100)
        #expect(scene.done.contains { if case .stop(.damaged) = $0 { true } else { false } })
        scene = Scene()
        scene.overview.chainAtPosition = .empty
        scene.machine.take(.damaged("record 6"), now: scene.now)
        scene.run(100)
        guard case .diverged = scene.reopening else {
            Issue.record("\(scene.done)")
            return
        }
    }

    @Test func givesUpOnAnAppendOnce() {
        var scene = Scene()
        scene.overview.leader = nil
        scene.run(200)
        scene.takeLead()
        scene.machine.take(.uncertain, now: scene.now)
        scene.run(7_500)
        #expect(!scene.done.contains { if case .input(.unanswered) = $0 { true } else { false } })
        scene.run(3_000)
        #expect(scene.done.count { if case .input(.unanswered) = $0 { true } else { false } } == 1)
    }

    @Test func answersForAnOpenAppendBeforeTheStoreIsOpenedAgain() {
        var scene = Scene()
        scene.overview.leader = nil
        scene.run(200)
        scene.takeLead()
        scene.machine.take(.uncertain, now: scene.now)
        scene.overview.chainAtPosition = .empty
        scene.run(1_500)
        guard case .input(.unanswered)? = scene.done.first, case .reopen(.diverged)? = scene.done.last else {
            Issue.record("\(scene.done)")
            return
        }
    }

    @Test func readsOnlyAsManyBytesAheadOfTheEngineAsFitIntoMemory() {
        var scene = Scene()
        let body = LogBytes([UInt8](repeating: 0, count: Limits.logBodyBytesMax))
        let count = Int64(ReplicaMachine.unappliedBytesMax / Limits.logBodyBytesMax / 2)
        scene.pages = (0..<4).map { page in
            (1...count).map { index in
                let position = LogPosition(position: 5 + Int64(page) * count + index, chain: Self.chain)
                return LogEntry(position: position, bytes: body)
            }
        }
        scene.run(500)
        #expect(scene.pages.count == 2)
        var state = LogState(
            store: 1,
            position: scene.overview.head,
            writer: .init(node: Self.other, epoch: 3),
            server: scene.server
        )
        state.position.position = 5 + count
        scene.machine.take(.applied(state), now: scene.now)
        scene.run(500)
        #expect(scene.pages.count == 1)
    }

    // MARK: Snapshots

    @Test func theFirstFollowerTakesTheSnapshotsAndTheLeaderOnlyAlone() {
        func takesSnapshots(_ ids: [Identifier128], leads: Bool) -> Bool {
            var scene = Scene()
            scene.nodes = ids.map { Self.node($0) }
            if leads {
                scene.overview.leader = nil
                scene.run(200)
                scene.takeLead()
            }
            scene.run(25_000)
            return scene.done.contains { if case .snapshot = $0 { true } else { false } }
        }
        #expect(takesSnapshots([Self.me, Self.other], leads: false))
        #expect(!takesSnapshots([Identifier128(high: 0, low: 0), Self.me, Self.other], leads: false))
        #expect(!takesSnapshots([Self.me, Identifier128(high: 0, low: 9)], leads: true))
        #expect(takesSnapshots([Self.me], leads: true))
    }

    @Test func recordsAreTruncatedBehindTheOlderOfTwoSnapshots() {
        var scene = Scene()
        scene.nodes = [Self.node(Self.me), Self.node(Self.other)]
        scene.snapshots = [5, 3, 1].map(Self.snapshot)
        scene.run(5_000)
        #expect(scene.truncation?.through == 3 && scene.truncation?.removed == [1])
    }

    /// Snapshots whose record is not in the log go, and the base is not raised for them.
    @Test func staleSnapshotsCountForNothing() {
        var scene = Scene()
        scene.nodes = [Self.node(Self.me), Self.node(Self.other)]
        scene.stale = [4, 3].map(Self.snapshot)
        scene.snapshots = [Self.snapshot(2)]
        scene.run(5_000)
        #expect(scene.truncation?.through == 0 && scene.truncation?.removed == [4, 3])
    }

    private static func snapshot(_ position: Int64) -> LogSnapshot {
        LogSnapshot(
            position: LogPosition(position: position, chain: Self.chain),
            revision: Revision(0),
            modelHash: 0,
            byteCount: 1,
            checksum: Self.me,
            partCount: 1
        )
    }
}
