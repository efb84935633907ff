import NestModel
import NestTestSupport
import Testing

/// The oracle of outlines against rows written by hand, and against another definition of the same rows.
@Suite struct NaiveOutlineTests {
    private static let open = PropertyNumber(3)
    private static let done = PropertyNumber(4)

    /// 1 has 10, 20, 30; 10 has 12, 11; 11 has 13; 20 has none; 30 has 31.
    private static func snapshot(open: Set<Int64> = [], done: Set<Int64> = []) -> NaiveSnapshot {
        let parents: [Int64: (Int64?, Int64)] = [
            1: (nil, 0), 10: (1, 1), 20: (1, 2), 30: (1, 3), 12: (10, 1), 11: (10, 2), 13: (11, 1), 31: (30, 1),
        ]
        var items: [ObjectID: NaiveSnapshot.Item] = [:]
        for (id, (parent, position)) in parents {
            items[ObjectID(id)] = NaiveSnapshot.Item(
                parent: parent.map { ObjectID($0) },
                position: position,
                values: [Self.open: .boolean(open.contains(id)), Self.done: .boolean(done.contains(id))]
            )
        }
        return NaiveSnapshot(items)
    }

    private static func text(_ shown: NaiveShownRows) -> [String] {
        shown.rows.map { row in
            guard case .integer(let depth) = row.value(.outlineDepth),
                case .integer(let children) = row.value(.outlineChildren)
            else { return "not integers" }
            return "\(row.id) \(depth) \(children)"
        }
    }

    @Test func rowsAreThoseOfUnfoldedParents() {
        let snapshot = Self.snapshot(open: [10, 30])
        let one = ObjectID(1)
        let folded = Self.text(snapshot.rows(below: one, NaiveFolds(FetchOutline())))
        #expect(folded == ["10 0 -3", "20 0 -1", "30 0 -2"])
        let all = Self.text(snapshot.rows(below: one, NaiveFolds(FetchOutline(.all, exceptions: [ObjectID(11)]))))
        #expect(all == ["10 0 2", "12 1 0", "11 1 -2", "20 0 0", "30 0 1", "31 1 0"])
        let shared = FetchOutline(.attribute(Self.open), exceptions: [ObjectID(30), ObjectID(20)])
        let mixed = Self.text(snapshot.rows(below: one, NaiveFolds(shared)))
        #expect(mixed == ["10 0 2", "12 1 -1", "11 1 -2", "20 0 0", "30 0 -2"])
        #expect(Self.text(snapshot.rows(below: ObjectID(11), NaiveFolds(FetchOutline()))) == ["13 0 -1"])
        #expect(snapshot.rows(below: ObjectID(99), NaiveFolds(FetchOutline(.all))).rows.isEmpty)
    }

    @Test func hiddenObjectsAreNotCountedAndHideWhatIsBelow() {
        let snapshot = Self.snapshot(done: [11, 20])
        let shown = snapshot.rows(below: ObjectID(1), NaiveFolds(FetchOutline(.all))) {
            $0.values[Self.done] == .boolean(false)
        }
        #expect(Self.text(shown) == ["10 0 1", "12 1 0", "30 0 1", "31 1 0"])
    }

    @Test func statesAreExceptionsOfTheDefault() {
        var folds = NaiveFolds(FetchOutline(.attribute(Self.open)))
        let closed = Self.snapshot()
        folds.set([ExpandedState(ObjectID(10), isExpanded: true)], closed.value)
        folds.set([ExpandedState(ObjectID(30), isExpanded: true)], closed.value)
        folds.set([ExpandedState(ObjectID(30), isExpanded: false)], closed.value)
        #expect(folds.exceptions == [ObjectID(10)])
        // Now the attribute unfolds 10 too, and the exception folds it.
        #expect(!folds.isUnfolded(ObjectID(10), Self.snapshot(open: [10]).value))
        folds.resubscribe(FetchOutline(.asBefore))
        #expect(folds.isUnfolded(ObjectID(10), closed.value))
    }

    /// In random trees, an object is shown if each object between it and the source is unfolded and it and they are
    /// admitted; rows that share a parent come in its order; a parent is the last row before that is less deep.
    @Test(arguments: Seeds.range(0..<40)) func rowsObeyTheDefinition(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let count = random.below(60) + 1
        var items = [ObjectID(1): NaiveSnapshot.Item()]
        for number in 2...Int64(count + 1) {
            let values = [Self.open, Self.done].map { ($0, AttributeValue.boolean(random.below(3) > 0)) }
            items[ObjectID(number)] = NaiveSnapshot.Item(
                parent: ObjectID(Int64(random.below(Int(number) - 1) + 1)),
                position: Int64(random.below(5)),
                values: Dictionary(uniqueKeysWithValues: values)
            )
        }
        let snapshot = NaiveSnapshot(items)
        let folds = NaiveFolds(FetchOutline(.attribute(Self.open)))
        let isAdmitted = { (item: NaiveSnapshot.Item) in item.values[Self.done] == .boolean(true) }
        let rows = snapshot.rows(below: ObjectID(1), folds, isAdmitted: isAdmitted).rows
        var path: [ObjectID: [(Int64, ObjectID)]] = [ObjectID(1): []]
        var expected: [ObjectID] = []
        for (id, item) in items.sorted(by: { $0.key < $1.key }) {
            guard let parent = item.parent, let above = path[parent] else { continue }
            let isOpen = parent == ObjectID(1) || snapshot.value(parent, Self.open) == .boolean(true)
            guard isOpen, isAdmitted(item) else { continue }
            path[id] = above + [(item.position, id)]
            expected.append(id)
        }
        expected.sort { path[$0]!.lexicographicallyPrecedes(path[$1]!) { $0 < $1 } }
        #expect(rows.map(\.id) == expected, "seed \(seed)")
        for (index, row) in rows.enumerated() {
            let parent = rows[..<index].last { $0.depth < row.depth }?.id ?? ObjectID(1)
            #expect(parent == items[row.id]!.parent && row.depth == path[row.id]!.count - 1, "seed \(seed)")
            let children = items.values.filter { $0.parent == row.id && isAdmitted($0) }
            #expect(row.childCount == children.count, "seed \(seed)")
        }
    }

    @Test func anchorThatLeftIsReplacedByTheRowInItsPosition() {
        let ids = { (numbers: [Int64]) in numbers.map { ObjectID($0) } }
        let next = { (after: [Int64], moved: Set<Int64>, anchor: Int64) in
            NaiveOutlineAnchor(before: ids([1, 2, 3, 4]), after: ids(after)) { moved.contains($0.rawValue) }
                .next([ObjectID(anchor)])
        }
        #expect(next([1, 2, 4], [], 3) == [ObjectID(4)])
        #expect(next([4, 1, 3], [], 1) == [ObjectID(1)])
        #expect(next([1, 2], [], 3) == [ObjectID(2)])
        #expect(next([1, 4, 2], [4], 3) == [ObjectID(2)])
        #expect(next([1, 2, 5, 4], [], 3) == [ObjectID(5), ObjectID(4)])
        #expect(next([], [], 3) == [nil])
    }
}
