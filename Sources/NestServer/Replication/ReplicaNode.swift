import Glibc
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestProtocol
import NestStore

/// A node of a cluster for as long as its process runs, over any number of openings of its store.
final class ReplicaNode: Sendable {
    /// Sends the clients to other nodes; the connection stays.
    typealias SendOn = @Sendable (DrainReason, ConnectionID?) -> Void

    private struct State {
        var log: ReplicaLog?
        var shared: MeasuredLog?
        /// The engine of the open store, which hears of appends whose outcome is known late.
        var engine: EngineThread?
        var sendOn: SendOn?
        /// Whether the clients were sent on since the node last had news of the log.
        var hasSentOn = false
        /// The file of a store in memory.
        var volatilePath: String?
        var isStopping = false
        /// The last reason that was passed on.
        var waiting: String?
    }

    let status: ReplicaStatus
    let journal: ReplicaJournal
    private let metrics = ReplicaMetrics()
    private let configuration: ReplicaConfiguration
    private let store: Store.Configuration
    private let state = NIOLockedValueBox(State())
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private static let retryMilliseconds: UInt32 = 500

    init(_ configuration: ReplicaConfiguration, _ store: Store.Configuration, _ logger: Logger) {
        self.configuration = configuration
        self.store = store
        self.status = ReplicaStatus(store: configuration.storeName)
        self.journal = ReplicaJournal(logger, self.metrics)
        self.thread.start()
    }

    var isStopping: Bool { self.state.withLockedValue { $0.isStopping } }
    var tls: PeerTLS? { self.configuration.tls }
    var sendsSecretInClear: Bool { self.configuration.sendsSecretInClear }

    /// Ends an opening that waits for the log.
    func requestStop() { self.state.withLockedValue { $0.isStopping = true } }

    // MARK: Opening

    /// The store, ready to be opened.
    struct Opened: Sendable {
        var store: Store.Configuration
        var session: ReplicaSession
    }

    /// Connects to the log and prepares the file. Waits as long as the log cannot be reached. Returns `nil` if the node
    /// is asked to stop meanwhile.
    func open(_ reopening: ReplicaReopening?) async throws(ServerError) -> Opened? {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Opened?, ServerError>, Never>) in
            self.thread.submit { _ in
                continuation.resume(
                    returning: Result { () throws(ServerError) in try self.openWhenPossible(reopening) }
                )
            }
        }
        return try result.get()
    }

    private func openWhenPossible(_ reopening: ReplicaReopening?) throws(ServerError) -> Opened? {
        self.wait(because: reopening == nil ? "connecting to the log" : "opening the store again")
        while !self.isStopping {
            do throws(ReplicaOpening.Failure) {
                let opened = try self.tryToOpen(reopening)
                self.journal.answered()
                return opened
            } catch {
                switch error {
                case .store(let error): throw .store(error)
                case .log(let failure):
                    guard case .unavailable = failure else { throw .log(failure) }
                    guard !self.isStopping else { return nil }
                    self.journal.failed(failure)
                    self.wait(because: "\(failure)")
                    usleep(Self.retryMilliseconds * 1_000)
                }
            }
        }
        return nil
    }

    private func tryToOpen(_ reopening: ReplicaReopening?) throws(ReplicaOpening.Failure) -> Opened {
        let log: ReplicaLog
        let shared: MeasuredLog
        do throws(LogFailure) { (log, shared) = try self.connected() } catch { throw .log(error) }
        let path = try Self.storing { () throws(StoreError) in try self.path() }
        let request = reopening.flatMap(Self.request)
        let opening = ReplicaOpening(
            log: log.log,
            path: path,
            journal: self.journal,
            reopening: request,
            isStopping: { self.isStopping }
        )
        let head = try opening.run()
        var store = self.store
        store.location = .file(path)
        let model = try Self.storing { () throws(StoreError) in
            guard let model = try Store.storedModel(at: store.location) else {
                throw .cannotOpen(path: path, reason: "it has been removed")
            }
            return model
        }
        store.model = self.configuration.model ?? model
        store.log = shared
        return Opened(store: store, session: ReplicaSession(self, log.log, head: head))
    }

    private static func storing<Value>(
        _ body: () throws(StoreError) -> Value
    ) throws(ReplicaOpening.Failure) -> Value {
        do throws(StoreError) { return try body() } catch { throw .store(error) }
    }

    private static func request(_ reopening: ReplicaReopening) -> ReplicaOpening.ReplicaReopeningRequest? {
        switch reopening {
        case .newHistory: nil
        case .cut: .join(reason: "the cluster's model has changed")
        case .behindLog(let base): .join(reason: "the log begins after \(base)")
        case .diverged(let reason): .diverged(reason: reason)
        }
    }

    private func connected() throws(LogFailure) -> (ReplicaLog, MeasuredLog) {
        if let (log, shared) = self.state.withLockedValue({ state in
            state.log.flatMap { log in state.shared.map { (log, $0) } }
        }) {
            return (log, shared)
        }
        let log = try self.configuration.connect()
        let shared = MeasuredLog(
            log.sharedLog { [weak self] position, outcome in self?.resolved(position, outcome) },
            self.metrics
        )
        self.state.withLockedValue { state in
            state.log = log
            state.shared = shared
        }
        return (log, shared)
    }

    /// The path of the node's file. A store in memory is a file in the machine's memory file system.
    private func path() throws(StoreError) -> String {
        if case .file(let path) = self.store.location { return path }
        if let path = self.state.withLockedValue({ $0.volatilePath }) { return path }
        let path = try Store.makeVolatilePath()
        self.state.withLockedValue { $0.volatilePath = path }
        return path
    }

    // MARK: While the store is open

    /// Names the engine that hears of late outcomes, and how its clients are sent to other nodes; `nil`: there is none.
    func use(_ engine: EngineThread?, _ sendOn: SendOn?) {
        self.state.withLockedValue { ($0.engine, $0.sendOn) = (engine, sendOn) }
    }

    private func resolved(_ position: LogPosition, _ outcome: AppendOutcome) {
        self.state.withLockedValue { $0.engine }?.submit(CollectionOfOne(.log(.resolved(outcome, of: position))))
    }

    /// Called once a second: records the metrics, and decides whether the node is ready.
    func tick() {
        let lag = self.status.lagSeconds(at: .now())
        self.metrics.record(self.status.withState { $0 }, lagSeconds: lag)
        self.journal.recordSnapshotAge(now: WallClock.now())
        let isLate = lag > Double(Limits.nodeLagSecondsMax)
        self.sendOnOnce(isLate)
        if self.status.isDrained {
            self.wait(because: "an operator has drained this node")
        } else {
            self.wait(because: isLate ? "this node is \(Int(lag)) s behind the log" : nil)
        }
    }

    /// Sends the clients of a node that lags to other nodes, if there is one: once until it has caught up.
    private func sendOnOnce(_ isLate: Bool) {
        let hasOthers = self.status.withState { $0.hasOthers }
        let sendOn = self.state.withLockedValue { state -> SendOn? in
            guard isLate else {
                state.hasSentOn = false
                return nil
            }
            guard hasOthers, !state.hasSentOn, let sendOn = state.sendOn else { return nil }
            state.hasSentOn = true
            return sendOn
        }
        sendOn?(.lagging, nil)
    }

    /// Passes on why the node waits; `nil`: it does not.
    func wait(because reason: String?) {
        let mustCall = self.state.withLockedValue { state in
            defer { state.waiting = reason }
            return state.waiting != reason
        }
        if mustCall { self.configuration.onWaiting(reason) }
    }

    // MARK: The end

    /// Ends the node's registration. The last call.
    func leave() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.thread.submit { _ in
                let (log, path) = self.state.withLockedValue { ($0.log, $0.volatilePath) }
                if let log {
                    // Otherwise the registration ends with the lease.
                    try? log.log.deregister()
                    self.journal.left()
                }
                if let path { Store.removeVolatile(path) }
                continuation.resume()
            }
        }
        try? await self.thread.shutdownGracefully()
    }
}
