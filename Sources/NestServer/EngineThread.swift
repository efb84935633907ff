import Dispatch
import Glibc
import Metrics
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestStore

/// The engine's mailbox, and the one thread that empties it.
///
/// Store and engine are created on that thread and never leave it, so they need neither lock nor `Sendable`. What
/// arrives while the engine works is its next batch, so that batches grow with the load by themselves.
package final class EngineThread: Sendable {
    /// What the rest of the server may know of the open store.
    package struct Opened: Sendable {
        package let reader: StoreReader
        package let watch: StoreWatch
        package let model: ManagedObjectModel
        package let historyID: Identifier128
        package let revision: Revision
        package let tokens: [Store.Token]
        /// What was migrated on opening.
        package let migration: MigrationReport?
    }

    /// What is held until the effects of a batch are with their connections: what was in it, which is freed by who made it,
    /// and the memory that its answers take.
    package struct Batch: Sendable {
        let inputs: [EngineInput]
        let share: AnswerShare
    }

    private let mailbox: NIOLockedValueBox<Mailbox>
    private let wake: DispatchSemaphore
    /// Answers what can be answered while a turn is long.
    private let standby: Standby
    private let onStage: (@Sendable (EngineStage, [EngineInput]) -> Void)?
    private let thread = NIOThreadPool(numberOfThreads: 1)
    /// Threads that read large results beside the engine.
    private let readers = NIOThreadPool(numberOfThreads: Limits.transferThreads)
    private let closing = NIOLockedValueBox<Result<Void, StoreError>>(.success(()))
    private let stopSignal = StopSignal()
    private let questions = NIOLockedValueBox<[@Sendable (Engine) -> Void]>([])
    /// Of the batches that hold requests: the beats of the clock would hide them.
    private let batchTime = Timer(label: "nest.engine.batch")

    /// `onStage`: called on the engine's thread, which waits for it. For tests.
    package init(onStage: (@Sendable (EngineStage, [EngineInput]) -> Void)? = nil) {
        self.mailbox = NIOLockedValueBox(Mailbox())
        self.wake = DispatchSemaphore(value: 0)
        self.standby = Standby(self.mailbox, engineWake: self.wake)
        self.onStage = onStage
    }

    /// Opens the store on the engine's thread and begins to serve.
    ///
    /// `deliver` and `failed` are called on that thread, `deliver` also by a standby that answers beside it; `failed` at most
    /// once, when the store can no longer be used. `deliver` gets what a batch has led to, what is to be held until that has
    /// been handed over, and whether there is anything for the rim itself among the effects.
    package func start(
        _ configuration: Store.Configuration,
        limits: EngineLimits,
        readTransaction: TimeAmount,
        memory: EngineMemory,
        deliver: @escaping @Sendable ([EngineEffect], Batch, _ isForIOLayer: Bool) -> Void,
        failed: @escaping @Sendable (StoreError) -> Void
    ) async throws(StoreError) -> Opened {
        self.thread.start()
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

    /// Has `question` called on the engine's thread, between two batches; never, when the thread has ended.
    package func ask(_ question: @escaping @Sendable (Engine) -> Void) {
        self.questions.withLockedValue { $0.append(question) }
        if self.mailbox.withLockedValue({ $0.append(EmptyCollection()) }) { self.wake.signal() }
    }

    /// Ends the batch under way and drops those after it: nothing of them is acknowledged, and a transaction that is not
    /// durable is rolled back. `stop` then ends soon.
    package func interrupt() {
        let mustWake = self.mailbox.withLockedValue { $0.drop() }
        self.stopSignal.raise()
        if mustWake { self.wake.signal() }
    }

    /// Takes nothing more, finishes what is in the mailbox, closes the store and ends the thread.
    package func stop() async throws(StoreError) {
        if self.mailbox.withLockedValue({ $0.stop() }) { self.wake.signal() }
        // Its connection would keep the store's log from being emptied.
        await self.standby.stop()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.thread.shutdownGracefully { _ in continuation.resume() }
        }
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
        opened: (Result<Opened, StoreError>) -> Void,
        deliver: @escaping @Sendable ([EngineEffect], Batch, _ isForIOLayer: Bool) -> Void,
        failed: (StoreError) -> Void
    ) {
        do throws(StoreError) {
            var generator = SystemRandomNumberGenerator()
            let store = try Store(configuration, newHistoryID: .random(using: &generator))
            let engine = try Engine(store: store, limits: limits, answerMemory: memory.answers)
            self.standby.start(
                Standby.Context(
                    share: engine.share,
                    reader: store.reader,
                    readers: self.readers,
                    readTransaction: readTransaction,
                    stopSignal: self.stopSignal,
                    memory: memory.answers,
                    deliver: { deliver($0, Batch(inputs: [], share: $1), false) }
                )
            )
            opened(
                .success(
                    Opened(
                        reader: store.reader,
                        watch: store.watch,
                        model: engine.model,
                        historyID: store.historyID,
                        revision: store.head,
                        tokens: engine.tokens.all.values.sorted { $0.description.number < $1.description.number },
                        migration: store.migration
                    )
                )
            )
            self.serve(engine, store.reader, readTransaction: readTransaction, deliver: deliver, failed: failed)
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
        _ reader: StoreReader,
        readTransaction: TimeAmount,
        deliver: ([EngineEffect], Batch, _ isForIOLayer: Bool) -> Void,
        failed: (StoreError) -> Void
    ) {
        var briefWait = BriefWait(processors: System.coreCount)
        var ioEffectCount = engine.ioEffectCount
        while let batch = self.nextBatch(engine, &briefWait) {
            let start = DispatchTime.now().uptimeNanoseconds
            self.onStage?(.begun, batch.inputs)
            let mailbox = self.mailbox
            let effects = engine.perform(
                batch.inputs,
                now: WallClock.now(),
                answeredByStandby: batch.isMixed ? { mailbox.withLockedValue { $0.closeRunning() } } : nil
            )
            self.onStage?(.performed, batch.inputs)
            let requestCount = batch.requestCount
            if requestCount > 0 {
                self.batchTime.recordNanoseconds(DispatchTime.now().uptimeNanoseconds - start)
            }
            let isForIOLayer = engine.ioEffectCount != ioEffectCount
            if isForIOLayer {
                ioEffectCount = engine.ioEffectCount
                for case .read(let read) in effects { self.begin(read, reader, readTransaction, engine.answerMemory) }
            }
            engine.handOut(turn: batch.turn, hasWrites: batch.writeCount > 0) {
                let share = engine.answerMemory.share(engine.answerBytes)
                deliver(effects, Batch(inputs: batch.inputs, share: share), isForIOLayer)
            }
            if engine.isCheckpointDue { self.standby.yieldSnapshot() }
            self.onStage?(.handedOut, batch.inputs)
            engine.checkpointIfDue()
            if let failure = engine.failure {
                // What is still in the mailbox may not be acknowledged; its connections close.
                _ = self.mailbox.withLockedValue { $0.stop() }
                return failed(failure)
            }
            if !engine.hasBacklog {
                briefWait.begin(after: requestCount, now: DispatchTime.now().uptimeNanoseconds)
            }
        }
    }

    /// Reads a large result on a thread of its own.
    private func begin(
        _ read: BackgroundRead,
        _ reader: StoreReader,
        _ readTransaction: TimeAmount,
        _ memory: AnswerMemory
    ) {
        self.readers.submit { state in
            guard case .active = state else { return }
            ThreadPriority.giveWay()
            let watch = ReadWatch(for: readTransaction) { self.stopSignal.isRaised }
            let outcome = read.run(reader, memory: memory, watch: watch) { work in
                self.readers.submit { state in
                    guard case .active = state else { return }
                    ThreadPriority.giveWay()
                    work()
                }
            }
            self.submit(CollectionOfOne(.read(read.id, outcome)))
        }
    }

    /// An empty batch, instead of a wait, when the engine has more to do. Answers questions first.
    private func nextBatch(_ engine: Engine, _ briefWait: inout BriefWait) -> Mailbox.Batch? {
        let isBusy = engine.hasBacklog
        while true {
            for question in self.takeQuestions() { question(engine) }
            let looksAgain = !isBusy && briefWait.goesOn(now: DispatchTime.now().uptimeNanoseconds)
            switch self.mailbox.withLockedValue({ $0.next(isBusy: looksAgain, hasBacklog: isBusy) }) {
            case .batch(let batch):
                briefWait.end()
                return batch
            case .wait where looksAgain: sched_yield()
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
