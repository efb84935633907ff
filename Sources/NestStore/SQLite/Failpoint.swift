#if DEBUG
import Glibc
import Synchronization
#endif

/// Points at which a test kills the process: `NEST_FAILPOINTS=commit.written=3` kills it (SIGKILL) when it passes that
/// point for the third time. Separate several points by commas. Release builds have no failpoints.
package enum Failpoint: String, CaseIterable, Sendable {
    /// A new store is complete under its temporary name; then under its own.
    case storeMade = "store.made"
    case storeNamed = "store.named"
    /// A restored copy has its new history id.
    case copyBegun = "copy.begun"
    /// A request has changed something; a block of a large one is in the journal.
    case requestDone = "request.done"
    case blockWritten = "block.written"
    /// The group is written except for its COMMIT; then the group is durable, and no client has its reply.
    case commitWritten = "commit.written"
    case commitDurable = "commit.durable"
    /// A store of a cluster has written everything and is about to append its record to the cluster's log; then the
    /// record is in the log, and the store has not committed yet.
    case logAppending = "log.appending"
    case logAppended = "log.appended"
    /// A record of the cluster's log is applied, but not yet committed.
    case recordApplied = "record.applied"
    /// A snapshot from the cluster's log is complete under its temporary name.
    case snapshotLaid = "snapshot.laid"
    /// A large value is written, but not yet committed; then it is committed, and no client has its reply.
    case valueWritten = "value.written"
    case valueDurable = "value.durable"
    /// Before the log is moved into the file, and after.
    case checkpointBegun = "checkpoint.begun"
    case checkpointDone = "checkpoint.done"
    /// Old history is dropped, but not yet committed.
    case trimWritten = "trim.written"
    /// The copy of the old store exists; the tables are rebuilt; the migration is committed.
    case migrationCopied = "migration.copied"
    case migrationWritten = "migration.written"
    case migrationDurable = "migration.durable"
    /// A running server has written another model, but not yet committed it; then the model is durable.
    case modelWritten = "model.written"
    case modelDurable = "model.durable"
    /// A store of Core Data is copied into a new one, but not yet committed.
    case adoptionWritten = "adoption.written"
    /// The backup file is complete in the store's directory.
    case backupMade = "backup.made"

    #if DEBUG
    /// How often each point must still be passed.
    private static let left = Mutex(Self.wanted(getenv("NEST_FAILPOINTS").map { String(cString: $0) } ?? ""))

    private static func wanted(_ text: String) -> [String: Int] {
        var wanted: [String: Int] = [:]
        for entry in text.split(separator: ",") {
            let parts = entry.split(separator: "=")
            guard parts.count == 2, Self(rawValue: String(parts[0])) != nil, let number = Int(parts[1]) else {
                // Otherwise a test with a misspelled point would pass without a kill.
                fatalError("NEST_FAILPOINTS: no such failpoint: \(entry)")
            }
            wanted[String(parts[0])] = number
        }
        return wanted
    }
    #endif

    /// Kills the process if it has passed this point as often as specified.
    @inline(__always)
    func pass() {
        #if DEBUG
        let isTime = Self.left.withLock { left in
            guard let number = left[self.rawValue] else { return false }
            left[self.rawValue] = number - 1
            return number == 1
        }
        if isTime { kill(getpid(), SIGKILL) }
        #endif
    }
}
