import NestHistory
import NestModel
import Testing

/// The checker accepts correct undos and redos and finds wrong ones.
struct UndoHistoryTests {
    private static func part(
        _ revision: UInt64,
        _ name: String,
        _ objects: [ChangedObject],
        session: UInt64 = 1,
        reverting: UInt64? = nil,
        kind: HistoryEntry.Kind = .undo
    ) -> ChangeSetPart {
        ChangeSetPart(
            revision: Revision(revision),
            time: 0,
            sessionNumber: session,
            kind: reverting == nil ? .write : kind,
            reverted: reverting.map { Revision($0) },
            name: name,
            objects: objects
        )
    }

    private static let (ann, bob, eve) = (SmallHistory.ann, SmallHistory.bob, ObjectID(5))

    private static func revert(_ name: String, _ kind: HistoryEntry.Kind, _ answers: Write.Answer...) -> Write {
        var write = Write(name: name, mutations: [], kind: kind)
        write.answers = answers
        return write
    }

    /// Returns a history with a rename, its undo and redo, and a deletion and its undo.
    private static func make() -> History {
        var history = History()
        let title = SmallHistory.object(.updated, Self.ann, [ListModel.title])
        history.audit = [
            Self.part(1, "list", [SmallHistory.object(.inserted, SmallHistory.list)]),
            Self.part(
                2,
                "three",
                [Self.ann, Self.bob, Self.eve].map { SmallHistory.object(.inserted, $0) }
            ),
            Self.part(3, "rename", [title]), Self.part(4, "rename", [title], reverting: 3),
            Self.part(5, "rename", [title], reverting: 4, kind: .redo),
            Self.part(6, "delete", [SmallHistory.object(.deleted, Self.bob)]),
            Self.part(7, "delete", [SmallHistory.object(.inserted, Self.bob)], reverting: 6),
        ]
        history.writes = [
            SmallHistory.write(
                "list",
                [ListModel.insert("L", under: ListModel.root)],
                SmallHistory.receipt(1, SmallHistory.list)
            ),
            SmallHistory.write(
                "three",
                ["Ann", "Bob", "Eve"].map { ListModel.insert($0, under: SmallHistory.list) },
                SmallHistory.receipt(2, Self.ann, 3)
            ),
            SmallHistory.write("rename", [ListModel.rename(Self.ann, "Cara")], SmallHistory.receipt(3)),
            Self.revert("u1", .undo, .unknown, SmallHistory.receipt(4, isReplayed: true)),
            Self.revert("u2", .redo, SmallHistory.receipt(5)),
            SmallHistory.write("delete", [.delete(.object(Self.bob))], .unknown),
            Self.revert("u3", .undo, .unknown), Self.revert("u4", .undo, .refused(.undoConflict)),
        ]
        history.subscriptions = [
            Self.subscription(
                ["Ann", "Bob", "Eve"],
                ["Cara"],
                ["Ann"],
                ["Cara"],
                [.init(path: RowPosition(0, 1), id: 4)]
            )
        ]
        return history
    }

    private struct Left {
        var path: RowPosition
        var id: Int64
    }

    private static func subscription(
        _ first: [String],
        _ renamed: [String],
        _ undone: [String],
        _ redone: [String],
        _ left: [Left],
        back index: Int = 1
    ) -> SubscriptionRecord {
        var record = SubscriptionRecord(name: "s", query: SmallHistory.query)
        func renaming(_ from: UInt64, _ titles: [String]) -> SubscriptionRecord.Event {
            SmallHistory.diff(from, from + 1, total: 3) {
                $0.updates = [.init(path: RowPosition(0, 0), values: [(ListModel.title, .string(titles[0]))])]
            }
        }
        let rows = first.enumerated().map { SmallHistory.row(Int64($0) + 3, $1) }
        record.events = [
            .snapshot(SmallHistory.state(2, rows)), renaming(2, renamed), renaming(3, undone), renaming(4, redone),
            SmallHistory.diff(5, 6, total: 2) {
                $0.deletedRows = left.map { .init(path: $0.path, id: ObjectID($0.id), reason: .deleted) }
            },
            SmallHistory.diff(6, 7, total: 3) {
                $0.insertedRows = [.init(path: RowPosition(0, index), row: SmallHistory.row(4, "Bob"))]
            },
        ]
        record.isComplete = true
        return record
    }

    private static func rules(_ change: (inout History) -> Void) -> [Rule] {
        var history = Self.make()
        change(&history)
        return HistoryChecker.violations(in: history).map(\.rule)
    }

    @Test func correctUndosAndRedosAreAccepted() {
        #expect(HistoryChecker.violations(in: Self.make()) == [])
    }

    @Test func undoMustRestoreRowsAndPositions() {
        // Restored at the front instead of as the second row.
        let front = SmallHistory.diff(6, 7, total: 3) {
            $0.insertedRows = [.init(path: RowPosition(0, 0), row: SmallHistory.row(4, "Bob"))]
        }
        #expect(Self.rules { $0.subscriptions[0].events[5] = front } == [.reliable])
        let other = SmallHistory.diff(6, 7, total: 3) {
            $0.insertedRows = [.init(path: RowPosition(0, 1), row: SmallHistory.row(4, "Bo"))]
        }
        #expect(Self.rules { $0.subscriptions[0].events[5] = other } == [.reliable])
        #expect(Self.rules { $0.subscriptions[0].events.remove(at: 2) }.contains(.reliable))
    }

    /// If both old neighbours are deleted, a restored row may be at any position, but all subscriptions must show the
    /// same one.
    @Test func withoutNeighboursOneConsistentPositionIsAccepted() {
        func history(_ index: Int, then again: Int) -> History {
            var history = Self.make()
            let gone = [Self.ann, Self.eve].map { SmallHistory.object(.deleted, $0) }
            let new = [6, 7].map { SmallHistory.object(.inserted, ObjectID($0)) }
            history.audit[6] = Self.part(7, "others", gone + new)
            history.audit.append(
                Self.part(8, "delete", [SmallHistory.object(.inserted, Self.bob)], reverting: 6)
            )
            history.writes.append(
                SmallHistory.write(
                    "others",
                    [.delete(.object(Self.ann)), .delete(.object(Self.eve))]
                        + ["F", "G"].map { ListModel.insert($0, under: SmallHistory.list) },
                    SmallHistory.receipt(7, ObjectID(6), 2)
                )
            )
            history.subscriptions = [index, again].map { index in
                var record = SubscriptionRecord(name: "at \(index)", query: SmallHistory.query)
                var rows = [SmallHistory.row(6, "F"), SmallHistory.row(7, "G")]
                rows.insert(SmallHistory.row(4, "Bob"), at: index)
                record.events = [.snapshot(SmallHistory.state(8, rows))]
                return record
            }
            return history
        }
        for index in 0...2 {
            #expect(HistoryChecker.violations(in: history(index, then: index)) == [])
            #expect(HistoryChecker.violations(in: history(index, then: (index + 1) % 3)).map(\.rule) == [.reliable])
        }
    }

    @Test func reversibleRejectsWrongUndos() {
        // The undo reverts nothing, another object, another session's entry, or the same entry twice.
        func undo(_ objects: [ChangedObject], session: UInt64 = 1, _ reverted: UInt64 = 3) -> (inout History) -> Void {
            {
                $0.subscriptions = []
                $0.audit =
                    Array($0.audit.prefix(3)) + [
                        Self.part(4, "rename", objects, session: session, reverting: reverted)
                    ]
                $0.writes = Array($0.writes.prefix(4))
            }
        }
        let title = SmallHistory.object(.updated, Self.ann, [ListModel.title])
        #expect(Self.rules(undo([title])) == [])
        #expect(Self.rules(undo([])) == [.reversible])
        #expect(Self.rules(undo([SmallHistory.object(.updated, Self.bob, [ListModel.title])])).contains(.reversible))
        #expect(Self.rules(undo([SmallHistory.object(.deleted, Self.ann)])) == [.reversible])
        #expect(Self.rules(undo([title], session: 2)) == [.reversible])
        #expect(Self.rules(undo([title], 4)) == [.reversible])
        #expect(Self.rules { $0.audit[4] = Self.part(5, "rename", [title], reverting: 3) }.contains(.reversible))
        // The undo overwrites a later rename by another session.
        func overwriting(_ history: inout History) {
            undo([title])(&history)
            history.audit.insert(Self.part(4, "theirs", [title], session: 2), at: 3)
            history.audit[4].revision = Revision(5)
            history.writes[3] = Self.revert("u1", .undo, SmallHistory.receipt(5))
            history.writes.append(
                SmallHistory.write("theirs", [ListModel.rename(Self.ann, "Dora")], SmallHistory.receipt(4))
            )
        }
        #expect(Self.rules(overwriting) == [.reversible])
    }

    @Test func eachUndoHasOneRevision() {
        #expect(Self.rules { $0.writes[3].answers = [.unknown, SmallHistory.receipt(6)] } == [.durable])
        #expect(Self.rules { $0.writes[4].answers.append(SmallHistory.receipt(7)) }.contains(.atMostOnce))
        #expect(Self.rules { $0.writes[6].answers = [SmallHistory.receipt(4)] }.contains(.atMostOnce))
        #expect(Self.rules { $0.writes[6].answers = [.refused(.undoConflict)] } == [.atMostOnce])
        #expect(Self.rules { $0.writes[6].answers = [SmallHistory.receipt(9)] } == [.durable])
        #expect(
            Self.rules {
                $0.writes[4].observations = [
                    ReceiptObservation(subscription: "s", receipt: Revision(5), arrived: Revision(4))
                ]
            } == [.readYourWrites]
        )
    }
}
