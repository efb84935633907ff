import NestModel
import NestProtocol
import NestStore

/// Decides what a node of a cluster does next: renew its lease, read the log, claim the lead, take a snapshot.
///
/// A pure value. Its driver asks for the next action, performs it, and reports the result; events of the engine come in
/// between. Times are monotonic milliseconds. What is true is decided by the chain of the log alone: a machine that
/// decides wrongly costs time, never a record.
package struct ReplicaMachine: Sendable {
    package enum Action: Sendable {
        /// Report `done`.
        case renewLease
        /// Report `server`.
        case server
        /// `LogPosition`: the store's, whose chain is looked up. Report `overview`.
        case overview(LogPosition)
        /// Read at most `Limits.logPageRecordsMax` records. Report `records`.
        case records(after: Int64)
        /// Report `claimed`.
        case claim(isSessionGone: Bool)
        /// Give the lead up. Report `done`.
        case release
        /// Report `done`.
        case setDoubt(Bool)
        /// Write this node's position to the log. Report `done`.
        case note(position: Int64)
        /// Report `surveyed`.
        case survey
        /// Remove snapshots, and then the records up to a position. Report `done`.
        case truncate(through: Int64, removing: [LogSnapshot])
        /// Take a snapshot on another thread. Report `snapshotTaken` when it has ended; no other report.
        case snapshot
        /// An input for the engine; no report.
        case input(LogInput)
        /// Open the store again or join; the machine has ended.
        case reopen(ReplicaReopening)
        /// The log contradicts itself: stop with 65. The machine has ended.
        case stop(LogFailure)
        /// Nothing to do until this time, or until an event.
        case wait(until: Int64)
    }

    /// The result of the last action.
    package enum Report: Sendable {
        case done
        case failed(LogFailure)
        case server(LogServer)
        case overview(LogOverview)
        case records([LogEntry])
        /// `nil`: another node leads.
        case claimed(epoch: Int64?)
        case surveyed(Survey)
    }

    /// What a node must know to decide about snapshots.
    package struct Survey: Sendable {
        package var nodes: [LogNode]
        /// Newest first.
        package var snapshots: [LogSnapshot]
        /// The bytes of the records behind the newest snapshot.
        package var recordBytes: Int64
        /// Microseconds since 1970-01-01 UTC.
        package var time: Int64

        package init(nodes: [LogNode], snapshots: [LogSnapshot], recordBytes: Int64, time: Int64) {
            self.nodes = nodes
            self.snapshots = snapshots
            self.recordBytes = recordBytes
            self.time = time
        }
    }
}
