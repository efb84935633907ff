import NestModel
import NestStore
import NestSchema

/// The counters of the engine.
final class EngineCounters {
    var requests = 0
    var writes = 0
    var groups = 0
    /// Objects inserted, updated and deleted.
    var objects = 0
    /// Rows that were only renumbered: only their sparse position was written.
    var renumbered = 0
    var diffs = 0
    var netDiffs = 0
    var snapshots = 0

    private var groupsTrimmed = 0

    /// Returns the number of groups committed since the last call.
    func takeGroupsSinceTrim() -> Int {
        defer { self.groupsTrimmed = self.groups }
        return self.groups - self.groupsTrimmed
    }

    func count(_ commit: Commit, _ writes: Int) {
        self.writes += writes
        self.groups += commit.groupCount
        for changes in commit.changes {
            self.objects += changes.insertedCount + changes.updatedCount + changes.deletedCount
            self.renumbered += changes.repositions.count
        }
    }
}
