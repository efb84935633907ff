import Dispatch
import NIOConcurrencyHelpers
import NIOPosix
import NestStore

/// Hands out the effects of the engine's batches, in their order, each when everything that it shows is durable.
///
/// If more waits for the engine, the log is synced on a thread of its own, while the engine performs the next batch. At
/// most one sync is under way: the engine waits for it before it hands out more, so that batches grow with the time
/// that a sync takes. Otherwise the engine's thread syncs, because another one would first have to wake.
final class HandOuts: Sendable {
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let isIdle = ConditionLock(value: true)
    private let failure = NIOLockedValueBox<StoreError?>(nil)
    private let lastSync = NIOLockedValueBox<UInt64>(0)

    func start() { self.thread.start() }

    /// Ends the thread. What is under way is handed out before.
    func stop() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.thread.shutdownGracefully { _ in continuation.resume() }
        }
    }

    /// Whether something is not handed out yet, or never will be.
    var isBehind: Bool { !self.isIdle.value || self.failure.withLockedValue { $0 != nil } }

    /// How many nanoseconds the last sync took.
    var lastSyncNanoseconds: UInt64 { self.lastSync.withLockedValue { $0 } }

    /// Waits until everything is handed out. Fails if a sync has failed: nothing is handed out any more.
    func finish() throws(StoreError) {
        self.isIdle.lock(whenValue: true)
        self.isIdle.unlock()
        if let failure = self.failure.withLockedValue({ $0 }) { throw failure }
    }

    /// Calls `body` when everything is durable that was committed before: on this thread, or on the other one if
    /// `hasMore`, which says whether more waits for the engine. `failed`: called on the other thread instead of `body`.
    /// `ahead`: called before a sync on this thread, with the gate that `body` gets then. Returns this gate.
    func handOut(
        _ sync: LogSync?,
        hasMore: Bool,
        ahead: ((OutputGate) -> Void)?,
        failed: @escaping @Sendable () -> Void,
        _ body: @escaping @Sendable (OutputGate?) -> Void
    ) throws(StoreError) -> OutputGate? {
        if sync != nil { try self.finish() }
        guard let sync, sync.isPending else {
            body(nil)
            return nil
        }
        guard hasMore else {
            let gate = ahead.map { ahead in
                let gate = OutputGate()
                ahead(gate)
                return gate
            }
            do throws(StoreError) {
                try self.sync(sync)
            } catch {
                gate?.drop()
                self.failure.withLockedValue { $0 = error }
                throw error
            }
            body(gate)
            return gate
        }
        self.isIdle.lock()
        self.isIdle.unlock(withValue: false)
        self.thread.submit { _ in
            do throws(StoreError) {
                try self.sync(sync)
                body(nil)
            } catch {
                self.failure.withLockedValue { $0 = error }
                failed()
            }
            self.isIdle.lock()
            self.isIdle.unlock(withValue: true)
        }
        return nil
    }

    private func sync(_ sync: LogSync) throws(StoreError) {
        let start = DispatchTime.now().uptimeNanoseconds
        try sync.sync()
        let time = DispatchTime.now().uptimeNanoseconds - start
        self.lastSync.withLockedValue { $0 = time }
    }
}
