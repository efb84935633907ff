import NestLiveQuery
import NestModel
import NestStore

extension Engine {
    /// Sends every view that a batch changed: one body for all its synced subscribers.
    func push(_ evaluation: Evaluation, _ effects: inout [EngineEffect]) throws {
        for affected in evaluation.affected {
            let views = affected.entry.views.values.sorted { $0.id < $1.id }
            let result = affected.entry.result
            var net: StructuralDifference?
            for view in views {
                let synced = view.synced
                if affected.isLarge {
                    view.lastChange = result.revision
                    if !synced.isEmpty { try self.sendSnapshot(view, reason: .largeChange, to: synced, &effects) }
                    continue
                }
                if net == nil {
                    net = difference(
                        from: affected.before,
                        to: result.tree,
                        touching: result.log.folded(after: affected.base).values
                    )
                }
                try self.push(view, result, net!, evaluation.rows, to: synced, &effects)
            }
        }
    }

    private func push(
        _ view: View,
        _ result: LiveResult,
        _ net: StructuralDifference,
        _ rows: [ObjectID: ObjectRow],
        to synced: [ConnectionID],
        _ effects: inout [EngineEffect]
    ) throws {
        let from = view.lastChange
        let diff = try self.diff(view, net, from: from, result, rows)
        guard !diff.isEmpty else { return }
        view.lastChange = diff.to
        guard !synced.isEmpty else { return }
        var body = ByteWriter()
        body.write(diff: diff)
        self.counters.diffs += 1
        if body.count > Limits.sharedDiffBytesMax {
            try self.sendSnapshot(view, reason: .largeChange, to: synced, &effects)
        } else {
            effects.append(.push(EnginePush(view: view.id, content: .diff(body.bytes)), to: synced))
        }
    }

    /// A difference with the values of a view. `rows` are objects known as they are now; others are read.
    private func diff(
        _ view: View,
        _ net: StructuralDifference,
        from: Revision,
        _ result: LiveResult,
        _ rows: [ObjectID: ObjectRow]
    ) throws -> ResultsDiff {
        var diff = ResultsDiff(
            from: from,
            to: self.store.head,
            total: result.tree.count,
            digest: result.tree.digest.value
        )
        diff.deletedRows = net.deletedRows
        diff.deletedSections = net.deletedSections
        diff.insertedSections = net.insertedSections
        diff.moves = net.moves
        func row(_ id: ObjectID) throws -> ObjectRow {
            if let row = rows[id] { return row }
            guard let row = try self.store.row(result.source.table, id) else {
                preconditionFailure("the row \(id) of a result is in the store")
            }
            return row
        }
        func value(_ slot: Int, _ id: ObjectID, _ row: ObjectRow) -> AttributeValue {
            guard let column = EntityLayout.column(ofSlot: slot) else { return row[slot: slot] }
            return result.member(id)?.columns[column] ?? .null
        }
        for inserted in net.insertedRows {
            let row = try row(inserted.id)
            let values = view.slots.map { value($0, inserted.id, row) }
            diff.insertedRows.append(.init(path: inserted.path, row: Row(id: inserted.id, values: values)))
        }
        for changed in net.changedRows {
            let row = try row(changed.id)
            var update = ResultsDiff.Update(path: changed.path, values: [])
            for (slot, property) in zip(view.slots, view.key.projection) {
                // An object's own entity never changes: that slot is not among them.
                guard let before = changed.before.first(where: { $0.slot == slot })?.before else { continue }
                let after = value(slot, changed.id, row)
                if before != after { update.values.append((property, after)) }
            }
            if !update.values.isEmpty { diff.updates.append(update) }
        }
        return diff
    }

    // MARK: Snapshots

    func sendSnapshot(
        _ view: View,
        reason: SnapshotReason,
        to connections: [ConnectionID],
        _ effects: inout [EngineEffect]
    ) throws {
        let (header, rows) = try self.snapshot(view)
        var said = header
        said.reason = reason
        self.counters.snapshots += 1
        effects.append(.push(EnginePush(view: view.id, content: .snapshot(said, rows: rows)), to: connections))
    }

    // MARK: Laggards and clients that return

    enum CatchUp {
        case current
        /// The body of one diff.
        case difference([UInt8])
        case snapshot(reason: String)
    }

    /// The way from an earlier state of a view to the head; `known` is what the client calls that state.
    func catchUp(
        _ view: View,
        _ entry: ResultRegistry.Entry,
        from base: Revision,
        known: Revision
    ) throws -> CatchUp {
        let result = entry.result
        if result.revision <= base { return .current }
        if result.log.base > base {
            guard let log = try ResumeLog.build(self.store, result.source, after: base) else {
                return .snapshot(reason: "the changes since revision \(base) are no longer kept")
            }
            result.dropLog(through: result.revision)
            result.prepend(log)
        }
        guard result.log.changeCount(after: base) <= max(self.differenceRowsMin, result.tree.count) * 4 else {
            return .snapshot(reason: "too many changes since revision \(base)")
        }
        let (tree, changes) = result.state(at: base)
        let touched = changes.values.count { $0.isPlaced || !$0.changed.isEmpty }
        guard touched <= max(self.differenceRowsMin, result.tree.count / 4) else {
            return .snapshot(reason: "too many changes since revision \(base)")
        }
        var net = difference(from: tree, to: result.tree, touching: changes.values)
        for index in net.deletedRows.indices {
            // It may have been deleted after it left, or have come back to where the result does not see it.
            let isThere = try self.store.row(result.source.table, net.deletedRows[index].id) != nil
            net.deletedRows[index].reason = isThere ? .unmatched : .deleted
        }
        let diff = try self.diff(view, net, from: known, result, [:])
        if diff.isEmpty { return .current }
        var body = ByteWriter()
        body.write(diff: diff)
        guard body.count <= Limits.sharedDiffBytesMax else { return .snapshot(reason: "the difference is large") }
        return .difference(body.bytes)
    }

    func resume(_ view: View, _ entry: ResultRegistry.Entry, _ point: ResumePoint) throws -> CatchUp {
        guard point.historyID == self.store.historyID else { return .snapshot(reason: "the store has another history") }
        guard point.revision <= self.store.head else {
            return .snapshot(reason: "revision \(point.revision) is ahead of the store")
        }
        return try self.catchUp(view, entry, from: point.revision, known: point.revision)
    }

    /// The connection does not drain: what it holds now is what its net diffs will start from.
    func block(_ id: ConnectionID) {
        guard let connection = self.connections[id], !connection.isBlocked else { return }
        connection.isBlocked = true
        for viewID in connection.views {
            guard let view = self.views[viewID], view.subscribers[id] == .synced else { continue }
            view.subscribers[id] = .lagging(base: self.store.head, known: view.lastChange)
        }
    }

    /// Brings each subscription up to date, then sends the answers that waited behind.
    func drain(_ id: ConnectionID, now: Int64, _ effects: inout [EngineEffect]) {
        guard let connection = self.connections[id], connection.isBlocked else { return }
        connection.isBlocked = false
        let held = connection.heldReplies
        connection.heldReplies = []
        for viewID in connection.views.sorted() {
            guard let view = self.views[viewID], case .lagging(let base, let known) = view.subscribers[id],
                let entry = self.results[view.key.result]
            else { continue }
            view.subscribers[id] = .synced
            do {
                switch try self.catchUp(view, entry, from: base, known: known) {
                case .current:
                    break
                case .difference(let body):
                    self.counters.netDiffs += 1
                    effects.append(.push(EnginePush(view: viewID, content: .diff(body)), to: [id]))
                case .snapshot:
                    try self.sendSnapshot(view, reason: .tooFarBehind, to: [id], &effects)
                }
            } catch {
                let failure = StoreErrorBox.storeError(error).nestError
                effects.append(.push(EnginePush(view: viewID, content: .end(failure.code, failure.message)), to: [id]))
                // However many subscriptions share it: nothing more comes under this view.
                self.connections[id]?.views.remove(viewID)
                self.leave(view, id, now: now)
            }
        }
        self.progress([id], &effects)
        for (requestID, reply) in held { effects.append(.reply(id, requestID: requestID, reply)) }
    }
}

extension ObjectRow {
    /// The value of a projection's slot.
    fileprivate subscript(slot slot: Int) -> AttributeValue {
        slot == EntityLayout.entitySlot ? .integer(Int64(self.entity.rawValue)) : self.values[slot]
    }
}
