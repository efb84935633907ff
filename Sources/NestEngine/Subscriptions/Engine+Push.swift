import NestCompression
import NestLiveQuery
import NestModel
import NestStore

/// Telling subscribers what a batch has done to their results: each difference encoded once.
extension Engine {
    /// Sends every view that a batch changed: one body for all its synced subscribers. Whole views first; windows as far as
    /// the work of one batch goes, the others of their subscribers fall behind and get one net diff soon.
    func push(_ evaluation: Evaluation, now: Int64, _ effects: inout [EngineEffect]) throws {
        for isWindow in [false, true] {
            for affected in evaluation.affected {
                let views = affected.entry.views.values.filter { ($0.key.window != nil) == isWindow }
                guard !views.isEmpty else { continue }
                try self.push(affected, views.sorted { $0.id < $1.id }, evaluation.rows, now: now, &effects)
            }
        }
    }

    private func push(
        _ affected: Evaluation.Affected,
        _ views: [View],
        _ rows: KnownRows,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        let result = affected.entry.result
        let changes = affected.isLarge ? [:] : result.log.folded(after: affected.base)
        let delta =
            affected.isLarge
            ? nil : ResultDelta(from: affected.before, to: result.tree, touching: changes.values)
        for view in views {
            let from = view.lastChange
            let anchor = view.anchor?.id
            let oldRange = try self.advance(view, result, delta) { delta == nil || changes[$0] != nil }
            guard let delta else {
                view.lastChange = result.revision
                if view.range.count > self.limits.asideRowsMin {
                    // Read beside the commits.
                    let state = SubscriptionState.lagging(base: affected.base, known: from, range: oldRange)
                    for id in view.synced { self.fallBehind(id, view, state) }
                } else if !view.synced.isEmpty {
                    try self.sendSnapshot(view, reason: .largeChange, to: view.synced, now: now, &effects)
                }
                continue
            }
            if view.key.window != nil, !view.synced.isEmpty {
                guard self.windowWork < self.limits.windowWorkMax else {
                    // Who sees it has not heard of this batch: its net diff starts at the state before.
                    let state = SubscriptionState.lagging(base: affected.base, known: from, range: oldRange)
                    for id in view.synced { self.fallBehind(id, view, state) }
                    continue
                }
                self.windowWork += 4 + delta.count
            }
            let isElsewhere = view.anchor?.id != anchor
            try self.push(view, result, delta, oldRange, isElsewhere: isElsewhere, from: from, rows, now: now, &effects)
        }
    }

    private func push(
        _ view: View,
        _ result: LiveResult,
        _ delta: ResultDelta,
        _ oldRange: Range<Int>,
        isElsewhere: Bool,
        from: Revision,
        _ rows: KnownRows,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        let net = delta.difference(oldRange, view.range)
        guard !net.isEmpty || isElsewhere else { return }
        let diff = try self.diff(view, net, from: from, result, rows)
        let synced = view.synced
        // What is told with the next diff, or after a while: where a window is that shows the same.
        guard !diff.isEmpty || isElsewhere else { return }
        view.lastChange = diff.to
        guard !synced.isEmpty else { return }
        var body = ByteWriter()
        body.write(diff: diff)
        self.counters.diffs += 1
        if body.count > Limits.sharedDiffBytesMax {
            try self.sendSnapshot(view, reason: .largeChange, to: synced, now: now, &effects)
        } else {
            effects.append(.push(EnginePush(view: view.id, content: .diff(body.bytes)), to: synced))
            view.toldPosition = diff.window
        }
    }

    /// Rows that leave, with the reason at the difference's last revision. The change that took a row out of the result tells
    /// the reason at its own revision only.
    private func left(_ net: StructuralDifference, _ result: LiveResult, _ known: KnownRows) throws
        -> [ResultsDiff.DeletedRow]
    {
        guard known.isOfSeveralRevisions else { return net.deletedRows }
        return try net.deletedRows.map { row in
            guard row.reason != .outOfWindow else { return row }
            var row = row
            let exists = try known.exists(row.id) ?? (self.store.row(result.source.table, row.id) != nil)
            row.reason = exists ? .unmatched : .deleted
            return row
        }
    }

    /// Rows that leave, as those who see no more than a sub-tree may know of it: what has left the sub-tree is gone.
    private func told(_ rows: [ResultsDiff.DeletedRow], _ view: View) throws -> [ResultsDiff.DeletedRow] {
        guard let confinement = try self.confinement(view.key.result.scope) else { return rows }
        return try rows.map { row in
            guard row.reason == .unmatched, try !confinement.contains(row.id) else { return row }
            var row = row
            row.reason = .deleted
            return row
        }
    }

    /// A difference with the values of a view. `rows` are objects known as they are now; others are read. A row that leaves
    /// is `deleted` when its object is gone now, whatever took it out of the result.
    func diff(
        _ view: View,
        _ net: StructuralDifference,
        from: Revision,
        _ result: LiveResult,
        _ rows: KnownRows
    ) throws -> ResultsDiff {
        var diff = ResultsDiff(
            from: from,
            to: self.store.head,
            total: view.range.count,
            digest: result.tree.digest(of: view.range).value
        )
        diff.window = view.position(in: result.tree)
        diff.deletedRows = try self.told(self.left(net, result, rows), view)
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

    /// Sends the whole of a view. One with too many bytes to be made between two commits is read beside them.
    func sendSnapshot(
        _ view: View,
        reason: SnapshotReason,
        to connections: [ConnectionID],
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        do {
            let (header, rows) = try self.snapshot(view)
            self.counters.snapshots += 1
            self.send(header, rows, reason, of: view, to: connections, &effects)
            self.noteTold(view, to: connections)
        } catch is SnapshotTooLarge {
            let head = self.store.head
            for id in connections {
                self.lag(id, view, .lagging(base: head, known: head, range: view.range))
                let waiter = PendingRead.Waiter.catchUp(view: view.id, reason)
                try self.readAside(view.key, view.slots, id, 0, waiter, now: now, &effects)
            }
        }
    }

    func send(
        _ header: SnapshotHeader,
        _ rows: [SharedBytes],
        _ reason: SnapshotReason,
        of view: View,
        to connections: [ConnectionID],
        _ effects: inout [EngineEffect]
    ) {
        var header = header
        header.reason = reason
        effects.append(.push(EnginePush(view: view.id, content: .snapshot(header, rows: rows)), to: connections))
        let bytes = rows.reduce(64) { $0 + $1.bytes.count }
        for id in connections {
            if let connection = self.connections[id] { self.charge(bytes, to: id, connection, &effects) }
        }
    }
}

extension ObjectRow {
    /// The value of a projection's slot.
    fileprivate subscript(slot slot: Int) -> AttributeValue {
        slot == EntityLayout.entitySlot ? .integer(Int64(self.entity.rawValue)) : self.values[slot]
    }
}
