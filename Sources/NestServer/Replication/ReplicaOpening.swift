import NestModel
import NestProtocol
import NestStore

/// Brings a node's file into a state from which it can follow the log: leaves it as it is, or joins from a snapshot.
///
/// Blocks: call it on a thread that may wait. Can be repeated after a failure.
struct ReplicaOpening {
    let log: any ClusterLog
    let path: String
    /// `nil`: nothing is logged.
    let journal: ReplicaJournal?
    /// Why the file must not be used, although it may be on the log's line.
    let reopening: ReplicaReopeningRequest?
    /// Ends a download, and the search for a history, with `unavailable`.
    var isStopping: () -> Bool = { false }

    /// Why a running node opens its store again.
    enum ReplicaReopeningRequest: Sendable {
        /// A snapshot takes the file's place.
        case join(reason: String)
        /// The file is kept aside, and a snapshot takes its place.
        case diverged(reason: String)
    }

    enum Failure: Error {
        case log(LogFailure)
        case store(StoreError)
    }

    /// Returns the head of the log.
    func run() throws(Failure) -> Int64 {
        let (local, history) = try self.localState()
        if let local, local.store != self.log.store {
            throw self.mismatch("belongs to another store of the log or to another cluster: specify another --store")
        }
        let (log, position) = (self.log, local?.position.position ?? 0)
        let overview = try self.log { () throws(LogFailure) in try log.overview(position: position) }
        let snapshots = try self.log { () throws(LogFailure) in try log.snapshots() }
        switch self.finding(local, overview, snapshots) {
        case .goesOn: break
        case .joins(let reason):
            try self.join(snapshots, reason: reason)
        case .diverged(let reason):
            // A store that was open on this log is of this cluster.
            if self.reopening == nil, let history, try self.isForeign(history, overview) {
                throw self.mismatch(
                    "has the history \(history), which the log does not have: it belongs to another cluster, or is older "
                        + "or newer than what the log remembers. Specify another --store; if it is this cluster's, "
                        + "rename the file, and the node gets its store from the log"
                )
            }
            // Without a snapshot to join from the file stays where it is.
            _ = try self.usable(snapshots)
            // The same history id must not name two states: the next leader renews it. Said before the file has
            // another name: after a crash or a failure between the two it is found again, and doubted again.
            try self.log { () throws(LogFailure) in try log.setDoubt(true) }
            let kept = try self.store { () throws(StoreError) in
                try Store.setAside(self.path, divergedAt: position)
            }
            self.journal?.diverged(reason, kept: kept)
            try self.join(snapshots, reason: "its store was on another line")
        }
        return overview.head.position
    }

    /// Returns the place in the log and the history id of the node's file; `nil` if there is no file.
    private func localState() throws(Failure) -> (state: LogState?, history: Identifier128?) {
        let file = try self.store { () throws(StoreError) in try Store.replicaFile(at: self.path) }
        switch file {
        case .missing: return (nil, nil)
        case .replica(let state, let history): return (state, history)
        case .ordinary:
            let reason =
                "belongs to no cluster: start nestd without --log, give --store a new name, or begin a cluster with "
                + "it: nestd cluster init --store FILE"
            throw self.mismatch(reason)
        }
    }

    private func mismatch(_ reason: String) -> Failure { .store(.clusterMismatch(path: self.path, reason: reason)) }

    /// Whether the log's leader records name histories, and none of them is this one. Two clusters that began with
    /// copies of one store have the same history, and a log without leader records says nothing: then the file counts
    /// as one of this cluster.
    private func isForeign(_ history: Identifier128, _ overview: LogOverview) throws(Failure) -> Bool {
        let (log, directory) = (self.log, Store.directory(of: self.path))
        var hasOthers = false
        // The first record is there until the log is truncated.
        var position = overview.base == 0 ? -1 : overview.base
        while true {
            try self.goOn()
            let entries = try self.log { () throws(LogFailure) in
                try log.records(after: position, countMax: Limits.logPageRecordsMax, directory: directory)
            }
            for entry in entries {
                // A damaged one is found where it is applied.
                guard let record = try? LogRecord(decoding: entry.bytes) else { continue }
                for case .leader(_, let named) in record.notes {
                    if named == history { return false }
                    hasOthers = true
                }
            }
            guard let last = entries.last else {
                guard position < 0 else { return hasOthers }
                position = 0
                continue
            }
            position = last.position.position
        }
    }

    private func goOn() throws(Failure) {
        if self.isStopping() { throw .log(.unavailable("this node stops")) }
    }

    private func finding(
        _ local: LogState?,
        _ overview: LogOverview,
        _ snapshots: [LogSnapshot]
    ) -> ReplicaFinding {
        guard local != nil else { return .of(nil, overview, snapshots) }
        switch self.reopening {
        case nil: return .of(local, overview, snapshots)
        case .join(let reason): return .joins(reason: reason)
        case .diverged(let reason):
            // What the log says now is more exact than what the node noticed.
            if case .diverged(let found) = ReplicaFinding.of(local, overview, snapshots) {
                return .diverged(reason: found)
            }
            return .diverged(reason: reason)
        }
    }

    private func join(_ snapshots: [LogSnapshot], reason: String) throws(Failure) {
        let snapshot = try self.usable(snapshots)
        let download = try self.store { () throws(StoreError) in try SnapshotDownload(snapshot, at: self.path) }
        let log = self.log
        for index in 0..<snapshot.partCount {
            try self.goOn()
            let part = try self.log { () throws(LogFailure) in try log.part(index, of: snapshot) }
            try self.store { () throws(StoreError) in try download.add(part) }
        }
        try self.store { () throws(StoreError) in try download.publish(store: log.store) }
        self.journal?.joined(snapshot, reason: reason)
    }

    /// Returns the newest snapshot that the log confirms.
    private func usable(_ snapshots: [LogSnapshot]) throws(Failure) -> LogSnapshot {
        let log = self.log
        for snapshot in snapshots {
            let overview = try self.log { () throws(LogFailure) in
                try log.overview(position: snapshot.position.position)
            }
            if SnapshotFinding.of(snapshot, overview) == .confirmed { return snapshot }
            // Truncated since the list was read, which has newer ones when it is read again.
            if snapshot.position.position < overview.base {
                throw .log(.unavailable("the snapshot of \(snapshot.position) is too old: a newer one is needed"))
            }
        }
        throw .log(
            .damaged("it has no complete snapshot to join from; an up-to-date node makes one while it runs")
        )
    }

    private func store<Value>(_ body: () throws(StoreError) -> Value) throws(Failure) -> Value {
        do throws(StoreError) { return try body() } catch { throw .store(error) }
    }

    private func log<Value>(_ body: () throws(LogFailure) -> Value) throws(Failure) -> Value {
        do throws(LogFailure) { return try body() } catch { throw .log(error) }
    }
}
