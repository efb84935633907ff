import Dispatch
import Glibc
import Metrics
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestStore
import NestProtocol

/// The engine's mailbox, and the one thread that empties it.
///
/// Store and engine are created on that thread and never leave it, so they need neither lock nor `Sendable`. The inputs
/// that arrive while the engine works become its next batch, so that batches grow with the load.
package final class EngineThread: Sendable {
    /// The parts of the opened store that the rest of the server uses.
    package struct Opened: Sendable {
        package let reader: StoreReader
        package let health: StoreHealth
        package let model: ManagedObjectModel
        package let historyID: Identifier128
        /// The history of the backup that was restored.
        package let restoredHistoryID: Identifier128?
        package let revision: Revision
        package let tokens: [Store.Token]
        /// The migration that opening the store needed.
        package let migration: MigrationReport?
        /// Whether the store was opened with a model that 'nestc model apply' has replaced, and kept its newer one.
        package let hasKeptModel: Bool
        /// The store's place in the log of its cluster.
        package let log: LogState?
    }

    private let mailbox: NIOLockedValueBox<Mailbox>
    private let wake: DispatchSemaphore
    /// Answers reads and handshakes while a turn is long.
    private let standby: Standby
    private let onStage: (@Sendable (EngineStage, [EngineInput]) -> Void)?
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let handOuts = HandOuts()
    /// Threads that read large results while the engine works.
    private let readers = NIOThreadPool(numberOfThreads: Limits.transferThreads)
    private let closing = NIOLockedValueBox<Result<Void, StoreError>>(.success(()))
    private let stopSignal = StopSignal()
    private let questions = NIOLockedValueBox<[@Sendable (Engine) -> Void]>([])
    /// Measures batches with requests. The far more frequent batches with timer inputs only would hide these.
    private let batchTime = Timer(label: "nest.engine.batch")
    /// The engine's state for other threads, once the store is open.
    private let shared = NIOLockedValueBox<EngineShare?>(nil)
    private let logSync = NIOLockedValueBox<LogSync?>(nil)
    private let commitTimes = NIOLockedValueBox(CommitTimes())

    /// `onStage`: called on the engine's thread, which waits for it; `handedOut` on the thread that hands out. For
    /// tests and traces.
    package init(onStage: (@Sendable (EngineStage, [EngineInput]) -> Void)? = nil) {
        self.mailbox = NIOLockedValueBox(Mailbox())
        self.wake = DispatchSemaphore(value: 0)
        self.standby = Standby(self.mailbox, engineWake: self.wake)
        self.onStage = onStage
    }

    /// Opens the store on the engine's thread and begins to serve.
    ///
    /// `sendingAhead`: which deliveries `deliver` gets before they may be sent, behind an `OutputGate`.
    ///
    /// `deliver` is called on the engine's thread, that of `HandOuts`, and the standby's threads. The engine calls
    /// `failed` at most once, on its thread, when the store can no longer be used.
    package func start(
        _ configuration: Store.Configuration,
        limits: EngineLimits,
        readTransaction: TimeAmount,
        memory: EngineMemory,
        sendingAhead: SendingAhead = SendingAhead(isOn: false),
        deliver: @escaping @Sendable (EngineDelivery) -> Void,
        failed: @escaping @Sendable (StoreError) -> Void
    ) async throws(StoreError) -> Opened {
        self.thread.start()
        self.handOuts.start()
        self.readers.start()
        var configuration = configuration
        configuration.stopSignal = self.stopSignal
        let opening = await withCheckedContinuation {
            [configuration] (continuation: CheckedContinuation<Result<Opened, StoreError>, Never>) in
            self.thread.submit { _ in
                self.run(
                    configuration,
                    limits: limits,
                    readTransaction: readTransaction,
                    memory: memory,
                    sendingAhead: sendingAhead,
                    opened: { continuation.resume(returning: $0) },
                    deliver: deliver,
                    failed: failed
                )
            }
        }
        return try opening.get()
    }

    package func submit(_ inputs: some Sequence<EngineInput>) {
        let (isAsleep, isSlow) = self.mailbox.withLockedValue { ($0.append(inputs), $0.standbyMustWake()) }
        if isAsleep { self.wake.signal() }
        if isSlow { self.standby.call() }
    }

    /// The model that the engine serves. Precondition: the store is open.
    package var model: ServedModel {
        guard let share = self.shared.withLockedValue({ $0 }) else { preconditionFailure("the store is open") }
        return share.model
    }

    /// How long the batches with writes took lately, from their first write to the durable commit.
    package var recentCommits: CommitTimes.Summary {
        // The thread must not wait while the histograms are added up.
        let times = self.commitTimes.withLockedValue { $0 }
        return times.summary(now: DispatchTime.now().uptimeNanoseconds)
    }

    /// Calls `question` on the engine's thread, between two batches. Does not call it if the thread has ended.
    package func ask(_ question: @escaping @Sendable (Engine) -> Void) {
        self.questions.withLockedValue { $0.append(question) }
        if self.mailbox.withLockedValue({ $0.ask() }) { self.wake.signal() }
    }

    /// Interrupts the running batch and drops those after it. The engine acknowledges none of their requests, and rolls
    /// back a transaction that is not durable. `stop` then returns soon.
    package func interrupt() {
        let mustWake = self.mailbox.withLockedValue { $0.drop() }
        self.stopSignal.raise()
        if mustWake { self.wake.signal() }
    }

    /// Accepts no more inputs, finishes those in the mailbox, closes the store and ends the thread.
    package func stop() async throws(StoreError) {
        if self.mailbox.withLockedValue({ $0.stop() }) { self.wake.signal() }
        // The standby's read transaction would keep the write-ahead log from being emptied.
        await self.standby.stop()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.thread.shutdownGracefully { _ in continuation.resume() }
        }
        await self.handOuts.stop()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.readers.shutdownGracefully { _ in continuation.resume() }
        }
        try self.closing.withLockedValue { $0 }.get()
    }

    private func run(
        _ configuration: Store.Configuration,
        limits: EngineLimits,
        readTransaction: TimeAmount,
        memory: EngineMemory,
        sendingAhead: SendingAhead,
        opened: (Result<Opened, StoreError>) -> Void,
        deliver: @escaping @Sendable (EngineDelivery) -> Void,
        failed: (StoreError) -> Void
    ) {
        do throws(StoreError) {
            var generator = SystemRandomNumberGenerator()
            let store = try Store(configuration, newHistoryID: .random(using: &generator))
            let engine = try Engine(
                store: store,
                limits: limits,
                answerMemory: memory.answers,
                startID: .random(using: &generator)
            )
            try store.deferSync()
            self.shared.withLockedValue { $0 = engine.share }
            self.logSync.withLockedValue { $0 = store.logSync }
            self.standby.start(
                Standby.Context(
                    share: engine.share,
                    readers: self.readers,
                    readTransaction: readTransaction,
                    stopSignal: self.stopSignal,
                    memory: memory.answers,
                    isBehind: { self.handOuts.isBehind },
                    whenDurable: { self.whenDurable($0) },
                    deliver: { effects, share in
                        deliver(EngineDelivery(effects: effects, inputs: [], share: share, hasTokenChanges: false))
                    }
                )
            )
            opened(
                .success(
                    Opened(
                        reader: store.reader,
                        health: store.health,
                        model: engine.model,
                        historyID: store.historyID,
                        restoredHistoryID: store.restoredHistoryID,
                        revision: store.head,
                        tokens: engine.tokens.all.values.sorted { $0.description.number < $1.description.number },
                        migration: store.migration,
                        hasKeptModel: store.hasKeptModel,
                        log: store.logState
                    )
                )
            )
            // The thread keeps the connection that writes: no other one uses it.
            store.access {
                self.serve(engine, readTransaction: readTransaction, sendingAhead, deliver: deliver, failed: failed)
            }
            _ = self.finish(engine)
            do throws(StoreError) {
                try engine.close()
            } catch {
                self.closing.withLockedValue { $0 = .failure(error) }
            }
        } catch {
            opened(.failure(error))
        }
    }

    private func serve(
        _ engine: Engine,
        readTransaction: TimeAmount,
        _ sendingAhead: SendingAhead,
        deliver: @escaping @Sendable (EngineDelivery) -> Void,
        failed: (StoreError) -> Void
    ) {
        var spin = SpinThenPark(processors: System.coreCount)
        var ioEffectCount = engine.ioEffectCount
        var division = BatchDivision()
        var sendingAhead = sendingAhead
        var readsInProgress = 0
        while let batch = self.nextBatch(engine, &spin, division) {
            let start = DispatchTime.now().uptimeNanoseconds
            if readsInProgress > 0 {
                for case .read in batch.inputs { readsInProgress -= 1 }
            }
            self.onStage?(.begun, batch.inputs)
            let mailbox = self.mailbox
            let effects = engine.perform(
                batch.inputs,
                now: WallClock.now(),
                answeredByStandby: batch.isMixed ? { mailbox.withLockedValue { $0.closeRunning() } } : nil
            )
            self.onStage?(.performed, batch.inputs)
            let requestCount = batch.requestCount
            let time = DispatchTime.now().uptimeNanoseconds - start
            if requestCount > 0 { self.batchTime.recordNanoseconds(time) }
            let hasServerEffects = engine.ioEffectCount != ioEffectCount
            if hasServerEffects {
                ioEffectCount = engine.ioEffectCount
                for case .read(let read) in effects {
                    readsInProgress += 1
                    self.begin(read, engine.served.reader, readTransaction, engine.answerMemory)
                }
            }
            let delivery = EngineDelivery(
                effects: effects,
                inputs: batch.inputs,
                share: engine.answerMemory.share(engine.answerBytes),
                hasTokenChanges: hasServerEffects
            )
            if batch.writeCount > 0 {
                division.note(
                    writes: batch.writeCount,
                    subscribers: effects.subscriberCount,
                    nanoseconds: time,
                    syncNanoseconds: self.handOuts.lastSyncNanoseconds
                )
            }
            self.handOut(delivery, of: batch, engine, start: start, &sendingAhead, deliver)
            self.checkpointIfDue(engine)
            if let failure = engine.failure {
                // Requests still in the mailbox must not be acknowledged; their connections close.
                _ = self.mailbox.withLockedValue { $0.stop() }
                return failed(failure)
            }
            // During a read the engine leaves the processor to it: a thread that yields while it spins gets its
            // processor back only when the other one's slice ends.
            if !engine.hasBacklog, readsInProgress == 0 {
                spin.begin(after: requestCount, now: DispatchTime.now().uptimeNanoseconds)
            }
        }
    }

    /// Hands out the effects of a batch when they are durable.
    private func handOut(
        _ delivery: EngineDelivery,
        of batch: Mailbox.Batch,
        _ engine: Engine,
        start: UInt64,
        _ sendingAhead: inout SendingAhead,
        _ deliver: @escaping @Sendable (EngineDelivery) -> Void
    ) {
        let handOut = engine.takeHandOut(turn: batch.turn, hasWrites: batch.writeCount > 0)
        let hasWrites = batch.writeCount > 0
        let hasMore = engine.failure == nil && (engine.hasBacklog || self.mailbox.withLockedValue { $0.hasRequests })
        let recipients = hasMore || !handOut.hasUpdate ? nil : sendingAhead.recipients(of: delivery.effects)
        do throws(StoreError) {
            let gate = try self.handOuts.handOut(
                engine.logSync,
                hasMore: hasMore,
                ahead: recipients.map { recipients in
                    { gate in
                        handOut.ahead(to: recipients) { deliver(delivery.behind(gate)) }
                        self.onStage?(.ahead, delivery.inputs)
                    }
                },
                failed: { self.ask { _ in } }
            ) { gate in
                if hasWrites {
                    let end = DispatchTime.now().uptimeNanoseconds
                    self.commitTimes.withLockedValue { $0.record(end - start, now: end) }
                }
                handOut { if let gate { gate.open() } else { deliver(delivery) } }
                self.onStage?(.handedOut, delivery.inputs)
            }
            if let gate { sendingAhead.note(hadWaiters: gate.hadWaiters) }
        } catch {
            engine.fail(error)
        }
    }

    /// After everything is handed out, so that no client waits for it.
    private func checkpointIfDue(_ engine: Engine) {
        guard engine.failure == nil, engine.isCheckpointDue, self.finish(engine) else { return }
        self.standby.yieldSnapshot()
        engine.checkpointIfDue()
    }

    /// Waits until everything is handed out. Returns false if the log cannot be synced.
    private func finish(_ engine: Engine) -> Bool {
        do throws(StoreError) {
            try self.handOuts.finish()
            return true
        } catch {
            engine.fail(error)
            return false
        }
    }

    /// Calls `body` when everything that any connection of the store sees now is durable.
    package func whenDurable(_ body: @escaping @Sendable (StoreError?) -> Void) {
        guard let sync = self.logSync.withLockedValue({ $0 }) else { return body(nil) }
        sync.whenDurable(body)
    }

    /// Reads a large result on another thread.
    private func begin(
        _ read: BackgroundRead,
        _ reader: StoreReader,
        _ readTransaction: TimeAmount,
        _ memory: AnswerMemory
    ) {
        self.readers.submit { state in
            guard case .active = state else { return }
            ThreadPriority.lower()
            let watch = ReadDeadline(for: readTransaction) { self.stopSignal.isRaised }
            let outcome = read.run(reader, memory: memory, watch: watch) { work in
                self.readers.submit { state in
                    guard case .active = state else { return }
                    ThreadPriority.lower()
                    work()
                }
            }
            self.submit(CollectionOfOne(.read(read.id, outcome)))
        }
    }

    /// Returns the next batch. Does not wait when the engine has a backlog; the batch may then be empty. Answers
    /// questions first.
    private func nextBatch(
        _ engine: Engine,
        _ spin: inout SpinThenPark,
        _ division: BatchDivision
    ) -> Mailbox.Batch? {
        while true {
            let questions = self.takeQuestions()
            if !questions.isEmpty {
                // Answers may show what was committed last. After a failure the next turn is the last one.
                guard self.finish(engine) else { return Mailbox.Batch() }
                for question in questions { question(engine) }
            }
            // A question may be one that the engine must ask the log.
            let isBusy = engine.hasBacklog
            let spins = !isBusy && spin.spins(now: DispatchTime.now().uptimeNanoseconds)
            // Without a sync, the second half would have nothing to run beside.
            let division = engine.logSync == nil ? nil : division
            switch self.mailbox.withLockedValue({ $0.next(isBusy: spins, hasBacklog: isBusy, division: division) }) {
            case .batch(let batch):
                spin.end()
                return batch
            case .question: continue
            case .wait where spins: sched_yield()
            case .wait: self.wake.wait()
            case .end: return nil
            }
        }
    }

    private func takeQuestions() -> [@Sendable (Engine) -> Void] {
        self.questions.withLockedValue { questions in
            guard !questions.isEmpty else { return [] }
            defer { questions = [] }
            return questions
        }
    }
}
