import NestHistory
import NestModel
import Testing

/// The checker finds wrong rows, wrong positions and wrong anchors of windows.
struct WindowHistoryTests {
    private typealias Event = SubscriptionRecord.Event

    private static let second = WatchedQuery(.whole, of: SmallHistory.list, window: .range(offset: 1, limit: 1))
    private static let around = WatchedQuery(
        .whole,
        of: SmallHistory.list,
        window: .around(SmallHistory.bob, before: 1, after: 0)
    )

    private static func position(_ total: Int, at row: Int, _ anchor: ObjectID? = nil) -> WindowPosition {
        WindowPosition(
            total: total,
            sectionTotal: 1,
            start: WindowStart(row: row, section: 0, rowInSection: row),
            anchor: anchor
        )
    }

    private static func snapshot(_ revision: UInt64, _ rows: [Row], _ position: WindowPosition) -> Event {
        var state = SmallHistory.state(revision, rows)
        state.window = position
        return .snapshot(state)
    }

    private static func diff(
        _ from: UInt64,
        _ to: UInt64,
        total: Int,
        _ position: WindowPosition,
        _ change: (inout ResultsDiff) -> Void
    ) -> Event {
        SmallHistory.diff(from, to, total: total) {
            $0.window = position
            change(&$0)
        }
    }

    private static func rules(_ query: WatchedQuery, _ events: [Event]) -> [Rule] {
        var history = SmallHistory.make()
        var record = SubscriptionRecord(name: "window", query: query)
        record.events = events
        record.isComplete = true
        history.subscriptions = [record]
        return HistoryChecker.violations(in: history).map(\.rule)
    }

    // MARK: Ranges

    /// The events of a window with the second row: Bob, until he is deleted.
    private static let ofSecond: [Event] = [
        Self.snapshot(2, [SmallHistory.row(4, "Bob")], Self.position(2, at: 1)), .progress(Revision(3)),
        Self.diff(2, 4, total: 0, Self.position(1, at: 1)) {
            $0.deletedRows = [.init(path: RowPosition(0, 0), id: SmallHistory.bob, reason: .deleted)]
        },
        .progress(Revision(5)),
    ]

    @Test func wrongRowsOfAWindowAreFound() {
        #expect(Self.rules(Self.second, Self.ofSecond) == [])
        var events = Self.ofSecond
        events[0] = Self.snapshot(2, [SmallHistory.row(3, "Ann")], Self.position(2, at: 1))
        #expect(Self.rules(Self.second, events) == [.reliable])
        events[0] = Self.snapshot(
            2,
            [SmallHistory.row(3, "Ann"), SmallHistory.row(4, "Bob")],
            Self.position(2, at: 0)
        )
        #expect(Self.rules(Self.second, events) == [.reliable])
        // The diff that deletes the row is missing.
        events = Self.ofSecond
        events.remove(at: 2)
        #expect(Self.rules(Self.second, events) == [.bookmarkable])
        events[2] = Self.diff(2, 5, total: 0, Self.position(1, at: 1)) {
            $0.deletedRows = [.init(path: RowPosition(0, 0), id: SmallHistory.bob, reason: .deleted)]
            $0.insertedRows = [.init(path: RowPosition(0, 0), row: SmallHistory.row(3, "Cara", isDone: true))]
        }
        #expect(Self.rules(Self.second, events) == [.reliable])
    }

    @Test func wrongTotalsAndStartsOfAWindowAreFound() {
        var events = Self.ofSecond
        events[0] = Self.snapshot(2, [SmallHistory.row(4, "Bob")], Self.position(3, at: 1))
        #expect(Self.rules(Self.second, events) == [.reliable])
        events = Self.ofSecond
        events[2] = Self.diff(2, 4, total: 0, Self.position(1, at: 0)) {
            $0.deletedRows = [.init(path: RowPosition(0, 0), id: SmallHistory.bob, reason: .deleted)]
        }
        #expect(Self.rules(Self.second, events) == [.reliable])
    }

    /// From revision 3 to 4 the window's row stays, and the total decreases by one.
    @Test func wrongPositionsOfAWindowAreFound() {
        let query = WatchedQuery(.whole, of: SmallHistory.list, window: .range(offset: 0, limit: 1))
        func events(_ position: WindowPosition) -> [Event] {
            [
                Self.snapshot(3, [SmallHistory.row(3, "Cara")], Self.position(2, at: 0)), .position(position),
                .progress(Revision(4)),
                Self.diff(3, 5, total: 1, Self.position(1, at: 0)) {
                    $0.updates = [.init(path: RowPosition(0, 0), values: [(ListModel.done, .boolean(true))])]
                },
            ]
        }
        #expect(Self.rules(query, events(Self.position(1, at: 0))) == [])
        #expect(Self.rules(query, events(Self.position(7, at: 0))) == [.reliable])
        #expect(Self.rules(query, events(Self.position(1, at: 1))) == [.reliable])
        #expect(Self.rules(query, events(Self.position(1, at: 0, SmallHistory.ann))) == [.reliable])
    }

    // MARK: Around an object

    private static func ofAround(
        at3: ObjectID? = SmallHistory.bob,
        at4: ObjectID? = SmallHistory.ann
    ) -> [Event] {
        [
            Self.snapshot(
                2,
                [SmallHistory.row(3, "Ann"), SmallHistory.row(4, "Bob")],
                Self.position(2, at: 0, SmallHistory.bob)
            ),
            Self.diff(2, 3, total: 2, Self.position(2, at: 0, at3)) {
                $0.updates = [.init(path: RowPosition(0, 0), values: [(ListModel.title, .string("Cara"))])]
            },
            Self.diff(3, 4, total: 1, Self.position(1, at: 0, at4)) {
                $0.deletedRows = [.init(path: RowPosition(0, 1), id: SmallHistory.bob, reason: .deleted)]
            },
            Self.diff(4, 5, total: 1, Self.position(1, at: 0, SmallHistory.ann)) {
                $0.updates = [.init(path: RowPosition(0, 0), values: [(ListModel.done, .boolean(true))])]
            },
        ]
    }

    @Test func anAnchorThatChangesBeforeItLeavesIsFound() {
        #expect(Self.rules(Self.around, Self.ofAround()) == [])
        #expect(Self.rules(Self.around, Self.ofAround(at3: SmallHistory.ann)) == [.reliable])
        #expect(Self.rules(Self.around, Self.ofAround(at4: SmallHistory.bob)) == [.reliable])
        #expect(Self.rules(Self.around, Self.ofAround(at4: nil)) == [.reliable])
    }

    // MARK: Request changes

    @Test func wrongRowsAfterARequestChangeAreFound() {
        let first = WatchedQuery(.whole, of: SmallHistory.list, window: .range(offset: 0, limit: 1))
        func events(_ change: Event) -> [Event] {
            [
                Self.ofSecond[0], .changed(first), change, .progress(Revision(2)),
                Self.diff(2, 3, total: 1, Self.position(2, at: 0)) {
                    $0.updates = [.init(path: RowPosition(0, 0), values: [(ListModel.title, .string("Cara"))])]
                },
                Self.diff(3, 5, total: 1, Self.position(1, at: 0)) {
                    $0.updates = [.init(path: RowPosition(0, 0), values: [(ListModel.done, .boolean(true))])]
                },
            ]
        }
        func change(_ row: Row, at index: Int) -> Event {
            Self.diff(2, 2, total: 1, Self.position(2, at: index)) {
                $0.deletedRows = [.init(path: RowPosition(0, 0), id: SmallHistory.bob, reason: .outOfWindow)]
                $0.insertedRows = [.init(path: RowPosition(0, 0), row: row)]
            }
        }
        #expect(Self.rules(Self.second, events(change(SmallHistory.row(3, "Ann"), at: 0))) == [])
        #expect(Self.rules(Self.second, events(change(SmallHistory.row(3, "Ann"), at: 1))) == [.reliable])
        #expect(Self.rules(Self.second, events(change(SmallHistory.row(3, "Cara"), at: 0))) == [.reliable])
        // The request changed, but the rows did not.
        #expect(Self.rules(Self.second, events(.progress(Revision(2)))) == [.bookmarkable])
    }
}
