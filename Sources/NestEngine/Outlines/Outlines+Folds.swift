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
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        guard let outline = self.outline(viewID, of: connection.id) else {
            guard !connection.views.contains(viewID) else {
                throw .refused(.invalid, "view \(viewID) is no outline: only rows of outlines fold")
            }
            throw .refused(.notFound, "the connection has no subscription to view \(viewID)")
        }
        self.admission.work += states.count / Self.statesPerWork
        // The last state of an object counts.
        let states = Dictionary(states.map { ($0.object, $0.isExpanded) }, uniquingKeysWith: { $1 })
        let waiter = OutlineReading.Waiter.setExpanded(view: viewID, requestID: requestID)
        let toggled: [ObjectID]
        do {
            toggled = try self.toggled(states, outline, connection.scope)
        } catch StoreError.postponed(.resultTooExpensive) {
            let reading = OutlineReading(
                outline.source,
                waiter,
                connection.id,
                states: states,
                after: self.store.head
            )
            return self.begin(reading, scope: connection.scope, &effects)
        }
        let tree = outline.rows.tree
        if toggled.contains(where: { states[$0] == true && tree.knows($0) }) { try self.live.requireRoom(now: now) }
        // Changed in place: a copy of many exceptions for each request would cost more than the request.
        outline.source.folds.toggle(toggled)
        do {
            try outline.source.folds.check()
            if !outline.isStale { try self.apply(toggled, to: outline) }
        } catch StoreError.postponed(.resultTooExpensive) {
            let source = outline.source
            outline.source.folds.toggle(toggled)
            let reading = OutlineReading(source, waiter, connection.id, after: self.store.head)
            return self.begin(reading, scope: connection.scope, &effects)
        } catch {
            outline.source.folds.toggle(toggled)
            throw error
        }
        self.noteSize(of: outline)
        try self.answerFolds(outline, connection, requestID, &effects)
    }

    /// The states that are noted for one unit of work.
    private static let statesPerWork = 8

    /// Returns the objects that get the other state. An outline by an attribute reads the objects that are no rows, a
    /// limited number at once.
    private func toggled(
        _ states: [ObjectID: Bool],
        _ outline: Outline,
        _ scope: AuthorisationScope
    ) throws(StoreError) -> [ObjectID] {
        let source = outline.source
        let confinement = source.folds.attributeSlot == nil ? nil : try scope.confinement(self.store, self.scopes)
        var left = self.examinedMax
        var toggled: [ObjectID] = []
        for (id, isExpanded) in states {
            if !outline.isStale, let state = outline.rows.tree.state(of: id) {
                if state.isExpanded != isExpanded { toggled.append(id) }
                continue
            }
            var row: ObjectRow?
            if source.folds.attributeSlot != nil {
                left -= 1
                guard left > 0 else { throw .postponed(.resultTooExpensive) }
                row = try Self.visible(source.table, id, self.store.objects, confinement)
                self.admission.work += 2
                self.work.examined += 1
            }
            if source.folds.isExpanded(id, row) != isExpanded { toggled.append(id) }
        }
        return toggled
    }

    /// Returns an object, if the client may see it: the number of exceptions must not depend on the attribute of
    /// another one.
    static func visible(
        _ table: EntityNumber,
        _ id: ObjectID,
        _ objects: ObjectReader,
        _ confinement: Confinement?
    ) throws(StoreError) -> ObjectRow? {
        if let confinement, try !confinement.contains(id) { return nil }
        return try objects.row(table, id)
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

    /// Folds and unfolds rows by their new states. Throws before anything has changed.
    private func apply(_ ids: [ObjectID], to outline: Outline) throws(StoreError) {
        let tree = outline.rows.tree
        let source = outline.source
        var folding: [Range<Int>] = []
        var unfolding: [(index: Int, id: ObjectID)] = []
        for id in ids {
            guard let index = tree.index(of: id), let state = tree.state(of: id) else { continue }
            if state.isExpanded {
                folding.append(index..<tree.end(ofSubtreeAt: index))
            } else {
                unfolding.append((index, id))
            }
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
        defer {
            self.admission.work += before - reader.budget
            self.work.examined += before - reader.budget
        }
        let arriving = try unfolding.map { (row) throws(StoreError) in
            try reader.rows(below: row.id, depth: tree.entry(at: row.index).depth + 1)
        }
        outline.rows.begin()
        for range in outer.reversed() { outline.rows.fold(tree.entry(at: range.lowerBound).id) }
        for (row, (rows, childCount)) in zip(unfolding, arriving) {
            outline.rows.unfold(row.id, rows, childCount: childCount)
        }
        outline.rows.follow()
    }
}
