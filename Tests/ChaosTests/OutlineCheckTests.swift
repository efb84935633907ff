import NestHistory
import NestModel
import Testing

/// The checker finds wrong rows, depths, numbers of children, fold states and positions of outlines.
///
/// In `SmallHistory` the list is below the root, with the children Ann and Bob. Revision 3 renames Ann to Cara, 4
/// deletes Bob, and 5 marks Cara as done.
struct OutlineCheckTests {
    private typealias Event = SubscriptionRecord.Event

    private static func query(hidesDone: Bool = false, foldNumber: Int = 0, _ exceptions: ObjectID...) -> WatchedQuery {
        var query = WatchedQuery(.outline, of: ListModel.root, window: .range(offset: 0, limit: 10))
        query.outline.hidesDone = hidesDone
        query.outline.exceptions = Set(exceptions)
        query.foldNumber = foldNumber
        return query
    }

    private static func row(_ id: ObjectID, _ title: String, _ children: Int64, _ depth: Int64) -> Row {
        Row(id: id, values: [.string(title), .integer(children), .integer(depth)])
    }

    private static func position(_ total: Int, at row: Int = 0, _ anchor: ObjectID? = nil) -> WindowPosition {
        WindowPosition(
            total: total,
            sectionTotal: 1,
            start: WindowStart(row: row, section: 0, rowInSection: row),
            anchor: anchor
        )
    }

    private static func snapshot(_ revision: UInt64, _ rows: [Row], _ position: WindowPosition) -> Event {
        var state = SectionedSnapshot(
            revision: Revision(revision),
            projection: Self.query().projection,
            sections: [ResultsSection(key: .string(""), rows: rows)]
        )
        state.window = position
        return .snapshot(state)
    }

    private static func diff(
        _ from: UInt64,
        _ to: UInt64,
        total: Int,
        _ change: (inout ResultsDiff) -> Void
    ) -> Event {
        SmallHistory.diff(from, to, total: total) {
            $0.window = Self.position(total)
            change(&$0)
        }
    }

    private static func update(_ row: Int, _ property: PropertyNumber, _ value: AttributeValue) -> ResultsDiff.Update {
        .init(path: RowPosition(0, row), values: [(property, value)])
    }

    private static func rules(_ query: WatchedQuery, _ events: [Event]) -> [Rule] {
        var history = SmallHistory.make()
        var record = SubscriptionRecord(name: "outline", query: query)
        record.events = events
        record.isComplete = true
        history.subscriptions = [record]
        return HistoryChecker.violations(in: history).map(\.rule)
    }

    private static let rowsAt2 = [
        Self.row(SmallHistory.list, "L", 2, 0), Self.row(SmallHistory.ann, "Ann", 0, 1),
        Self.row(SmallHistory.bob, "Bob", 0, 1),
    ]
    private static let bobGoes = Self.diff(3, 4, total: 2) {
        $0.deletedRows = [.init(path: RowPosition(0, 2), id: SmallHistory.bob, reason: .deleted)]
        $0.updates = [Self.update(0, .outlineChildren, .integer(1))]
    }
    private static let renaming = Self.diff(2, 3, total: 3) {
        $0.updates = [Self.update(1, ListModel.title, .string("Cara"))]
    }

    /// The events of the outline with everything unfolded.
    private static let unfolded: [Event] = [
        Self.snapshot(2, Self.rowsAt2, Self.position(3)), Self.renaming, Self.bobGoes, .progress(Revision(5)),
    ]

    @Test func wrongRowsOfAnOutlineAreFound() {
        #expect(Self.rules(Self.query(), Self.unfolded) == [])
        let l = Self.rowsAt2[0]
        let (ann, bob) = (Self.rowsAt2[1], Self.rowsAt2[2])
        let mutants: [[Row]] = [
            [l, Self.row(SmallHistory.ann, "Ann", 0, 0), bob], [l, bob, ann], [l, ann], [l],
            [Self.row(SmallHistory.list, "L", 1, 0), ann, bob], [Self.row(SmallHistory.list, "L", -3, 0), ann, bob],
            [l, Self.row(SmallHistory.ann, "Ann", -1, 1), bob], [l, Self.row(SmallHistory.ann, "An", 0, 1), bob],
        ]
        for rows in mutants {
            let events = [Self.snapshot(2, rows, Self.position(rows.count))]
            #expect(Self.rules(Self.query(), events) == [.reliable], "\(rows)")
        }
        let wrongTotal = [Self.snapshot(2, Self.rowsAt2, Self.position(4))]
        #expect(Self.rules(Self.query(), wrongTotal) == [.reliable])
    }

    @Test func wrongDifferencesOfAnOutlineAreFound() {
        // The number of children is forgotten, then the row.
        let mutants = [
            Self.diff(3, 4, total: 2) {
                $0.deletedRows = [.init(path: RowPosition(0, 2), id: SmallHistory.bob, reason: .deleted)]
            },
            Self.diff(3, 4, total: 3) { $0.updates = [Self.update(0, .outlineChildren, .integer(1))] },
        ]
        for mutant in mutants {
            var events = Self.unfolded
            events[2] = mutant
            #expect(Self.rules(Self.query(), events) == [.reliable])
        }
        var events = Self.unfolded
        events.remove(at: 2)
        #expect(Self.rules(Self.query(), events) == [.bookmarkable])
        events = Self.unfolded
        events.remove(at: 1)
        #expect(Self.rules(Self.query(), events) == [.reliable])
    }

    /// A filter hides Ann at revision 5: the list then has no children to show.
    @Test func wrongRowsBehindAFilterAreFound() {
        func events(children: Int64) -> [Event] {
            Self.unfolded.dropLast() + [
                Self.diff(4, 5, total: 1) {
                    $0.deletedRows = [.init(path: RowPosition(0, 1), id: SmallHistory.ann, reason: .unmatched)]
                    $0.updates = [Self.update(0, .outlineChildren, .integer(children))]
                }
            ]
        }
        #expect(Self.rules(Self.query(hidesDone: true), events(children: 0)) == [])
        #expect(Self.rules(Self.query(hidesDone: true), events(children: -1)) == [.reliable])
        #expect(Self.rules(Self.query(hidesDone: true), Self.unfolded) == [.bookmarkable])
    }

    // MARK: Fold states

    private static let asksToFold = Event.folding(1, [ExpandedState(SmallHistory.list, isExpanded: false)])
    /// The list is folded at revision 3.
    private static let folds = Self.diff(3, 3, total: 1) {
        $0.deletedRows = [
            .init(path: RowPosition(0, 1), id: SmallHistory.ann, reason: .unmatched),
            .init(path: RowPosition(0, 2), id: SmallHistory.bob, reason: .unmatched),
        ]
        $0.updates = [Self.update(0, .outlineChildren, .integer(-3))]
    }
    private static let bobGoesFolded = Self.diff(3, 4, total: 1) {
        $0.updates = [Self.update(0, .outlineChildren, .integer(-2))]
    }

    /// From the request until it is certain, a state may have the fold state or not.
    @Test func foldStatesCountOnceTheyAreCertain() {
        let start = Array(Self.unfolded.prefix(2))
        #expect(Self.rules(Self.query(), start + [Self.asksToFold, Self.bobGoes, .progress(Revision(5))]) == [])
        let folded = [Self.asksToFold, Self.folds, Self.bobGoesFolded, .progress(Revision(5))]
        #expect(Self.rules(Self.query(), start + folded) == [])
        // Without a request for it.
        #expect(Self.rules(Self.query(), start + folded.dropFirst()) == [.reliable])
        // Asked for another object.
        let other = Event.folding(1, [ExpandedState(SmallHistory.bob, isExpanded: false)])
        #expect(Self.rules(Self.query(), start + [other] + folded.dropFirst()) == [.reliable])
        // A later query includes it for certain.
        let later = Event.changed(Self.query(foldNumber: 1, SmallHistory.list))
        #expect(
            Self.rules(
                Self.query(),
                start + [Self.asksToFold, later, Self.folds, Self.bobGoesFolded, .progress(Revision(5))]
            ) == []
        )
        #expect(
            Self.rules(Self.query(), start + [Self.asksToFold, later, Self.bobGoes, .progress(Revision(5))]) == [
                .reliable
            ]
        )
        // A query that does not include it leaves it possible.
        let earlier = Event.changed(Self.query())
        let still = start + [Self.asksToFold, earlier, Self.folds, Self.bobGoesFolded, .progress(Revision(5))]
        #expect(Self.rules(Self.query(), still) == [])
    }

    // MARK: Anchors

    /// A fold hides the anchor: the window follows the row in its position. Without a fold it must not leave it.
    @Test func anAnchorLeavesOnlyAHiddenRow() {
        var query = Self.query()
        query.window = .around(SmallHistory.bob, before: 9, after: 0)
        func events(_ asks: [Event], _ fold: (inout ResultsDiff) -> Void) -> [Event] {
            [Self.snapshot(2, Self.rowsAt2, Self.position(3, SmallHistory.bob))] + asks + [
                Self.diff(2, 3, total: 1) { fold(&$0) }
            ]
        }
        let folded = events([Self.asksToFold]) {
            if case .diff(let fold) = Self.folds { ($0.deletedRows, $0.updates) = (fold.deletedRows, fold.updates) }
            $0.window = Self.position(1, SmallHistory.list)
        }
        #expect(
            Self.rules(
                query,
                folded + [
                    Self.diff(3, 4, total: 1) {
                        $0.updates = [Self.update(0, .outlineChildren, .integer(-2))]
                        $0.window = Self.position(1, SmallHistory.list)
                    }, .progress(Revision(5)),
                ]
            ) == []
        )
        let lost = events([]) {
            $0.deletedRows = [.init(path: RowPosition(0, 2), id: SmallHistory.bob, reason: .outOfWindow)]
            $0.updates = [Self.update(1, ListModel.title, .string("Cara"))]
            $0.window = Self.position(3, SmallHistory.ann)
        }
        #expect(Self.rules(query, lost) == [.reliable])
    }
}
