import NestModel
import NestStore

/// What the engine of a node learns from the cluster's log, and what it is asked to do with it. A single node never
/// gets one.
package enum LogInput: Sendable {
    /// Records behind the store's position, oldest first. Those that the store has are skipped.
    case entries([LogEntry])
    /// Append a leader record; writes begin with `confirm`. `renewsHistory`: the new history id, if records may have
    /// been lost.
    case lead(LogRecord.Writer, LogServer, renewsHistory: Identifier128?)
    /// The leader record is in the log of the server that it names: no records were lost before it. Lead.
    case confirm
    /// Another node leads, or this one must claim the lead again: write nothing any more.
    case follow
    /// The leader's address, for NOT_LEADER; `nil`: there is no leader, or it is not known.
    case leader(address: String?)
    /// The fate of the record whose append had no answer.
    case resolved(AppendOutcome, of: LogPosition)
    /// The fate of that record has been open for `Limits.logAnswerSeconds`, or this node ends its work before it is
    /// known: its requests fail now.
    case unanswered
    /// Append a mark, behind which every node verifies its store. Answered by `ReplicaEvent.markAnswered`.
    case mark(requestedBy: UInt64)
    /// The answer to `ReplicaEvent.headWanted`: the newest position of the log, or why it could not be asked.
    case head(number: UInt64, Result<Int64, NestError>)
    /// From the node's link to the leader.
    case link(LinkEvent)
}

/// What has become of the engine's store in the log, for the driver of `ReplicaMachine`.
package enum ReplicaEvent: Sendable {
    /// The store is here now: by applied records, or at the end of a turn of the leader that appended some.
    case applied(LogState)
    /// This node has appended a record, and its bytes are in memory. Reported in the order of the log. Large records
    /// are not reported: a gap in the positions shows that one is missing.
    case appended(LogEntry)
    /// Requests wait for the newest state of the log: ask for its position, and answer with `LogInput.head`. Only one
    /// question is open at a time.
    case headWanted(number: UInt64)
    /// The engine takes writes. That its leader record is in the log is reported by `applied` before.
    case leading(LogState)
    /// The engine takes no writes any more, or its attempt to lead was overtaken.
    case following
    /// An append had no answer: writes wait.
    case uncertain
    /// The fate of that append is known.
    case settled
    /// The next record is damaged, or the store is on another line.
    case damaged(String)
    /// A record could not be applied, for example because the disk is full: read it again later.
    case applyFailed(NestError)
    /// The engine's attempt to lead failed, for example because the log's disk is full.
    case leadRefused(NestError)
    /// A record ends this engine's work: open the store again, or join from a snapshot.
    case mustReopen(ReplicaReopening)
    /// The store is at a mark. Nothing follows in this turn: a read transaction that begins while the effects are
    /// delivered shows exactly this position.
    case marked(LogPosition)
    case markAnswered(requestedBy: UInt64, Result<LogPosition, NestError>)
}

/// Why a node cannot go on with its open store.
package enum ReplicaReopening: Sendable, Equatable {
    /// The store has a new history id: open it again.
    case newHistory
    /// The state behind the store's position is a snapshot: join from it.
    case cut
    /// The records behind the store's position are gone: join from a snapshot.
    case behindLog(base: Int64)
    /// The store is not on the line of the log: keep its file aside and join from a snapshot.
    case diverged(String)
}
