import NestHistory
import NestModel
import Testing

/// Every rule rejects histories that break it and no others.
struct HistoryCheckerTests {
    @Test func aCorrectHistoryIsAccepted() {
        #expect(HistoryChecker.violations(in: SmallHistory.make()) == [])
        #expect(HistoryChecker.violations(in: History()) == [])
    }

    private static func rules(_ change: (inout History) -> Void) -> [Rule] {
        var history = SmallHistory.make()
        change(&history)
        return HistoryChecker.violations(in: history).map(\.rule)
    }

    @Test func orderedRejectsOlderRevisions() {
        #expect(Self.rules { $0.subscriptions[0].events.append(.progress(Revision(4))) } == [.ordered])
        #expect(
            Self.rules { $0.subscriptions[0].events.append(SmallHistory.inserting(SmallHistory.row(9, "Z"))) } == [
                .ordered
            ]
        )
        let old = SubscriptionRecord.Event.snapshot(SmallHistory.state(2, []))
        #expect(Self.rules { $0.subscriptions[0].events += [.reset(isMismatch: false, ""), old] } == [.ordered])
        #expect(Self.rules { $0.followers[0].events.append(.changes(SmallHistory.audit[1])) } == [.ordered])
        #expect(Self.rules { $0.followers[0].events.append(.progress(Revision(2))) } == [.ordered])
    }

    @Test func uniqueRejectsRepeatedChanges() {
        #expect(Self.rules { $0.subscriptions[0].events.insert(SmallHistory.renaming, at: 3) } == [.unique])
        // The same change again at a later revision.
        let again = SmallHistory.diff(2, 4, total: 2) {
            $0.updates = [.init(path: RowPosition(0, 0), values: [(ListModel.title, .string("Cara"))])]
        }
        #expect(Self.rules { $0.subscriptions[0].events.insert(again, at: 3) } == [.unique])
        #expect(
            Self.rules { $0.subscriptions[0].events.insert(SmallHistory.diff(3, 4, total: 2) { _ in }, at: 6) } == [
                .unique
            ]
        )
        #expect(Self.rules { $0.followers[0].events.insert(.changes(SmallHistory.audit[2]), at: 3) } == [.unique])
    }

    @Test func reliableRejectsMissingChanges() {
        // A missing change, with and without a gap in the revisions.
        #expect(Self.rules { $0.subscriptions[0].events.remove(at: 1) } == [.reliable])
        let silent = SmallHistory.diff(1, 3, total: 2) {
            $0.insertedRows = [
                .init(path: RowPosition(0, 0), row: SmallHistory.row(4, "Bob")),
                .init(path: RowPosition(0, 1), row: SmallHistory.row(3, "Cara")),
            ]
        }
        #expect(Self.rules { $0.subscriptions[0].events.replaceSubrange(1...2, with: [silent]) } == [.reliable])
        #expect(Self.rules { $0.subscriptions[0].events.removeLast(4) } == [.reliable])
        #expect(Self.rules { $0.subscriptions[0].events.append(.reset(isMismatch: true, "digest")) } == [.reliable])
        func gap(_ history: inout History) {
            history.followers[0].since = nil
            history.followers[0].events.remove(at: 1)
        }
        #expect(Self.rules(gap) == [.reliable])
        #expect(Self.rules { $0.followers[0].events.removeLast(2) } == [.reliable])
        #expect(Self.rules { $0.fetches[0].state = SmallHistory.state(4, []) } == [.reliable])
    }

    @Test func atomicRejectsPartialTransactions() {
        let half = SmallHistory.inserting(SmallHistory.row(3, "Ann"))
        #expect(Self.rules { $0.subscriptions[0].events[1] = half } == [.atomic])
        let halfPart = SmallHistory.part(2, "both", [SmallHistory.object(.inserted, SmallHistory.ann)])
        #expect(Self.rules { $0.followers[0].events[1] = .changes(halfPart) } == [.atomic])
        let both = [SmallHistory.row(3, "Ann")]
        #expect(
            Self.rules {
                $0.fetches[0].atLeast = Revision(2)
                $0.fetches[0].state = SmallHistory.state(2, both)
            } == [.atomic]
        )
        // The store itself has only half of the transaction.
        #expect(
            Self.rules {
                $0 = History()
                $0.writes = Array(SmallHistory.writes.prefix(2))
                $0.writes[1].answers = [.unknown]
                $0.audit = [SmallHistory.audit[0], halfPart]
            } == [.atomic]
        )
    }

    @Test func resumableRejectsGapsAfterAReconnect() {
        #expect(Self.rules { $0.subscriptions[0].events[5] = .resumed(Revision(2)) } == [.resumable])
        #expect(Self.rules { $0.subscriptions[0].events.remove(at: 5) } == [.resumable])
        let gap = SmallHistory.diff(4, 5, total: 2) {
            $0.updates = [.init(path: RowPosition(0, 0), values: [(ListModel.done, .boolean(true))])]
        }
        #expect(Self.rules { $0.subscriptions[0].events[6] = gap } == [.resumable])
        #expect(Self.rules { $0.followers[0].events[4] = .resumed(Revision(2)) } == [.resumable])
        #expect(Self.rules { $0.followers[0].events.remove(at: 5) } == [.resumable])
        #expect(Self.rules { $0.followers[0].events.remove(at: 4) } == [.resumable])
        #expect(Self.rules { $0.followers[0].since?.revision = Revision(0) } == [.resumable])
    }

    @Test func bookmarkableRejectsFalseProgress() {
        #expect(Self.rules { $0.subscriptions[0].events[6] = .progress(Revision(5)) } == [.bookmarkable])
        #expect(Self.rules { $0.subscriptions[0].events[5] = .resumed(Revision(4)) } == [.bookmarkable])
        #expect(Self.rules { $0.followers[0].events.insert(.progress(Revision(4)), at: 5) } == [.bookmarkable])
    }

    @Test func readYourWritesRejectsStaleReads() {
        #expect(Self.rules { $0.writes[2].observations[0].arrived = Revision(2) } == [.readYourWrites])
        #expect(Self.rules { $0.fetches[0].atLeast = Revision(5) } == [.readYourWrites])
    }

    @Test func atMostOnceRejectsRepeatedExecution() {
        let again = SmallHistory.part(6, "mark", [])
        func twice(_ history: inout History) {
            history.audit.append(again)
            history.subscriptions = []
            history.followers = []
        }
        #expect(Self.rules(twice).contains(.atMostOnce))
        #expect(Self.rules { $0.writes[4].answers = [SmallHistory.receipt(4)] } == [.atMostOnce])
        #expect(Self.rules { $0.writes[4].answers.append(SmallHistory.receipt(6)) } == [.atMostOnce])
        #expect(Self.rules { $0.writes[1].answers = [SmallHistory.receipt(2, SmallHistory.bob, 2)] } == [.atMostOnce])
        #expect(Self.rules { $0.writes[4].answers = [.refused(.busy)] } == [.atMostOnce])
        #expect(Self.rules { $0.writes[4].answers = [.unknown, .refused(.busy)] } == [])
        let nothing = Write.Answer.receipt(Receipt(revision: Revision(5), isChanged: false))
        #expect(Self.rules { $0.writes[4].answers = [nothing] } == [.atMostOnce])
        // The first attempt changed nothing and the second did.
        #expect(Self.rules { $0.writes[4].answers.insert(nothing, at: 0) } == [])
        #expect(Self.rules { $0.writes.remove(at: 4) }.contains(.atMostOnce))
    }

    @Test func durableRejectsLostWrites() {
        // A write that was acknowledged and received is lost after the crash.
        func forget(_ history: inout History) { history.audit.removeLast() }
        #expect(Self.rules(forget) == [.durable, .durable, .durable])
        #expect(Self.rules { $0.writes[6].answers = [SmallHistory.receipt(6)] } == [.durable])
        let gone = SmallHistory.part(6, "mark", [])
        #expect(Self.rules { $0.followers[0].events.append(.changes(gone)) } == [.durable])
        #expect(Self.rules { $0.fetches[0].state.revision = Revision(6) } == [.durable])
        // Another transaction has its revision.
        let other = SmallHistory.part(5, "lost", [SmallHistory.object(.updated, SmallHistory.ann, [ListModel.title])])
        #expect(Self.rules { $0.audit[4] = other }.contains(.durable))
    }

    /// Compares the result of each kind of query with a result computed by hand.
    @Test func eachKindOfQueryHasTheExpectedResult() throws {
        var world = ListWorld()
        let list = ObjectID(2)
        _ = try world.apply([ListModel.insert("L", under: ListModel.root)], inserted: [list])
        let titles = [("b", true), ("A", false), ("bb", true), ("", false)]
        let inserts = titles.map { ListModel.insert($0.0, isDone: $0.1, under: list) }
        _ = try world.apply(inserts, inserted: (3...6).map { ObjectID($0) })
        _ = try world.apply([ListModel.move(ObjectID(5), under: list, .first)], inserted: [])
        func found(_ kind: WatchedQuery.Kind) -> [[Int64]] {
            WatchedQuery(kind, of: list).sections(in: world).map { $0.rows.map(\.id.rawValue) }
        }
        #expect(found(.whole) == [[5, 3, 4, 6]])
        #expect(found(.filtered) == [[3, 5]])
        #expect(found(.sectioned) == [[6], [4], [3, 5]])
        #expect(WatchedQuery(.related, of: list).sections(in: world)[0].rows[0].values == [.string(""), .string("L")])
        #expect(throws: ListWorld.Impossible.self) {
            try world.apply([ListModel.rename(ObjectID(9), "x")], inserted: [])
        }
        #expect(
            try world.apply([ListModel.move(ObjectID(5), under: list, .first)], inserted: []).unmoved == [ObjectID(5)]
        )
        #expect(try world.apply([.delete(.object(list))], inserted: []).deleted.count == 5)
    }
}
