import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// What a node does while the leader sends it the records, and when it does not.
extension ReplicaMachineTests {
    private static func entry(_ position: Int64) -> LogEntry {
        LogEntry(position: LogPosition(position: position, chain: Self.chain), bytes: LogBytes([1]))
    }

    private static func state(_ position: Int64, by writer: Identifier128 = other, epoch: Int64 = 3) -> LogState {
        LogState(
            store: 1,
            position: LogPosition(position: position, chain: Self.chain),
            writer: .init(node: writer, epoch: epoch),
            server: LogServer(timeline: 1, isReplicated: true)
        )
    }

    @Test func theLogIsHardlyReadWhileTheLeaderStreams() {
        var scene = Scene()
        scene.run(100)
        scene.machine.take(.streaming(head: 5), now: scene.now)
        scene.run(1_100)
        let (reads, overviews) = (scene.readCount, scene.overviewCount)
        scene.run(3_000)
        #expect(scene.readCount == reads && scene.overviewCount - overviews <= 4)
        #expect(scene.machine.lagSeconds(now: scene.now) == 0)
    }

    @Test func withoutALinkALaterHeadIsReadAtOnce() {
        var scene = Scene()
        scene.run(300)
        scene.overview.head.position = 7
        scene.pages = [[Self.entry(6), Self.entry(7)]]
        scene.run(60)
        #expect(scene.pages.isEmpty)
    }

    @Test func recordsThatTheLinkDoesNotSendAreReadInTheLog() {
        var scene = Scene()
        scene.run(100)
        scene.machine.take(.streaming(head: 5), now: scene.now)
        scene.run(1_000)
        let reads = scene.readCount
        scene.machine.take(.streaming(head: 7), now: scene.now)
        scene.pages = [[Self.entry(6), Self.entry(7)]]
        scene.run(90)
        #expect(scene.readCount == reads, "they may be on their way")
        scene.run(50)
        #expect(scene.pages.isEmpty)
        // What the link sent meanwhile was of no use: it begins again at the store's place.
        let follows = scene.follows.count
        scene.machine.take(.applied(Self.state(7)), now: scene.now)
        scene.run(600)
        #expect(scene.follows.count == follows + 1)
    }

    @Test func recordsOfTheLinkThatArriveInTimeAreNotRead() {
        var scene = Scene()
        scene.run(100)
        scene.machine.take(.streaming(head: 5), now: scene.now)
        scene.run(1_000)
        let reads = scene.readCount
        for position in Int64(6)...40 {
            scene.machine.take(.streaming(head: position + 1), now: scene.now)
            scene.run(20)
            scene.machine.take(.applied(Self.state(position)), now: scene.now)
        }
        #expect(scene.readCount == reads)
    }

    /// A leader that has not noticed it yet still has the records that the log has lost. The next one ends the doubt.
    @Test func noLeaderIsFollowedWhileTheLogIsInDoubt() {
        var scene = Scene()
        scene.overview.doubt = true
        scene.run(3_000)
        #expect(scene.follows.isEmpty)
        scene.overview.doubt = false
        scene.run(1_100)
        #expect(scene.follows.compactMap { $0?.id } == [Self.other])
        scene.overview.doubt = true
        scene.run(3_000)
        #expect(scene.follows.count == 2 && scene.follows.last == .some(nil))
    }

    @Test func theLeaderIsNamedToTheLinkAndAgainWhenTheNodeHasCaughtUp() throws {
        var scene = Scene()
        scene.run(100)
        let leader = try #require(scene.follows.last ?? nil)
        #expect(scene.follows.count == 1 && leader.id == Self.other && leader.address == "2" && leader.epoch == 3)
        scene.machine.take(.streaming(head: 5), now: scene.now)
        scene.run(500)
        scene.overview.head.position = 6
        scene.pages = [[Self.entry(6)]]
        scene.machine.take(.behind, now: scene.now)
        scene.run(60)
        #expect(scene.pages.isEmpty && scene.follows.count == 1, "the store is not there yet")
        scene.machine.take(.applied(Self.state(6)), now: scene.now)
        scene.run(300)
        #expect(scene.follows.count == 2 && scene.follows.last == .some(leader))
        // Another leader, in another epoch.
        scene.machine.take(.down, now: scene.now)
        scene.overview.leader = Self.node(Identifier128(high: 0, low: 3))
        scene.overview.epoch = 4
        scene.run(300)
        #expect((scene.follows.last ?? nil)?.epoch == 4)
    }

    @Test func aNodeThatLeadsFollowsNone() {
        var scene = Scene()
        scene.run(100)
        scene.overview.leader = nil
        scene.run(300)
        #expect(scene.follows.count == 2 && scene.follows.last == .some(nil))
        scene.takeLead()
        scene.run(2_000)
        #expect(scene.machine.role == .leader && scene.follows.isEmpty)
    }

    /// A dead leader is replaced as quickly as without a link.
    @Test func theLogIsLookedAtAtOnceWhenTheLinkBreaks() {
        var scene = Scene()
        scene.run(100)
        scene.machine.take(.streaming(head: 5), now: scene.now)
        scene.run(1_500)
        scene.overview.isLeaderSessionGone = true
        scene.machine.take(.down, now: scene.now)
        scene.run(300)
        #expect(scene.hasClaimed)
    }

    @Test func aLeaderThatStreamsIsNewsOfTheLog() {
        var scene = Scene()
        scene.run(100)
        scene.fails = true
        for _ in 0..<12 {
            scene.machine.take(.streaming(head: 5), now: scene.now)
            scene.run(1_000)
        }
        #expect(scene.machine.isReady(now: scene.now) && scene.machine.lagSeconds(now: scene.now) == 0)
        scene.machine.take(.down, now: scene.now)
        scene.run(12_000)
        #expect(!scene.machine.isReady(now: scene.now))
    }

    @Test func aDamagedRecordOfTheLinkIsReadInTheLog() {
        var scene = Scene()
        scene.run(100)
        scene.machine.take(.streaming(head: 6), now: scene.now)
        scene.overview.head.position = 6
        scene.pages = [[Self.entry(6)]]
        scene.machine.take(.damaged("record 6"), now: scene.now)
        scene.run(20)
        #expect(scene.pages.isEmpty && !scene.hasStopped)
        // The log's own is damaged too.
        scene.machine.take(.damaged("record 6"), now: scene.now)
        scene.run(100)
        #expect(scene.hasStopped)
    }

    @Test func aRecordThatIsMissingInTheLogStopsTheNode() {
        var scene = Scene()
        scene.run(300)
        scene.overview.head.position = 7
        scene.pages = [[Self.entry(7)]]
        scene.run(200)
        #expect(scene.hasStopped)
    }

    // MARK: Moving the lead

    private func leading() -> Scene {
        var scene = Scene()
        scene.run(100)
        scene.overview.leader = nil
        scene.run(300)
        scene.takeLead()
        return scene
    }

    @Test func theLeadMovesBetweenTwoCommits() throws {
        var scene = self.leading()
        scene.machine.moveLead(to: Self.other, now: scene.now)
        scene.run(300)
        #expect(scene.given == nil && !scene.hasClaimed, "the engine may still write")
        scene.machine.take(.following, now: scene.now)
        scene.overview.leader = Self.node(Self.other)
        scene.run(100)
        #expect(scene.given == Self.other && scene.moved == nil && !scene.hasClaimed)
        scene.overview.epoch += 1
        let state = Self.state(scene.overview.head.position + 1, by: Self.other, epoch: scene.overview.epoch)
        scene.machine.take(.applied(state), now: scene.now)
        scene.run(100)
        guard case .success? = scene.moved else {
            Issue.record("\(String(describing: scene.moved))")
            return
        }
        #expect((scene.follows.last ?? nil)?.epoch == scene.overview.epoch)
    }

    @Test func aNodeThatIsGoneDoesNotGetTheLead() {
        var scene = self.leading()
        scene.releases = false
        scene.machine.moveLead(to: Self.other, now: scene.now)
        scene.machine.take(.following, now: scene.now)
        scene.run(200)
        #expect(scene.moved?.error?.code == .conflict && scene.hasClaimed)
    }

    @Test func aLeadThatIsNotTakenIsWithdrawnAndMovingItFails() {
        var scene = self.leading()
        scene.machine.moveLead(to: Self.other, now: scene.now)
        scene.machine.take(.following, now: scene.now)
        scene.overview.leader = Self.node(Self.other)
        scene.run(2_500)
        #expect(scene.withdrawn == nil && !scene.hasClaimed)
        scene.run(1_000)
        #expect(scene.withdrawn == Self.other)
        scene.run(2_000)
        #expect(scene.moved?.error?.code == .timedOut)
    }

    @Test func aFollowerMovesNothing() {
        var scene = Scene()
        scene.run(100)
        scene.machine.moveLead(to: Self.other, now: scene.now)
        scene.run(20)
        #expect(scene.moved?.error?.code == .notLeader)
    }

    /// Notes that come early, because a node is drained, do not raise the floor.
    @Test func aNodeLagsIfItIsWhereTheLeaderWasTwoNotesAgo() {
        var scene = Scene()
        scene.run(100)
        #expect(scene.machine.lagFloor == scene.machine.position.position && scene.machine.lagFloor > 0)
        let first = scene.machine.lagFloor
        for position in 1...4 {
            let state = Self.state(first + Int64(position), by: Self.other, epoch: scene.overview.epoch)
            scene.machine.take(.applied(state), now: scene.now)
            scene.machine.setDrained(position % 2 == 1, now: scene.now)
            scene.run(100)
        }
        #expect(scene.machine.lagFloor == first)
    }

    // MARK: Draining

    @Test func aDrainedNodeNeverClaims() {
        var scene = Scene()
        scene.run(100)
        scene.machine.setDrained(true, now: scene.now)
        scene.overview.leader = nil
        scene.run(2_000)
        #expect(!scene.hasClaimed)
        scene.machine.setDrained(false, now: scene.now)
        scene.run(300)
        #expect(scene.hasClaimed)
    }

    @Test func aDrainedNodeDoesNotKeepTheLeadThatItIsGiven() {
        var scene = Scene()
        scene.run(100)
        scene.machine.setDrained(true, now: scene.now)
        scene.overview.leader = Self.node(Self.me)
        scene.run(100)
        #expect(!scene.hasClaimed && scene.done.contains { if case .release = $0 { true } else { false } })
    }
}

extension ReplicaMachineTests.Scene {
    fileprivate var follows: [ReplicaMachine.Leader?] {
        self.done.compactMap { if case .follow(let leader) = $0 { .some(leader) } else { nil } }
    }
    fileprivate var hasStopped: Bool { self.done.contains { if case .stop(.damaged) = $0 { true } else { false } } }
    fileprivate var given: Identifier128? {
        for case .giveLead(let node) in self.done { return node }
        return nil
    }
    fileprivate var withdrawn: Identifier128? {
        for case .withdraw(let node, _) in self.done { return node }
        return nil
    }
    fileprivate var moved: Result<Void, NestError>? {
        for case .moved(let result) in self.done { return result }
        return nil
    }
}

extension Result where Failure == NestError {
    fileprivate var error: NestError? { if case .failure(let error) = self { error } else { nil } }
}
