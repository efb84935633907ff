import NestLiveQuery
import NestModel
import NestStore

/// A result too large to be read between two commits: read beside the engine, at a revision of its own.
package struct SideRead: Sendable {
    /// Names it for the engine.
    package let id: UInt64
    let source: ResultSource
    let slots: [Int]
    let window: FetchWindow?
    /// The object that the window is around may have left: a client that returns is told what has come into its place.
    let mayBeGone: Bool

    /// What has been read; made on one thread and taken by another.
    package struct Rows: @unchecked Sendable {
        let revision: Revision
        let state: LiveState
        /// Those that the window shows.
        let range: Range<Int>
        let header: SnapshotHeader
        let bodies: [[UInt8]]
        let isAnchorGone: Bool
    }

    /// Blocks: call it on a thread that may. O(n log n).
    package func run(_ reader: StoreReader) -> Result<Rows, NestError> {
        Result { () throws(NestError) in try reader.read { objects, revision in try self.rows(objects, revision) } }
    }

    private func rows(_ objects: ObjectReader, _ revision: Revision) throws -> Rows {
        let related = RelatedState(objects)
        try related.retain(self.source)
        let read = try objects.resultRows(self.source, related)
        let state = LiveState(self.source, read)
        let anchor =
            self.mayBeGone
            ? try? Engine.anchor(self.window, state.tree) : try Engine.anchor(self.window, state.tree)
        let range = View.range(self.window, anchor, state.tree)
        let (sections, rows) = try objects.encodedRows(
            self.source,
            state.tree,
            range,
            slots: self.slots,
            columns: { read.columns[$0] ?? [] }
        )
        let header = SnapshotHeader(
            reason: .first,
            revision: revision,
            digest: rows.digest.value,
            window: state.tree.position(of: range, anchor: anchor?.id),
            sections: sections.map { .init(key: $0.key, rowCount: $0.rows.count) }
        )
        return Rows(
            revision: revision,
            state: state,
            range: range,
            header: header,
            bodies: rows.bodies,
            isAnchorGone: anchor == nil && self.window?.isAround == true
        )
    }
}

/// A result that is being read: what has happened to it since it was asked for.
final class LoadingResult {
    private enum Touch {
        /// An object that may be a row, or a pair that may lead to one.
        case candidate(TouchedObject)
        /// An object that a pair may lead to.
        case row(TouchedObject)
        case affected(ObjectID)
        case reposition(Reposition)
    }

    private var touches: [(revision: Revision, touch: Touch)] = []
    private let countMax: Int
    /// More has happened than is worth being made up for.
    private(set) var isOverrun = false

    init(countMax: Int) {
        self.countMax = countMax
    }

    func note(candidate object: TouchedObject, _ revision: Revision) { self.append(.candidate(object), revision) }
    func note(row object: TouchedObject, _ revision: Revision) { self.append(.row(object), revision) }
    func note(affected id: ObjectID, _ revision: Revision) { self.append(.affected(id), revision) }
    func note(_ reposition: Reposition, _ revision: Revision) { self.append(.reposition(reposition), revision) }
    func overrun() {
        self.isOverrun = true
        self.touches = []
    }

    private func append(_ touch: Touch, _ revision: Revision) {
        guard !self.isOverrun else { return }
        guard self.touches.count < self.countMax else { return self.overrun() }
        self.touches.append((revision, touch))
    }

    /// The net changes of the rows after a revision. `result` is as it was then, `objects` are as they are now.
    func changes(of result: LiveResult, after base: Revision, _ objects: some RelatedObjects) throws -> [RowChange] {
        let later = self.touches.filter { $0.revision > base }.map(\.touch)
        return try result.source.isComputed ? self.computed(later, result, objects) : self.plain(later, result)
    }

    private func computed(
        _ later: [Touch],
        _ result: LiveResult,
        _ objects: some RelatedObjects
    ) throws -> [RowChange] {
        var touches = ComputedTouches()
        for touch in later {
            switch touch {
            case .candidate(let object) where result.source.isPaired: touches.note(pair: object)
            case .candidate(let object), .row(let object): touches.note(row: object)
            case .affected(let id): touches.note(affected: id)
            case .reposition(let reposition): touches.note(renumbered: reposition.id)
            }
        }
        return try touches.rowChanges(of: result, countMax: .max, objects).changes
    }

    private func plain(_ later: [Touch], _ result: LiveResult) -> [RowChange] {
        var net: [ObjectID: RowChange] = [:]
        for touch in later {
            switch touch {
            case .candidate(let object):
                if let change = result.source.rowChange(object) { net.merge(change) }
            case .reposition(let reposition):
                net.merge(RowChange(reposition))
            case .row, .affected:
                break
            }
        }
        // Of a renumbered object only its position is known: it may be no row.
        return net.values.filter { change in
            guard let before = change.before else { return change.after != nil }
            return result.tree.contains(before)
        }
    }
}

extension RowChange {
    /// A row that was renumbered: found by both keys, touched by neither.
    init(_ reposition: Reposition) {
        self.init(
            id: reposition.id,
            before: RowKey(position: reposition.oldPosition, id: reposition.id),
            after: RowKey(position: reposition.newPosition, id: reposition.id),
            isPlaced: false
        )
    }
}
