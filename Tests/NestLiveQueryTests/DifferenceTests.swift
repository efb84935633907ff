import NestLiveQuery
import NestModel
import NestOrder
import NestTestSupport
import Testing
import NestSchema

/// Tests differences over random histories of a list. A difference that is applied to the old rows gives the new rows,
/// with the fewest moves that the rule allows.
@Suite struct DifferenceTests {
    /// A naive list next to a live result.
    private struct World {
        var random: SeededRandom
        var rows: [(id: ObjectID, position: Int64)]
        var nextID: Int64
        var revision = Revision(1)
        let result: LiveResult
        static let source = ResultSource(
            entity: EntityNumber(1),
            table: EntityNumber(1),
            kinds: [EntityNumber(1)],
            membership: .owned(slot: 0, place: 0, owner: ObjectID(1))
        )

        init(seed: UInt64) {
            self.random = SeededRandom(seed: seed)
            let count = self.random.below(12)
            self.rows = (0..<count).map { (ObjectID(Int64($0 + 2)), Int64($0) * 100) }
            self.nextID = Int64(count + 2)
            self.result = LiveResult(
                source: Self.source,
                sorted: ResultRows(keys: self.rows.map { RowKey(position: $0.position, id: $0.id) }),
                revision: self.revision
            )
        }

        /// Makes one revision: a few random edits of distinct rows, sometimes with a renumbering of others.
        mutating func step() {
            self.revision = self.revision.next
            var changes: [RowChange] = []
            var changedIDs: Set<ObjectID> = []
            for _ in 0...self.random.below(3) { self.edit(&changes, &changedIDs) }
            if self.random.oneIn(3) { self.renumber(&changes, changedIDs) }
            self.rows.sort { ($0.position, $0.id) < ($1.position, $1.id) }
            self.result.apply(changes, at: self.revision)
        }

        private mutating func edit(_ changes: inout [RowChange], _ changedIDs: inout Set<ObjectID>) {
            let position = Int64(self.random.below(2_000)) * 2 + 1
            switch self.random.below(4) {
            case 0:
                let id = ObjectID(self.nextID)
                self.nextID += 1
                self.rows.append((id, position))
                changedIDs.insert(id)
                changes.append(
                    RowChange(id: id, before: nil, after: RowKey(position: position, id: id), isPlaced: true)
                )
            case 1:
                guard let index = self.pick(changedIDs) else { return }
                let row = self.rows.remove(at: index)
                changedIDs.insert(row.id)
                changes.append(
                    RowChange(
                        id: row.id,
                        before: RowKey(position: row.position, id: row.id),
                        after: nil,
                        isPlaced: true,
                        isDeleted: self.random.oneIn(2)
                    )
                )
            case 2:
                guard let index = self.pick(changedIDs) else { return }
                let row = self.rows[index]
                changedIDs.insert(row.id)
                self.rows[index].position = position
                changes.append(
                    RowChange(
                        id: row.id,
                        before: RowKey(position: row.position, id: row.id),
                        after: RowKey(position: position, id: row.id),
                        isPlaced: true
                    )
                )
            default:
                guard let index = self.pick(changedIDs) else { return }
                let row = self.rows[index]
                changedIDs.insert(row.id)
                let key = RowKey(position: row.position, id: row.id)
                changes.append(
                    RowChange(id: row.id, before: key, after: key, isPlaced: false, changed: [(0, .integer(1))])
                )
            }
        }

        private mutating func pick(_ changedIDs: Set<ObjectID>) -> Int? {
            self.rows.indices.filter { !changedIDs.contains(self.rows[$0].id) }.randomElement(using: &self.random)
        }

        /// Shifts the positions of rows without changing their order, as a local renumbering does.
        private mutating func renumber(_ changes: inout [RowChange], _ changedIDs: Set<ObjectID>) {
            let sorted = self.rows.sorted { ($0.position, $0.id) < ($1.position, $1.id) }
            guard sorted.count > 2 else { return }
            for index in 1..<(sorted.count - 1) where !changedIDs.contains(sorted[index].id) {
                let low = sorted[index - 1].position
                let high = sorted[index + 1].position
                // Only between rows that are not renumbered themselves, so that the order certainly stays the same.
                guard index % 2 == 1, high - low > 2 else { continue }
                let row = sorted[index]
                let position = low + 1
                guard position != row.position, position < high,
                    let found = self.rows.firstIndex(where: { $0.id == row.id })
                else { continue }
                self.rows[found].position = position
                changes.append(
                    RowChange(
                        id: row.id,
                        before: RowKey(position: row.position, id: row.id),
                        after: RowKey(position: position, id: row.id),
                        isPlaced: false
                    )
                )
            }
        }

        var ids: [ObjectID] { self.rows.map(\.id) }

        mutating func range(of count: Int) -> Range<Int> {
            let first = self.random.below(count + 1)
            return first..<first + self.random.below(count - first + 1)
        }
    }

    private static func apply(_ difference: StructuralDifference, to ids: [ObjectID]) -> [ObjectID] {
        var ids = ids
        let moved = difference.moves.map { ids[$0.from.row] }
        let leaving = difference.deletedRows.map(\.path.row) + difference.moves.map(\.from.row)
        for index in leaving.sorted(by: >) { ids.remove(at: index) }
        var arriving = difference.insertedRows.map { ($0.path.row, $0.id) }
        arriving += zip(difference.moves, moved).map { ($0.to.row, $1) }
        for (index, id) in arriving.sorted(by: { $0.0 < $1.0 }) { ids.insert(id, at: index) }
        return ids
    }

    /// From every earlier state to the newest, over histories of up to 12 revisions.
    @Test func differenceTurnsEveryEarlierStateIntoTheNewest() {
        for seed in 0..<3_000 as Range<UInt64> {
            var world = World(seed: seed)
            var states: [(revision: Revision, ids: [ObjectID], tree: OrderStatisticTree)] = []
            for _ in 0...world.random.below(12) {
                states.append((world.revision, world.ids, world.result.tree))
                world.step()
            }
            for state in states {
                let (tree, changes) = world.result.state(at: state.revision)
                #expect(tree.digest == state.tree.digest, "seed \(seed): wrong state at \(state.revision)")
                let net = difference(from: state.tree, to: world.result.tree, touching: changes.values)
                #expect(Self.apply(net, to: state.ids) == world.ids, "seed \(seed) from \(state.revision)")
                Self.checkMoves(net, old: state.ids, new: world.ids, changes, "seed \(seed) from \(state.revision)")
            }
        }
    }

    /// From any window of every earlier state to any window of the newest.
    @Test func differenceTurnsAnyWindowIntoAnyOther() {
        for seed in 0..<3_000 as Range<UInt64> {
            var world = World(seed: seed)
            var states: [(revision: Revision, ids: [ObjectID])] = []
            for _ in 0...world.random.below(8) {
                states.append((world.revision, world.ids))
                world.step()
            }
            for state in states {
                let (tree, changes) = world.result.state(at: state.revision)
                let delta = ResultDelta(from: tree, to: world.result.tree, touching: Array(changes.values))
                for _ in 0..<4 {
                    let old = world.range(of: state.ids.count)
                    // Mostly close to the old window, like a scrolled window.
                    let near = old.clamped(to: 0..<world.ids.count)
                    let new = world.random.oneIn(3) ? world.range(of: world.ids.count) : near
                    let net = delta.difference(old, new)
                    let what = "seed \(seed) from \(state.revision), \(old) to \(new)"
                    #expect(Self.apply(net, to: Array(state.ids[old])) == Array(world.ids[new]), "\(what)")
                    Self.checkMoves(net, old: Array(state.ids[old]), new: Array(world.ids[new]), changes, what)
                }
            }
        }
    }

    /// The position that a row has left is between the same unchanged rows as before, also when they were renumbered.
    @Test func nextRowTakesThePositionOfARowThatLeft() {
        var (leftRows, renumbered) = (0, 0)
        for seed in 10_000..<12_000 as Range<UInt64> {
            var world = World(seed: seed)
            var states: [(revision: Revision, rows: [(id: ObjectID, position: Int64)])] = []
            for _ in 0...world.random.below(6) {
                states.append((world.revision, world.rows))
                world.step()
            }
            for state in states {
                let (tree, changes) = world.result.state(at: state.revision)
                let delta = ResultDelta(from: tree, to: world.result.tree, touching: Array(changes.values))
                let isUnchanged = { (id: ObjectID) in !(changes[id]?.isPlaced ?? false) }
                for (index, row) in state.rows.enumerated() where !world.ids.contains(row.id) {
                    let newIndex = delta.position(ofRemoved: RowKey(position: row.position, id: row.id))
                    let above = Set(state.rows[..<index].map(\.id).filter(isUnchanged))
                    let stay = world.ids.prefix(newIndex).filter(isUnchanged)
                    #expect(Set(stay) == above, "seed \(seed) from \(state.revision): \(row) to \(newIndex)")
                    let next = world.rows.count { ($0.position, $0.id) < (row.position, row.id) }
                    let isRenumbered = changes.values.contains { !$0.isPlaced && $0.before != $0.after }
                    #expect(isRenumbered || newIndex == next, "seed \(seed) from \(state.revision): \(row)")
                    leftRows += 1
                    renumbered += newIndex == next ? 0 : 1
                }
            }
        }
        #expect(leftRows > 1_000 && renumbered > 0, "\(leftRows) rows left, \(renumbered) among renumbered ones")
    }

    /// Checks that rows without a new placement do not move, that an object has at most one structural event, and that
    /// fewer moves are not enough.
    private static func checkMoves(
        _ net: StructuralDifference,
        old: [ObjectID],
        new: [ObjectID],
        _ changes: [ObjectID: RowChange],
        _ what: String
    ) {
        let moved = net.moves.map { old[$0.from.row] }
        #expect(moved.allSatisfy { changes[$0]?.isPlaced ?? false }, "\(what): an unchanged row moved")
        #expect(zip(net.moves, moved).allSatisfy { new[$0.to.row] == $1 }, "\(what): a move names another row")
        let left = net.deletedRows.map(\.id)
        let entered = net.insertedRows.map(\.id)
        #expect(Set(moved + left + entered).count == moved.count + left.count + entered.count, "\(what)")
        // Naive search: the fewest rows to remove so that the remaining rows, with all unchanged ones, are in the same
        // order.
        let common = old.filter { new.contains($0) }
        let placed = common.filter { changes[$0]?.isPlaced ?? false }
        guard placed.count <= 10 else { return }
        var fewest = placed.count
        for mask in 0..<(1 << placed.count) {
            let staying = Set(placed.indices.filter { mask >> $0 & 1 == 1 }.map { placed[$0] })
            let isStationary = { (id: ObjectID) in !(changes[id]?.isPlaced ?? false) || staying.contains(id) }
            if common.filter(isStationary) == new.filter({ common.contains($0) && isStationary($0) }) {
                fewest = min(fewest, placed.count - staying.count)
            }
        }
        #expect(net.moves.count == fewest, "\(what): \(net.moves.count) moves, \(fewest) are enough")
    }
}
