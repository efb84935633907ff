import NestHistory
import NestModel
import Testing

/// The checker finds the same violations in a history of two pieces as in one piece, wherever it is cut.
struct HistoryPiecesTests {
    /// The revision at which each write was executed; for writes that were never executed, a possible revision of the
    /// attempt.
    private static let revisions: [String: UInt64] = [
        "list": 1, "both": 2, "rename": 3, "delete": 4, "mark": 5, "never": 5, "lost": 5,
    ]

    /// Returns the history up to a revision and the rest. A diff from 3 to 5 cannot be cut, so this subscription gets 4
    /// and 5 separately.
    private static func pieces(cutAfter last: UInt64, _ change: (inout History) -> Void = { _ in }) -> [History] {
        var whole = SmallHistory.make()
        whole.subscriptions[0].events = [
            .snapshot(SmallHistory.state(1, [])),
            SmallHistory.inserting(SmallHistory.row(3, "Ann"), SmallHistory.row(4, "Bob")), SmallHistory.renaming,
            SmallHistory.diff(3, 4, total: 1) {
                $0.deletedRows = [.init(path: RowPosition(0, 1), id: SmallHistory.bob, reason: .deleted)]
            },
            SmallHistory.diff(4, 5, total: 1) {
                $0.updates = [.init(path: RowPosition(0, 0), values: [(ListModel.done, .boolean(true))])]
            },
        ]
        whole.followers[0].events = [
            .following(ResumePoint(historyID: SmallHistory.store, revision: Revision(1))),
            .changes(whole.audit[1]), .changes(whole.audit[2]), .changes(whole.audit[3]), .changes(whole.audit[4]),
        ]
        change(&whole)
        var (first, second) = (whole, whole)
        let count = Int(last)
        first.audit = Array(whole.audit.prefix(count))
        second.audit = Array(whole.audit.dropFirst(count))
        first.writes = whole.writes.filter { Self.revisions[$0.name]! <= last }
        second.writes = whole.writes.filter { Self.revisions[$0.name]! > last }
        (first.fetches, second.fetches) = last < 4 ? ([], whole.fetches) : (whole.fetches, [])
        // Each revision has one event.
        first.subscriptions[0].events = Array(whole.subscriptions[0].events.prefix(count))
        second.subscriptions[0].events = Array(whole.subscriptions[0].events.dropFirst(count))
        first.followers[0].events = Array(whole.followers[0].events.prefix(count))
        second.followers[0].events = Array(whole.followers[0].events.dropFirst(count))
        return [first, second]
    }

    private static func rules(_ pieces: [History]) -> [[Rule]] {
        var checker = HistoryChecker()
        return pieces.map { checker.check($0).map(\.rule) }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>) func correctPiecesAreAccepted(last: UInt64) {
        #expect(Self.rules(Self.pieces(cutAfter: last)) == [[], []])
        // A last piece without events is accepted too.
        #expect(Self.rules(Self.pieces(cutAfter: last) + [History()]) == [[], [], []])
    }

    /// The state at the end of a piece is the starting state of the next.
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func recordsAreCheckedAcrossPieces(last: UInt64) {
        var pieces = Self.pieces(cutAfter: last)
        pieces[1].subscriptions[0].events.removeFirst()
        pieces[1].followers[0].events.removeFirst()
        #expect(Self.rules(pieces) == [[], [last == 1 ? .resumable : .reliable, .reliable]])

        // The follower gets a change set again.
        pieces = Self.pieces(cutAfter: last)
        pieces[1].followers[0].events.insert(.changes(SmallHistory.audit[Int(last) - 1]), at: 0)
        #expect(Self.rules(pieces) == [[], [.unique]])

        // Only the first violation of a record is reported.
        pieces = Self.pieces(cutAfter: last)
        pieces[0].subscriptions[0].events.removeLast()
        #expect(Self.rules(pieces) == [[.reliable], []])
    }

    /// A complete record must reach the end of its piece.
    @Test func aCompleteRecordMustReachTheEndOfItsPiece() {
        var pieces = Self.pieces(cutAfter: 3)
        pieces[0].followers[0].events.removeLast()
        #expect(Self.rules(pieces) == [[.reliable], []])
        // The record ended, so another record begins under its name.
        pieces = Self.pieces(cutAfter: 3)
        pieces[0].subscriptions[0].isComplete = false
        #expect(Self.rules(pieces)[1] == [.reliable])
    }

    @Test func acknowledgedWritesMustBeInTheAuditOfTheirPiece() {
        var pieces = Self.pieces(cutAfter: 3)
        pieces[0].audit.removeLast()
        #expect(Self.rules(pieces)[0].contains(.durable))
        // The audit of a piece must begin where the previous audit ended.
        pieces = Self.pieces(cutAfter: 3)
        pieces[1].audit.removeFirst()
        #expect(Self.rules(pieces)[1].contains(.reliable))
    }

    @Test func rereadRevisionsMustBeUnchanged() {
        var checker = HistoryChecker()
        for piece in Self.pieces(cutAfter: 3) { #expect(checker.check(piece) == []) }
        let audit = SmallHistory.audit
        func rules(_ parts: [ChangeSetPart], _ base: UInt64, _ last: UInt64) -> [Rule] {
            checker.violations(rereading: parts, after: Revision(base), through: Revision(last)).map(\.rule)
        }
        #expect(rules(audit, 0, 5) == [])
        #expect(rules(Array(audit[3...]), 3, 5) == [])
        #expect(rules(Array(audit[..<4]), 0, 5) == [.durable])
        var changed = audit
        changed[2].objects = []
        #expect(rules(changed, 0, 5) == [.durable])
        changed = audit
        changed[4].sessionNumber = 9
        #expect(rules(changed, 0, 5) == [.durable])
    }
}
