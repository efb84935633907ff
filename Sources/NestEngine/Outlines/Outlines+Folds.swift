import NestLiveQuery
import NestModel
import NestProtocol
import NestSchema
import NestStore

/// SET_EXPANDED.
extension Outlines {
    func setExpanded(
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ viewID: UInt32,
        _ states: [ExpandedState],
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        guard let outline = self.outline(viewID, of: connection.id) else {
            guard !connection.views.contains(viewID) else {
                throw .refused(.invalid, "view \(viewID) is no outline: only rows of outlines fold")
            }
            throw .refused(.notFound, "the connection has no subscription to view \(viewID)")
        }
        var source = outline.source
        for state in states {
            var row: ObjectRow?
            if source.folds.attributeSlot != nil { row = try self.store.row(source.table, state.object) }
            source.folds.set(state.object, state.isExpanded, row)
        }
        guard source.folds.exceptions.count <= Limits.outlineExceptionsMax else {
            throw .refused(
                .limitExceeded,
                "an outline may have \(Limits.outlineExceptionsMax) objects whose fold state differs from its expansion"
            )
        }
        self.admission.work += states.count
        if !outline.isStale {
            do {
                try self.apply(states.map(\.object), source, to: outline)
            } catch StoreError.postponed(.resultTooExpensive) {
                let waiter = OutlineReading.Waiter.setExpanded(view: viewID, requestID: requestID)
                return self.begin(OutlineReading(source, waiter, connection.id, after: self.store.head), &effects)
            }
        }
        outline.source.folds = source.folds
        try self.answerFolds(outline, connection, requestID, &effects)
    }

    /// Sends what a change of fold states has changed, then DONE.
    func answerFolds(
        _ outline: Outline,
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        if outline.laggingSince == nil {
            try self.sendDifference(outline, from: self.store.head, isAnswer: true, &effects)
        }
        self.replies.send(.done, connection.id, requestID, &effects)
    }

    /// Folds and unfolds rows. Throws before anything has changed.
    private func apply(_ ids: [ObjectID], _ source: OutlineSource, to outline: Outline) throws(StoreError) {
        let tree = outline.rows.tree
        var folding: [Range<Int>] = []
        var unfolding: [(index: Int, id: ObjectID)] = []
        for id in Set(ids) {
            guard let index = tree.index(of: id), let state = tree.state(of: id) else { continue }
            var row: ObjectRow?
            if source.folds.attributeSlot != nil { row = try self.store.row(source.table, id) }
            let isExpanded = source.folds.isExpanded(id, row)
            if state.isExpanded, !isExpanded { folding.append(index..<tree.end(ofSubtreeAt: index)) }
            if !state.isExpanded, isExpanded { unfolding.append((index, id)) }
        }
        // What is below a row that is folded goes with it.
        folding.sort { $0.lowerBound < $1.lowerBound }
        var outer: [Range<Int>] = []
        for range in folding where range.lowerBound >= outer.last?.upperBound ?? 0 { outer.append(range) }
        unfolding.sort { $0.index < $1.index }
        var next = 0
        unfolding.removeAll { row in
            while next < outer.count, outer[next].upperBound <= row.index { next += 1 }
            return next < outer.count && outer[next].lowerBound < row.index
        }
        let leaving = outer.reduce(0) { $0 + $1.count - 1 }
        var reader = self.reader(source, room: source.rowsMax - tree.count + leaving)
        let before = reader.budget
        let arriving = try unfolding.map { (row) throws(StoreError) in
            try reader.rows(below: row.id, depth: tree.entry(at: row.index).depth + 1)
        }
        self.admission.work += before - reader.budget
        outline.rows.begin()
        for range in outer.reversed() { outline.rows.fold(tree.entry(at: range.lowerBound).id) }
        for (row, (rows, childCount)) in zip(unfolding, arriving) {
            outline.rows.unfold(row.id, rows, childCount: childCount)
        }
        outline.rows.follow()
    }
}
