import NestModel

/// What a store of a cluster knows about its log: its place there, and whether it leads. Used on the store's thread.
final class LogMembership {
    let log: any SharedLog
    var state: LogState
    /// The writer of this store's own records while it leads.
    var writer: LogRecord.Writer?
    /// The record whose fate is open.
    var uncertain: UncertainCommit?
    /// The notes of the open group.
    var notes: [LogNote] = []
    /// The records that this store has appended and that were not taken yet.
    private var appended: [LogEntry] = []

    /// Returns `nil` for an ordinary store. Refuses a store of a cluster without its log, and the reverse.
    init?(_ connection: Connection, _ log: (any SharedLog)?, path: String) throws(StoreError) {
        let state = try LogTable.read(connection, path: path)
        switch (state, log) {
        case (nil, nil): return nil
        case (nil, _): throw Self.ordinary(path)
        case (_, nil):
            throw .clusterMismatch(
                path: path,
                reason: "belongs to a cluster: start nestd with --log, or make it an ordinary store with "
                    + "'nestd cluster leave'"
            )
        case (let state?, let log?):
            self.state = state
            self.log = log
        }
    }

    /// The refusal of a write while the fate of an earlier one is open.
    static let noAnswer = StoreError.refused(
        .logUnavailable,
        "the cluster's log has not answered yet: nothing was written"
    )

    static func ordinary(_ path: String) -> StoreError {
        .clusterMismatch(
            path: path,
            reason: "belongs to no cluster: start nestd without --log, give --store a new name, or begin a cluster "
                + "with it: nestd cluster init --store FILE"
        )
    }

    static func missing(_ path: String) -> StoreError {
        .clusterMismatch(path: path, reason: "does not exist: a node of a cluster gets its store from the log")
    }

    static func otherModel(_ path: String) -> StoreError {
        .clusterMismatch(
            path: path,
            reason: "has another model than --model, and all nodes of a cluster have the model of its log: start "
                + "nestd without --model, or change the model of all with 'nestd cluster migrate'"
        )
    }

    /// Whether the store may append a record now.
    var mayAppend: Bool { self.writer != nil && self.uncertain == nil }

    /// The writer of the store's next record. Refuses a store that may not append one.
    func writerOrRefusal() throws(StoreError) -> LogRecord.Writer {
        guard self.uncertain == nil else { throw Self.noAnswer }
        guard let writer else { throw .overtaken }
        return writer
    }

    /// Begins a group and returns its time: the time of a log never falls, whatever the leaders' clocks show.
    func beginGroup(time: Int64) -> Int64 {
        self.notes = []
        return max(time, self.state.time)
    }

    func takeNotes() -> [LogNote] {
        defer { self.notes = [] }
        return self.notes
    }

    /// Keeps a record of this store that is in the log, if it is in memory.
    func noteAppended(_ entry: LogEntry) {
        if entry.bytes.isInMemory { self.appended.append(entry) }
    }

    func takeAppended() -> [LogEntry] {
        defer { self.appended = [] }
        return self.appended
    }
}

/// A record that was sent to the log, which has not answered. The store has rolled its transaction back.
package struct UncertainCommit: Sendable {
    package let record: LogRecord
    /// The place that the record has if it is in the log.
    package let position: LogPosition

    /// The record as it is in the log, if it is.
    package var entry: LogEntry { LogEntry(position: self.position, bytes: self.record.bytes) }
}
