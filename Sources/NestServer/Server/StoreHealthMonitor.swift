import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestStore
import NestProtocol

/// Takes a health sample of the store every second, on a thread that may block, and passes it to the engine: whether
/// the file still exists, and how much space is free on its disk.
final class StoreHealthMonitor: Sendable {
    private struct State {
        /// Whether a sample is being taken: a disk that does not answer is sampled once, not once a second.
        var isSampling = false
        /// Whether the last sample found too little free space.
        var isShort = false
    }

    private let health: StoreHealth
    private let engine: EngineThread
    private let files: NIOThreadPool
    private let logger: Logger
    private let state = NIOLockedValueBox(State())
    private let freeBytesMin: Int

    init(_ health: StoreHealth, freeBytesMin: Int, engine: EngineThread, files: NIOThreadPool, logger: Logger) {
        self.health = health
        self.freeBytesMin = freeBytesMin
        self.engine = engine
        self.files = files
        self.logger = logger
    }

    func start(on eventLoop: any EventLoop) -> RepeatedTask {
        let interval = TimeAmount.seconds(Int64(Limits.storeHealthSeconds))
        return eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: interval) { _ in self.sample() }
    }

    private func sample() {
        let maySample = self.state.withLockedValue { state in
            defer { state.isSampling = true }
            return !state.isSampling
        }
        guard maySample else { return }
        self.files.submit { pool in
            defer { self.state.withLockedValue { $0.isSampling = false } }
            guard case .active = pool else { return }
            let sample = self.health.sample()
            self.logChange(sample)
            self.engine.submit(CollectionOfOne(.healthSample(sample)))
        }
    }

    /// Logs when free space becomes short, and when there is enough again.
    private func logChange(_ sample: StoreHealth.Sample) {
        guard let free = sample.freeBytes else { return }
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
