import NestModel

/// A place in the log of a store. The positions count up from 0 without a gap.
package struct LogPosition: Hashable, Sendable, CustomStringConvertible {
    package var position: Int64
    /// The chain of the record at the position.
    package var chain: Chain

    package init(position: Int64, chain: Chain) {
        self.position = position
        self.chain = chain
    }

    package var description: String { "\(self.position)" }
}

/// Where a store is in the log of its cluster. Saved in the store, in the transaction that commits or applies a record.
package struct LogState: Hashable, Sendable {
    /// The number of the store in the log.
    package var store: Int64
    package var position: LogPosition
    /// The writer of the record at the position.
    package var writer: LogRecord.Writer
    /// The time of the record at the position.
    package var time: Int64
    /// What the newest leader record says about the log's server.
    package var server: LogServer

    package init(
        store: Int64,
        position: LogPosition,
        writer: LogRecord.Writer,
        time: Int64 = 0,
        server: LogServer = LogServer(timeline: 0, isReplicated: false)
    ) {
        self.store = store
        self.position = position
        self.writer = writer
        self.time = time
        self.server = server
    }

    /// Whether the next leader must begin a new history, because acknowledged records may have been lost. `doubt`: a
    /// node was ahead of the log.
    package func mustRenewHistory(on server: LogServer, doubt: Bool) -> Bool {
        doubt || server.timeline != self.server.timeline && !self.server.isReplicated
    }

    /// The state behind a record.
    func behind(_ record: LogRecord, at position: LogPosition) -> LogState {
        var state = LogState(
            store: self.store,
            position: position,
            writer: record.writer,
            time: record.time,
            server: self.server
        )
        for case .leader(let server, _) in record.notes { state.server = server }
        return state
    }
}

/// What became of an attempt to append a record.
package enum AppendOutcome: Sendable, Equatable {
    /// The record is in the log, now or by an earlier attempt.
    case appended
    /// Another record has its position. It was not executed and never will be.
    case taken
    /// The record before it is not in the log: the log or the writer is on another line. It was not executed.
    case behind
    /// The log refused it, for example because its disk is full. It was not executed.
    case refused(NestError)
    /// No answer came in time. The log goes on asking, and reports the outcome later.
    case unknown
}

/// The log as the engine sees it: a place to append to.
///
/// A record becomes durable only behind the one that its writer executed on, so two writers cannot both succeed.
package protocol SharedLog: AnyObject, Sendable {
    /// Appends a record at the position after `after`. `chain`: the record's own. Called on the engine's thread. Blocks
    /// until the log has answered, at most `Limits.logCommitSeconds`.
    ///
    /// After `unknown` the implementation sends the very same record again until it knows, and then reports the outcome
    /// once, with the record's position and chain, to whom the implementation was made for. Nothing else may be
    /// appended meanwhile. If the log was truncated beyond the record it reports nothing: the store, which is behind
    /// the log then, must join again.
    func append(_ record: LogRecord, chain: Chain, after: LogPosition) -> AppendOutcome
}
