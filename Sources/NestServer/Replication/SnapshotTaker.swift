import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestProtocol
import NestStore

/// Makes a snapshot of the open store and adds it to the log, and removes what the log no longer needs, on a thread of
/// its own: the driver goes on meanwhile.
final class SnapshotTaker: Sendable {
    private let log: any ClusterLog
    private let reader: StoreReader
    private let journal: ReplicaJournal
    private let bytesLeftMin: Int
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let stopSignal = NIOLockedValueBox(false)
    /// Whether a truncation has been asked for and has not ended.
    private let isTruncating = NIOLockedValueBox(false)

    /// `bytesLeftMin`: the bytes that stay free on the store's disk.
    init(_ log: any ClusterLog, _ reader: StoreReader, _ journal: ReplicaJournal, bytesLeftMin: Int) {
        self.log = log
        self.reader = reader
        self.journal = journal
        self.bytesLeftMin = bytesLeftMin
        self.thread.start()
    }

    /// Calls `ended` when the snapshot is in the log (`true`), or could not be made.
    func take(_ ended: @escaping @Sendable (Bool) -> Void) {
        self.thread.submit { state in
            guard case .active = state, !self.isStopping else { return ended(false) }
            ThreadPriority.lower()
            ended(self.take())
        }
    }

    /// Removes snapshots, and then the records up to a position, in batches until the node stops: what is left then
    /// goes with the next truncation. Does nothing while another one runs.
    func truncate(through position: Int64, removing removed: [LogSnapshot]) {
        let isFree = self.isTruncating.withLockedValue { isTruncating in
            defer { isTruncating = true }
            return !isTruncating
        }
        guard isFree else { return }
        self.thread.submit { state in
            defer { self.isTruncating.withLockedValue { $0 = false } }
            guard case .active = state else { return }
            do throws(LogFailure) {
                try self.log.remove(removed)
                while !self.isStopping {
                    guard try self.log.truncate(through: position) else {
                        return self.journal.truncated(through: position, snapshots: removed.count)
                    }
                }
            } catch {
                if !self.isStopping { self.journal.truncationFailed("\(error)") }
            }
        }
    }

    private var isStopping: Bool { self.stopSignal.withLockedValue { $0 } }

    private func take() -> Bool {
        do {
            let watch = ReadDeadline(for: .hours(24)) { self.isStopping }
            let snapshot = try self.reader.snapshot(bytesLeftMin: self.bytesLeftMin, deadline: watch)
            let isNew = try self.log.add(snapshot.description) { (index) throws(LogFailure) in
                guard !self.isStopping else { throw .unavailable("this node stops") }
                do throws(StoreError) {
                    return try snapshot.part(index)
                } catch {
                    throw .unusable("\(error)")
                }
            }
            self.journal.snapshotTaken(snapshot.description, isNew: isNew)
            return true
        } catch {
            if !self.isStopping { self.journal.snapshotFailed("\(error)") }
            return false
        }
    }

    func stop() async {
        self.stopSignal.withLockedValue { $0 = true }
        try? await self.thread.shutdownGracefully()
    }
}
