import NestHistory
import NestModel
import Testing

/// The checker finds clients that go back in time, and nodes that differ at the end.
struct ClusterHistoryTests {
    private static let other = Identifier128(high: 3, low: 4)

    /// A client that reads at three nodes, and one subscription that it opens while a fetch is under way.
    private static func client(_ change: (inout [ClientRecord.Event]) -> Void = { _ in }) -> ClientRecord {
        var record = ClientRecord(name: "c")
        record.events = [
            .history(SmallHistory.store, reason: nil), .asked(1), .answered(1, Revision(2)), .asked(2), .asked(3),
            .saw(Revision(4)), .answered(3, Revision(3)), .history(SmallHistory.store, reason: nil), .asked(4),
            .gaveUp(4), .answered(2, Revision(2)), .asked(5), .answered(5, Revision(4)), .saw(Revision(3)),
        ]
        record.isComplete = true
        change(&record.events)
        return record
    }

    private static func rules(_ pieces: ClientRecord...) -> [[Rule]] {
        var checker = HistoryChecker()
        return pieces.map { piece in
            var history = History()
            history.clients = [piece]
            return checker.check(history).map(\.rule)
        }
    }

    /// An answer may be older than what arrived while it was under way, but not older than what was seen before it was
    /// asked for.
    @Test func clientsThatNeverGoBackAreAccepted() {
        #expect(Self.rules(Self.client()) == [[]])
    }

    @Test func monotonicRejectsAnswersOfAnEarlierState() {
        #expect(Self.rules(Self.client { $0[12] = .answered(5, Revision(3)) }) == [[.monotonic]])
        #expect(Self.rules(Self.client { $0[10] = .answered(2, Revision(1)) }) == [[.monotonic]])
        // What the client saw without asking counts too.
        #expect(
            Self.rules(Self.client { $0 += [.saw(Revision(9)), .asked(6), .answered(6, Revision(8))] }) == [
                [.monotonic]
            ]
        )
        #expect(Self.rules(Self.client { $0.remove(at: 1) }) == [[.monotonic]])
        // A client that continues in the next piece remembers what it saw in the first.
        var next = ClientRecord(name: "c")
        next.events = [.asked(6), .answered(6, Revision(3))]
        #expect(Self.rules(Self.client(), next) == [[], [.monotonic]])
        var ended = Self.client()
        ended.isComplete = false
        #expect(Self.rules(ended, next) == [[], []])
    }

    /// In a new history revisions begin anew, but the server must give the reason.
    @Test func aNewHistoryNeedsAReasonAndBeginsAnew() {
        func renewed(_ reason: String?) -> ClientRecord {
            Self.client {
                $0 += [.asked(6), .history(Self.other, reason: reason), .answered(6, Revision(1)), .asked(7)]
                $0 += [.answered(7, Revision(2))]
            }
        }
        #expect(Self.rules(renewed("history changed")) == [[]])
        #expect(Self.rules(renewed(nil)) == [[.monotonic]])
        var back = renewed("history changed")
        back.events += [.asked(8), .answered(8, Revision(1))]
        #expect(Self.rules(back) == [[.monotonic]])
    }

    // MARK: The stores at the end

    private static func store(_ node: String, _ change: (inout FinalStore) -> Void = { _ in }) -> FinalStore {
        let whole = Fetched(
            client: node,
            query: SmallHistory.query,
            atLeast: Revision(0),
            state: SmallHistory.state(5, [SmallHistory.row(3, "Cara", isDone: true)])
        )
        var store = FinalStore(
            node: node,
            tables: ["item": ["3, 'Cara'", "4, 'x'"], "nest_log": []],
            answers: [whole]
        )
        change(&store)
        return store
    }

    private static func rules(ofFinal stores: FinalStore...) -> [Rule] {
        var checker = HistoryChecker()
        #expect(checker.check(SmallHistory.make()) == [])
        return checker.violations(ofFinal: stores).map(\.rule)
    }

    @Test func equalStoresAreAccepted() {
        #expect(Self.rules(ofFinal: Self.store("a"), Self.store("b"), Self.store("c")) == [])
        #expect(Self.rules(ofFinal: Self.store("a")) == [])
    }

    @Test func equalRejectsTablesThatDiffer() {
        let changes: [(inout FinalStore) -> Void] = [
            { $0.tables["item"]?[0] = "3, 'Ann'" }, { $0.tables["item"]?.removeLast() },
            { $0.tables["item"]?.append("4, 'x'") }, { $0.tables["nest_log"] = nil }, { $0.tables["more"] = [] },
        ]
        for change in changes {
            #expect(Self.rules(ofFinal: Self.store("a"), Self.store("b"), Self.store("c", change)) == [.equal])
        }
    }

    /// Nodes that agree with each other must also hold what the history led to.
    @Test func equalRejectsStoresThatDifferFromTheHistory() {
        let renamed = { (store: inout FinalStore) in
            store.answers[0].state = SmallHistory.state(5, [SmallHistory.row(3, "Ann", isDone: true)])
        }
        #expect(Self.rules(ofFinal: Self.store("a", renamed), Self.store("b", renamed)) == [.equal, .equal])
        let behind = { (store: inout FinalStore) in store.answers[0].state.revision = Revision(4) }
        #expect(Self.rules(ofFinal: Self.store("a"), Self.store("b", behind)) == [.equal])
    }
}
