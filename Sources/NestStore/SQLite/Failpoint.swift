#if DEBUG
import Glibc
import Synchronization
#endif

/// Points at which a test kills the process: `NEST_FAILPOINTS=commit.written=3` kills it (SIGKILL) when it comes to
/// that place for the third time. Several are separated by commas. In builds for release there is none of it.
package enum Failpoint: String, CaseIterable, Sendable {
    /// A new store is whole, under another name; and under its own.
    case storeMade = "store.made"
    case storeNamed = "store.named"
    /// A restored copy has its new history.
    case copyBegun = "copy.begun"
    /// A request has changed something; a block of a large one is in the journal.
    case requestDone = "request.done"
    case blockWritten = "block.written"
    /// All of a group is written but its COMMIT; the group is durable and no client has its reply.
    case commitWritten = "commit.written"
    case commitDurable = "commit.durable"
    /// Before the log is moved into the file, and after.
    case checkpointBegun = "checkpoint.begun"
    case checkpointDone = "checkpoint.done"
    /// Old history is dropped, but not yet committed.
    case trimWritten = "trim.written"
    /// The copy of before is there; tables are rebuilt; all is committed.
    case migrationCopied = "migration.copied"
    case migrationWritten = "migration.written"
    case migrationDurable = "migration.durable"
    /// The backup file is complete in the store's directory.
    case backupMade = "backup.made"

    #if DEBUG
    /// How often each place is still to be passed.
    private static let left = Mutex(Self.wanted(getenv("NEST_FAILPOINTS").map { String(cString: $0) } ?? ""))

    private static func wanted(_ text: String) -> [String: Int] {
        var wanted: [String: Int] = [:]
        for entry in text.split(separator: ",") {
            let parts = entry.split(separator: "=")
            guard parts.count == 2, Self(rawValue: String(parts[0])) != nil, let number = Int(parts[1]) else {
                // A test that names a place wrongly would otherwise pass without a kill.
                fatalError("NEST_FAILPOINTS: no such place: \(entry)")
            }
            wanted[String(parts[0])] = number
        }
        return wanted
    }
    #endif

    /// Call it at the place.
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
