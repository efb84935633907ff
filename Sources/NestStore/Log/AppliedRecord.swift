import NestModel
import NestSchema

/// Why a store and its engine must be opened again behind a record.
package enum ReopenReason: Sendable, Equatable {
    /// The model has changed: the state behind the record is the snapshot of its position. The store does not go there
    /// by applying records.
    case cut
    /// The store has a new history id: states of the old history may be lost ones.
    case historyRenewed
}

/// What a record did to the store: all that the leader's engine knows after its commit.
package struct AppliedRecord: Sendable {
    package let record: LogRecord
    package let position: LogPosition
    /// The headers of its revisions.
    package var headers: [JournalHeader] = []
    /// Their change sets. Pass them to `Store.noteCommitted`, as the leader does.
    package var changes: [ChangeSet] = []
    /// The undo entries that are skipped from now on.
    package var blocked: [(revision: Revision, answer: JournalHeader?)] = []
    /// `nil`: go on.
    package var reopen: ReopenReason?
}
