import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestProtocol
import NestStore

/// Makes a snapshot of the open store and adds it to the log, on a thread of its own: leases are renewed meanwhile.
final class SnapshotTaker: Sendable {
    private let log: any ClusterLog
    private let reader: StoreReader
    private let journal: ReplicaJournal
    private let bytesLeftMin: Int
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let stopSignal = NIOLockedValueBox(false)

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
