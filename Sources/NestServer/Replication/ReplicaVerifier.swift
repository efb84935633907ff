import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestModel
import NestStore

/// Computes the digest of the store behind a mark, on a thread of its own, and adds it to the log.
final class ReplicaVerifier: Sendable {
    private let log: any ClusterLog
    private let reader: StoreReader
    private let journal: ReplicaJournal
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let state = NIOLockedValueBox(State())

    private struct State {
        /// One at a time: each holds a read transaction, which keeps the write-ahead log from being reset.
        var isBusy = false
        var isStopping = false
    }

    init(_ log: any ClusterLog, _ reader: StoreReader, _ journal: ReplicaJournal) {
        self.log = log
        self.reader = reader
        self.journal = journal
    }

    func start() { self.thread.start() }

    /// Begins to read at a mark. Called on the engine's thread right behind it: the read shows exactly its position.
    func begin(at position: LogPosition) {
        let mayBegin = self.state.withLockedValue { state in
            defer { state.isBusy = true }
            return !state.isBusy && !state.isStopping
        }
        guard mayBegin else {
            return self.journal.verificationFailed("another verification still runs: verify again later")
        }
        do throws(StoreError) {
            let digest = try self.reader.beginDigest()
            guard digest.position == position else {
                self.end()
                let reason = "the store is at position \(digest.position), and the mark at \(position)"
                return self.journal.verificationFailed(reason)
            }
            self.thread.submit { state in
                defer { self.end() }
                guard case .active = state else { return }
                ThreadPriority.lower()
                self.compute(digest)
            }
        } catch {
            self.end()
            self.journal.verificationFailed("\(error)")
        }
    }

    private func end() { self.state.withLockedValue { $0.isBusy = false } }

    private func compute(_ digest: TableDigest) {
        do {
            let watch = ReadDeadline(for: .hours(1)) { self.state.withLockedValue { $0.isStopping } }
            let verification = LogVerification(
                node: self.log.node.id,
                position: digest.position.position,
                digest: try digest.compute(deadline: watch)
            )
            try self.log.add(verification)
            self.journal.verified(verification)
        } catch {
            self.journal.verificationFailed("\(error)")
        }
    }

    func stop() async {
        self.state.withLockedValue { $0.isStopping = true }
        try? await self.thread.shutdownGracefully()
    }
}
