import NestModel
import NestProtocol
import NestSchema

/// Large values of a store.
extension Store {
    var values: ValueTable { ValueTable(self.connection) }

    /// Puts a value into the store, durable on return: transactions of the session may then set it. Costs one commit.
    /// Call it outside a transaction. `unsaved`: the session, if the store does not know it yet. Throws a refusal if
    /// the bytes are not those that were stated, and `overtaken` on a follower.
    ///
    /// Memory: one piece; in a cluster the record is in a file if it is large.
    package func put(
        _ staged: StagedValue,
        of session: UInt64,
        unsaved: Session?,
        now: Int64
    ) throws(StoreError) -> LargeValue {
        guard self.layout.hasLargeValues else {
            throw .refused(.unsupported, "the model has no attribute of the type largeData or largeText")
        }
        guard !self.isStopping else { throw .stopping }
        _ = try self.membership?.writerOrRefusal()
        let time = max(now, self.membership?.state.time ?? now)
        try self.connection.beginWriting()
        do throws(StoreError) {
            if let unsaved { try self.write(unsaved) }
            let value = LargeValue(id: try self.values.nextID(), length: staged.length, digest: staged.digest)
            let row = ValueTable.Row(session: session, type: staged.type, value: value, staged: time)
            try self.values.insert(row)
            var verifier = ValueVerifier(staged.type)
            try staged.forEachPiece { (number, bytes) throws(StoreError) in
                verifier.add(bytes)
                try self.values.insertPiece(value.id, number, bytes)
            }
            if let fault = verifier.fault(length: staged.length, digest: staged.digest) { throw .refused(fault) }
            Failpoint.valueWritten.pass()
            if let membership = self.membership {
                let notes = (unsaved.map { [.session($0)] } ?? []) + [LogNote.value(row)]
                try self.append(try self.record(staged, notes, time: time, membership), membership)
            } else {
                try self.connection.commit()
            }
            Failpoint.valueDurable.pass()
            return value
        } catch {
            if self.connection.isInTransaction { try self.rollBackRecord() }
            throw error
        }
    }

    /// Returns a record whose blocks are the pieces of a value.
    private func record(
        _ staged: StagedValue,
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
            blockCount: staged.pieceCount,
            directory: self.bulkMemory.directory,
            forEachBlock: { (body) throws(StoreError) in
                try staged.forEachPiece { (number, bytes) throws(StoreError) in
                    try body(LogRecord.Block(revision: Revision(0), number: number, bytes: bytes))
                }
            }
        )
    }

    /// Deletes the values that a drop of the journal through a revision makes unreachable. Returns their bytes.
    func dropValues(through revision: Revision) throws(StoreError) -> Int64 {
        self.layout.hasLargeValues ? try self.values.drop(through: revision) : 0
    }

    /// Deletes the values that were staged long ago and never set. `now`: the time of the record that drops a part of
    /// the journal.
    func dropStagedValues(now: Int64) throws(StoreError) {
        guard self.layout.hasLargeValues else { return }
        try self.values.drop(stagedBefore: now - Int64(Limits.stagedValueSeconds) * 1_000_000)
    }

    /// The bytes that the journal takes: its own, and those of the values that it can restore.
    func journalBytesWithValues() throws(StoreError) -> Int64 {
        guard self.layout.hasLargeValues else { return self.journalBytes }
        return self.journalBytes + (try self.values.freedBytes())
    }
}

extension ObjectGraph {
    /// Gives the large values that the request sets to their objects, and frees those that were there. Throws a refusal
    /// with all values that may not be set. Call it behind `validate`.
    func placeValues(_ values: ValueTable, of session: UInt64) throws(StoreError) {
        var faults: [ValidationFault] = []
        for index in 0..<self.recorder.changedCount {
            guard let layout = self.layout[self.recorder.changedEntity(at: index)], !layout.largeSlots.isEmpty else {
                continue
            }
            let object = self.recorder.changed(at: index)
            let slot = try values.follow(object, layout, self.recorder.revision, by: .session(session))
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
