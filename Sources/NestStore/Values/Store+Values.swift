import NestModel
import NestProtocol
import NestSchema

/// Large values of a store.
extension Store {
    var values: ValueTable { ValueTable(self.connection) }

    /// Writes the next part of a value, durable on return, and returns the value after the last one: transactions of
    /// the session may then set it. Costs one commit. Call it outside a transaction, with the time of the first part.
    /// `unsaved`: the session, if the store does not know it yet.
    ///
    /// Throws a refusal if the bytes are not those that were stated, `overtaken` on a follower, and `uncertain` if the
    /// log does not answer: settle the put then. Abandon a put that has failed otherwise.
    ///
    /// Memory: a part; in a cluster the record too.
    package func write(_ put: ValuePut, unsaved: Session?, now: Int64) throws(StoreError) -> LargeValue? {
        guard self.layout.hasLargeValues else {
            throw .refused(.unsupported, "the model has no attribute of the type largeData or largeText")
        }
        guard !self.isStopping else { throw .stopping }
        _ = try self.membership?.writerOrRefusal()
        let time = max(now, self.membership?.state.time ?? now)
        try self.connection.beginWriting()
        do throws(StoreError) {
            if let unsaved { try self.write(unsaved) }
            let part = try put.next(id: { () throws(StoreError) in try self.values.nextID() }, staged: time)
            try self.values.write(part)
            if part.first == 0 { try self.values.requireRoomForStaged() }
            if part.isLast, let fault = put.fault() { throw .refused(fault) }
            Failpoint.valueWritten.pass()
            if let membership = self.membership {
                let notes = (unsaved.map { [.session($0)] } ?? []) + [part.note]
                try self.append(try self.record(part, notes, time: time, membership), membership)
            } else {
                try self.connection.commit()
            }
            Failpoint.valueDurable.pass()
            return put.settle()
        } catch {
            if self.connection.isInTransaction { try self.rollBackRecord() }
            throw error
        }
    }

    /// Deletes the parts of a value whose put has failed, or whose client has left. If that fails they are dropped with
    /// the values that were never set. Call it outside a transaction.
    package func abandon(_ put: ValuePut) throws(StoreError) {
        guard let id = put.writtenID, self.layout.hasLargeValues else { return }
        guard self.membership == nil else {
            return try self.commitNotes { () throws(StoreError) in
                try self.values.dropArriving(id)
                return [.dropArriving(id)]
            }
        }
        try self.connection.beginWriting()
        do throws(StoreError) {
            try self.values.dropArriving(id)
            try self.connection.commit()
        } catch {
            try self.connection.rollBack()
            throw error
        }
    }

    /// Returns a record whose blocks are the pieces of a part.
    private func record(
        _ part: ValuePart,
        _ notes: [LogNote],
        time: Int64,
        _ membership: LogMembership
    ) throws(StoreError) -> LogRecord {
        try LogRecord(
            .notes,
            writer: try membership.writerOrRefusal(),
            time: time,
            head: self.head,
            notes: notes,
            blockCount: part.pieces.count,
            directory: self.bulkMemory.directory,
            forEachBlock: { (body) throws(StoreError) in
                for (index, piece) in part.pieces.enumerated() {
                    try body(LogRecord.Block(revision: Revision(0), number: part.first + index, bytes: piece))
                }
            }
        )
    }

    /// The values that a store whose journal begins after `base` can no longer reach. `now`: the time of the record, if
    /// there is one.
    private func unreachable(base: Revision, now: Int64) -> ValueTable.Unreachable {
        .init(revision: base, stagedBefore: now - Int64(Limits.stagedValueSeconds) * 1_000_000)
    }

    func hasUnreachableValues(base: Revision, now: Int64) throws(StoreError) -> Bool {
        self.layout.hasLargeValues ? try self.values.has(self.unreachable(base: base, now: now)) : false
    }

    /// Deletes some of the values that are unreachable. The next ticks delete the others.
    func dropValues(base: Revision, now: Int64) throws(StoreError) {
        if self.layout.hasLargeValues { try self.values.drop(self.unreachable(base: base, now: now)) }
    }

    /// The bytes of the values that only the journal's revisions after `base` and up to `last` can restore.
    func freedValueBytes(after base: Revision, through last: Revision = Revision(.max)) throws(StoreError) -> Int64 {
        self.layout.hasLargeValues ? try self.values.freedBytes(after: base, through: last) : 0
    }
}

extension ObjectGraph {
    /// Gives the large values that the request sets to their objects, and frees those that were there. Throws a refusal
    /// with all values that may not be set. Call it behind `validate`.
    func placeValues(_ values: ValueTable, of session: UInt64, base: Revision) throws(StoreError) {
        var faults: [ValidationFault] = []
        for index in 0..<self.recorder.changedCount {
            guard let layout = self.layout[self.recorder.changedEntity(at: index)], !layout.largeSlots.isEmpty else {
                continue
            }
            let object = self.recorder.changed(at: index)
            let slot = try values.follow(object, layout, self.recorder.revision, by: .session(session, base: base))
            if let slot { faults.append(Self.valueFault(object.entity, layout, slot, self.existing(object.id))) }
        }
        guard faults.isEmpty else { throw Self.refusal(faults) }
    }

    static func valueFault(_ entity: EntityNumber, _ layout: EntityLayout, _ slot: Int, _ id: ObjectID?)
        -> ValidationFault
    {
        ValidationFault(
            entity: entity,
            property: layout.properties[slot],
            object: id,
            reason: .destination,
            message: "\(layout.fullName(slot, entity)) cannot have this large value: the session has not sent it, or "
                + "another property has it; send the bytes again"
        )
    }
}
