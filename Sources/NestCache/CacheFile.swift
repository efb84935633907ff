import Dispatch
import GRDB
public import Logging
import NIOConcurrencyHelpers
public import NestClient
import NestModel
import NestProtocol

/// The last states of a client's lists and outlines in one file, and the model: a `ResultsCache` in SQLite.
///
///     var configuration = ClientConfiguration(host: "nest.example.org")
///     configuration.cache = try CacheFile(path: "/home/ann/.cache/groceries/lists")
///     let client = NestClient(configuration)
///
/// The file is for one store and one user: call `clear()` when the user signs out. Only its owner may read it; nothing
/// in it is encrypted. Beside it are `PATH-wal` and `PATH-shm`, which SQLite makes, and `PATH-lock`. Several processes
/// may use one file. A damaged file is replaced by a new one; a file that is no cache is refused. A state is shown only
/// to a client with the token and the name of the store that it was recorded with.
///
/// Changes are written together, at most every second, in a queue of the cache: the client never waits for the disk.
/// After a crash, what was not written is missing, and the server sends it as part of the difference.
public final class CacheFile: ResultsCache {
    /// What the cache has done.
    package struct Counters: Equatable, Sendable {
        /// The changes that were recorded.
        package var changes = 0
        /// The transactions that wrote them.
        package var batches = 0
        /// The blocks that were enqueued for the cache's queue.
        package var hops = 0
        /// The views that were removed because the cache was full.
        package var evictions = 0
    }

    private struct State {
        /// `nil`: another process has the file open, and it is damaged.
        var storage: CacheStorage?
        var unwritten = UnwrittenChanges()
        var isWriteScheduled = false
        var counters = Counters()
    }

    public let path: String
    private let byteCountMax: Int
    private let writeDelay: DispatchTimeInterval
    private let logger: Logger
    private let queue = DispatchQueue(label: "nest.cache", qos: .utility)
    private let state: NIOLockedValueBox<State>

    /// Opens the file, or makes it; its directory must exist. `byteCountMax`: beyond it, the states that were least
    /// recently shown are removed. The log says why a state or a file was dropped.
    ///
    /// Throws `invalid` if the file cannot be made or written, is no cache, or is of another user.
    public convenience init(
        path: String,
        byteCountMax: Int = Limits.cacheBytesMax,
        logger: Logger = Logger(label: "nest.cache")
    ) throws(NestError) {
        try self.init(
            path: path,
            byteCountMax: byteCountMax,
            writeMilliseconds: Limits.cacheWriteMilliseconds,
            logger: logger
        )
    }

    package init(path: String, byteCountMax: Int, writeMilliseconds: Int, logger: Logger) throws(NestError) {
        self.path = path
        self.byteCountMax = byteCountMax
        self.writeDelay = .milliseconds(writeMilliseconds)
        self.logger = logger
        do {
            let storage = try CacheStorage.open(path, logger)
            self.state = NIOLockedValueBox(State(storage: storage))
        } catch {
            throw NestError(.invalid, "the cache \(path) cannot be opened: \(error)")
        }
    }

    package var counters: Counters { self.state.withLockedValue { $0.counters } }

    // MARK: ResultsCache

    public func record(_ changes: [CacheChange]) {
        let (isDue, droppedCount) = self.state.withLockedValue { state in
            var droppedCount = 0
            for change in changes {
                state.counters.changes += 1
                if !state.unwritten.add(change) { droppedCount += 1 }
            }
            return (Self.schedule(&state), droppedCount)
        }
        for case .remove(_, let reason) in changes { self.logger.info("a cached state is dropped: \(reason)") }
        if droppedCount > 0 { self.logger.warning("changes wait to be written: \(droppedCount) are dropped") }
        if isDue { self.writeLater() }
    }

    public func model() async -> CachedModel? {
        await self.perform { cache in
            cache.write()
            return cache.use { try $0.model() } ?? nil
        }
    }

    public func view(_ request: [UInt8]) async -> CachedView? {
        await self.perform { cache in
            if cache.state.withLockedValue({ $0.unwritten.concerns(request) }) { cache.write() }
            // If they could not be written, the file may have a state that was to be removed.
            guard !cache.state.withLockedValue({ $0.unwritten.concerns(request) }) else { return nil }
            let read = cache.use { try $0.view(request) } ?? nil
            guard let read else { return nil }
            let isDue = cache.state.withLockedValue { state in
                state.unwritten.note(shown: request)
                return Self.schedule(&state)
            }
            if isDue { cache.writeLater() }
            return read
        }
    }

    public func flush() async {
        await self.perform { $0.write() }
    }

    /// Forgets everything, for example when the user signs out. Close the clients that use the cache before: they would
    /// record the states that they show. The file has none of the bytes then; the disk may still have some, of the
    /// journal and of a damaged file that was replaced.
    ///
    /// Throws `invalid` if the bytes may still be in the file, for example because another process uses it.
    public func clear() async throws(NestError) {
        let fault: String? = await self.perform { cache in
            cache.state.withLockedValue { $0.unwritten = UnwrittenChanges() }
            guard let storage = cache.state.withLockedValue({ $0.storage }) else { return "it is not open" }
            do {
                try storage.clear()
                return nil
            } catch {
                cache.failed(error)
                // A file that was damaged is a new one now, unless another process has it open.
                let isReplaced = CacheStorage.isDamage(error) && cache.state.withLockedValue { $0.storage != nil }
                return isReplaced ? nil : "\(error)"
            }
        }
        if let fault { throw NestError(.invalid, "the cache \(self.path) cannot be cleared: \(fault)") }
    }

    /// Writes everything and closes the file, which is one file then. The cache keeps nothing any more.
    package func close() async {
        await self.perform { cache in
            cache.write()
            let old = cache.state.withLockedValue { state in
                defer { state.storage = nil }
                return state.storage
            }
            old?.close()
        }
    }

    // MARK: In the queue

    /// Says whether a write must be scheduled.
    private static func schedule(_ state: inout State) -> Bool {
        guard !state.isWriteScheduled, !state.unwritten.isEmpty else { return false }
        state.isWriteScheduled = true
        state.counters.hops += 1
        return true
    }

    private func writeLater() {
        self.queue.asyncAfter(deadline: .now() + self.writeDelay) {
            self.state.withLockedValue { $0.isWriteScheduled = false }
            self.write()
        }
    }

    private func perform<Result: Sendable>(_ body: @escaping @Sendable (CacheFile) -> Result) async -> Result {
        self.state.withLockedValue { $0.counters.hops += 1 }
        return await withCheckedContinuation { continuation in
            self.queue.async { continuation.resume(returning: body(self)) }
        }
    }

    /// Writes all changes in one transaction.
    private func write() {
        let unwritten = self.state.withLockedValue { state in
            defer { state.unwritten = UnwrittenChanges() }
            return state.unwritten
        }
        guard !unwritten.isEmpty, let storage = self.state.withLockedValue({ $0.storage }) else { return }
        let written: CacheStorage.Written
        do {
            written = try storage.write(unwritten, byteCountMax: self.byteCountMax)
        } catch {
            self.failed(error)
            guard !CacheStorage.isDamage(error) else { return }
            let isDue = self.state.withLockedValue { state in
                state.unwritten.restore(unwritten)
                return Self.schedule(&state)
            }
            if isDue { self.writeLater() }
            return
        }
        self.state.withLockedValue { state in
            state.counters.batches += 1
            state.counters.evictions += written.evictionCount
        }
        for fault in written.faults { self.logger.warning("a cached state is dropped: \(fault)") }
    }

    /// Uses the file. `nil`: it failed.
    private func use<Result>(_ body: (CacheStorage) throws -> Result) -> Result? {
        guard let storage = self.state.withLockedValue({ $0.storage }) else { return nil }
        do {
            return try body(storage)
        } catch {
            self.failed(error)
            return nil
        }
    }

    /// A damaged file is replaced by a new one. After any other error the cache goes on: the views of the batch are
    /// removed as soon as the file can be written.
    private func failed(_ error: any Error) {
        self.logger.warning("the cache \(self.path) fails: \(error)")
        guard CacheStorage.isDamage(error) else { return }
        let old = self.state.withLockedValue { state in
            defer { state.storage = nil }
            return state.storage
        }
        old?.close()
        do {
            let new = try CacheStorage.open(self.path, self.logger, isDamaged: true)
            self.state.withLockedValue { $0.storage = new }
        } catch {
            self.logger.warning("the cache \(self.path) cannot be replaced: \(error)")
        }
    }
}
