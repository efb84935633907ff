import Dispatch
import NIOConcurrencyHelpers
import NIOPosix
import NestModel
import NestProtocol
import NestStore

/// Gives the store of a cluster another model: lays a replica down, takes the lead, migrates the replica, and adds it
/// to the log as the snapshot behind a `cut` record, from which all nodes go on.
///
/// Until that record is in the log nothing has changed, and the nodes go on with the old model.
package final class ClusterMigration {
    package enum Outcome {
        /// The store has the model already.
        case unchanged
        /// `isRefused`: something would be lost, or a change is not possible. A dry run, or a refusal, changed nothing.
        case planned(MigrationReport, isRefused: Bool)
        case migrated(MigrationReport)
    }

    package enum Failure: Error, CustomStringConvertible {
        case log(LogFailure)
        case store(StoreError)
        /// Another node has taken the lead meanwhile.
        case overtaken
        /// The log has not said whether the migration is in it.
        case unknown

        package var description: String {
            switch self {
            case .log(let failure): failure.description
            case .store(let error): error.description
            case .overtaken: "another node took the lead meanwhile; nothing was changed: try again"
            case .unknown:
                "PostgreSQL has not said whether the migration is in the log: 'nestc cluster status' shows it, and "
                    + "running this command again is safe"
            }
        }
    }

    private let log: any ClusterLog
    private let seize: @Sendable () throws(LogFailure) -> Int64
    private let shared: any SharedLog
    private let path: String
    private let model: ManagedObjectModel
    private let removals: MigrationRemovals
    private let progress: (String) -> Void
    /// The outcome of an append that had no answer at first.
    private let resolved = NIOLockedValueBox<AppendOutcome?>(nil)
    private let resolvedSignal = DispatchSemaphore(value: 0)
    private var lease: LeaseKeeper?
    private static let resolveSeconds = 60
    private static let leadAttemptsMax = 20

    /// `path`: where a replica may be laid down; there is no file yet.
    package init(
        _ log: ReplicaLog,
        path: String,
        model: ManagedObjectModel,
        removals: MigrationRemovals,
        progress: @escaping (String) -> Void
    ) {
        self.log = log.log
        self.seize = log.seize
        self.path = path
        self.model = model
        self.removals = removals
        self.progress = progress
        let (resolved, signal) = (self.resolved, self.resolvedSignal)
        self.shared = log.sharedLog { _, outcome in
            resolved.withLockedValue { $0 = outcome }
            signal.signal()
        }
    }

    /// Blocks. `isDryRun`: only says what would happen.
    package func run(isDryRun: Bool) throws(Failure) -> Outcome {
        self.progress("loading the newest snapshot")
        do throws(ReplicaOpening.Failure) {
            _ = try ReplicaOpening(log: self.log, path: self.path, journal: nil, reopening: nil).run()
        } catch {
            switch error {
            case .log(let failure): throw .log(failure)
            case .store(let error): throw .store(error)
            }
        }
        try self.applyAll(leadingIn: nil)
        guard let report = try self.report() else { return .unchanged }
        let isRefused = self.isRefused(report)
        guard !isDryRun, !isRefused else { return .planned(report, isRefused: isRefused) }
        self.progress("taking the lead: writes wait from now on")
        let epoch = try self.logging { () throws(LogFailure) in try self.seize() }
        self.lease = LeaseKeeper(self.log)
        defer { self.lease?.stop() }
        do throws(Failure) {
            let outcome = try self.migrate(epoch)
            self.giveUp()
            return outcome
        } catch {
            self.giveUp()
            throw error
        }
    }

    /// Lets another node lead.
    private func giveUp() {
        // Otherwise it takes over when the lease has ended.
        try? self.log.release()
        try? self.log.deregister()
    }

    // MARK: Steps

    private func migrate(_ epoch: Int64) throws(Failure) -> Outcome {
        try self.applyAll(leadingIn: epoch)
        // Others may have written since the first look.
        guard let report = try self.report() else { return .unchanged }
        guard !self.isRefused(report) else { return .planned(report, isRefused: true) }
        self.progress("migrating")
        let store = try self.open(self.model, migrates: true)
        let migrated = store.migration ?? report
        let writer = LogRecord.Writer(node: self.log.node.id, epoch: epoch)
        let cut = try self.storing { () throws(StoreError) in try store.makeCut(as: writer, now: WallClock.now()) }
        self.progress("storing the snapshot")
        let snapshot = try self.storing { () throws(StoreError) in try store.reader.snapshot(bytesLeftMin: 0) }
        try self.storing { () throws(StoreError) in try store.close() }
        let log = self.log
        let isNew = try self.logging { () throws(LogFailure) in
            try log.add(snapshot.description) { (index) throws(LogFailure) in
                self.progress("storing the snapshot: \(index + 1) of \(snapshot.description.partCount)")
                do throws(StoreError) { return try snapshot.part(index) } catch { throw .unusable("\(error)") }
            }
        }
        // The snapshot of its position must be this one.
        guard isNew else { throw .overtaken }
        switch self.append(cut.record, chain: cut.position.chain, after: cut.after) {
        case .appended: return .migrated(migrated)
        case .taken, .behind:
            try? log.remove([snapshot.description])
            throw .overtaken
        case .refused(let error):
            try? log.remove([snapshot.description])
            throw .store(.refused(error))
        case .unknown: throw .unknown
        }
    }

    private func append(_ record: LogRecord, chain: Chain, after: LogPosition) -> AppendOutcome {
        let outcome = self.shared.append(record, chain: chain, after: after)
        return outcome == .unknown ? self.awaitResolved() : outcome
    }

    /// Waits for the outcome of an append that had no answer.
    private func awaitResolved() -> AppendOutcome {
        guard self.resolvedSignal.wait(timeout: .now() + .seconds(Self.resolveSeconds)) == .success else {
            return .unknown
        }
        return self.resolved.withLockedValue { $0 } ?? .unknown
    }

    private func report() throws(Failure) -> MigrationReport? {
        try self.storing { () throws(StoreError) in try Store.migrationReport(self.path, to: self.model) }
    }

    private func isRefused(_ report: MigrationReport) -> Bool {
        !report.obstacles.isEmpty || self.removals != .all && !report.losses.isEmpty
    }

    /// Applies everything that the log has. With an epoch, appends a leader record behind it, so that no other node can
    /// append any more.
    private func applyAll(leadingIn epoch: Int64?) throws(Failure) {
        let model = try self.storing { () throws(StoreError) in
            try Store.storedModel(at: .file(self.path))
        }
        guard let model else { preconditionFailure("the replica was laid down") }
        let store = try self.open(model, migrates: false)
        do throws(Failure) {
            try self.applyTail(store)
            if let epoch { try self.lead(store, epoch) }
        } catch {
            try? store.close()
            throw error
        }
        try self.storing { () throws(StoreError) in try store.close() }
    }

    private func applyTail(_ store: Store) throws(Failure) {
        let log = self.log
        while let position = store.logState?.position.position {
            let entries = try self.logging { () throws(LogFailure) in
                try log.records(
                    after: position,
                    countMax: Limits.logPageRecordsMax,
                    directory: Store.directory(of: store.path)
                )
            }
            guard !entries.isEmpty else { return }
            self.progress("applying record \(position + 1)")
            for entry in entries {
                let applied = try self.storing { () throws(StoreError) in
                    try store.apply(entry, isConcerned: { _ in false })
                }
                guard applied.reopen != .cut else { throw .overtaken }
                try self.storing { () throws(StoreError) in
                    store.access { store.noteCommitted(applied.changes) }
                    try store.checkpointIfDue()
                }
            }
        }
    }

    private func lead(_ store: Store, _ epoch: Int64) throws(Failure) {
        let writer = LogRecord.Writer(node: self.log.node.id, epoch: epoch)
        for _ in 0..<Self.leadAttemptsMax {
            let (server, historyID) = try self.serverAndHistory(store)
            do throws(StoreError) {
                _ = try store.lead(as: writer, server: server, historyID: historyID, now: WallClock.now())
                return
            } catch {
                switch error {
                case .overtaken: break
                case .uncertain:
                    let outcome = self.awaitResolved()
                    guard outcome != .unknown else { throw .unknown }
                    _ = try self.storing { () throws(StoreError) in
                        try store.settle(outcome, isConcerned: { _ in false })
                    }
                    if outcome == .appended { return }
                default: throw .store(error)
                }
            }
            // The leader until now has appended meanwhile.
            try self.applyTail(store)
        }
        throw .overtaken
    }

    /// Returns the log's server, and the history of the store from now on: by the rule of any other leader. A doubt
    /// stays, for the next leader.
    private func serverAndHistory(_ store: Store) throws(Failure) -> (server: LogServer, historyID: Identifier128) {
        guard let state = store.logState else { preconditionFailure("a replica") }
        let log = self.log
        let (overview, server) = try self.logging { () throws(LogFailure) in
            (try log.overview(position: state.position.position), try log.server())
        }
        guard state.mustRenewHistory(on: server, doubt: overview.doubt) else { return (server, store.historyID) }
        var generator = SystemRandomNumberGenerator()
        return (server, Identifier128.random(using: &generator))
    }

    private func open(_ model: ManagedObjectModel, migrates: Bool) throws(Failure) -> Store {
        var configuration = Store.Configuration(location: .file(self.path), model: model)
        configuration.log = self.shared
        configuration.migratesReplica = migrates
        configuration.removals = migrates ? self.removals : .none
        var generator = SystemRandomNumberGenerator()
        let historyID = Identifier128.random(using: &generator)
        return try self.storing { () throws(StoreError) in try Store(configuration, newHistoryID: historyID) }
    }

    private func storing<Value>(_ body: () throws(StoreError) -> Value) throws(Failure) -> Value {
        do throws(StoreError) { return try body() } catch { throw .store(error) }
    }

    private func logging<Value>(_ body: () throws(LogFailure) -> Value) throws(Failure) -> Value {
        do throws(LogFailure) { return try body() } catch { throw .log(error) }
    }
}
