import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestStore

/// Looks at the store's file every second, on a thread that may block, and tells the engine what it sees.
final class StoreWatcher: Sendable {
    private struct State {
        /// A disk that does not answer is asked once, not once a second.
        var isLooking = false
        var isShort = false
    }

    private let watch: StoreWatch
    private let engine: EngineThread
    private let files: NIOThreadPool
    private let logger: Logger
    private let state = NIOLockedValueBox(State())
    private let freeBytesMin: Int

    init(_ watch: StoreWatch, freeBytesMin: Int, engine: EngineThread, files: NIOThreadPool, logger: Logger) {
        self.watch = watch
        self.freeBytesMin = freeBytesMin
        self.engine = engine
        self.files = files
        self.logger = logger
    }

    func start(on eventLoop: any EventLoop) -> RepeatedTask {
        let interval = TimeAmount.seconds(Int64(Limits.storeWatchSeconds))
        return eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: interval) { _ in self.look() }
    }

    private func look() {
        let mayLook = self.state.withLockedValue { state in
            defer { state.isLooking = true }
            return !state.isLooking
        }
        guard mayLook else { return }
        self.files.submit { pool in
            defer { self.state.withLockedValue { $0.isLooking = false } }
            guard case .active = pool else { return }
            let sight = self.watch.look()
            self.note(sight)
            self.engine.submit(CollectionOfOne(.healthSample(sight)))
        }
    }

    /// Logs when it becomes short, and when it is enough again.
    private func note(_ sight: StoreWatch.Sight) {
        guard let free = sight.freeBytes else { return }
        let isShort = free < self.freeBytesMin
        let hasChanged = self.state.withLockedValue { state in
            defer { state.isShort = isShort }
            return state.isShort != isShort
        }
        guard hasChanged else { return }
        let metadata: Logger.Metadata = ["freeBytes": "\(free)", "needed": "\(self.freeBytesMin)"]
        if isShort {
            self.logger.error("disk.short", metadata: metadata)
        } else {
            self.logger.notice("disk.enough", metadata: metadata)
        }
    }
}
