import Dispatch
import NIOConcurrencyHelpers
import NIOPosix
import NestModel
import NestProtocol
import NestStore

/// Renews a node's lease on a thread of its own, while another thread is busy for long.
final class LeaseKeeper: Sendable {
    private let log: any ClusterLog
    private let isStopped = NIOLockedValueBox(false)
    private let wake = DispatchSemaphore(value: 0)
    private let thread = NIOThreadPool(numberOfThreads: 1)

    /// `isNeeded`: whether the thread that otherwise renews the lease is busy.
    init(_ log: any ClusterLog, isNeeded: @escaping @Sendable () -> Bool = { true }) {
        self.log = log
        self.thread.start()
        self.thread.submit { _ in
            while !self.isStopped.withLockedValue({ $0 }) {
                // A failure now may pass before the lease ends.
                if isNeeded() { try? self.log.renewLease() }
                _ = self.wake.wait(timeout: .now() + .seconds(Limits.leaseRenewSeconds))
            }
        }
    }

    func stop() {
        self.isStopped.withLockedValue { $0 = true }
        self.wake.signal()
        self.thread.shutdownGracefully { _ in }
    }
}
