import Dispatch
import Metrics
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestStore
import NestProtocol

/// Answers handshakes and reads while the engine is in one long turn: a bulk write, its fsync, a checkpoint.
///
/// Its thread sleeps while the engine's turns are short. An input that arrives during a turn wakes it. It then checks
/// at intervals of `patience` whether the engine is still in the same turn. Only if so does it take the inputs that it
/// may answer from the mailbox.
final class Standby: Sendable {
    /// The time from one check to the next. A turn that lasts that long is a long one.
    static let patience = DispatchTimeInterval.milliseconds(20)
    /// How long the engine waits for a read to end before a checkpoint. A checkpoint during a read only leaves a longer
    /// log.
    private static let yieldSeconds = 0.1

    /// The standby's access to the open store.
    struct Context: Sendable {
        let share: EngineShare
        /// Threads for large reads.
        let readers: NIOThreadPool
        let readTransaction: TimeAmount
        let stopSignal: StopSignal
        let memory: AnswerMemory
        /// Whether the effects of an earlier turn are not handed out yet: what waits may have to come after them.
        let isBehind: @Sendable () -> Bool
        /// Calls a function when everything that a reader sees now is durable.
        let whenDurable: @Sendable (@escaping @Sendable (StoreError?) -> Void) -> Void
        /// Delivers effects, with the memory that they hold until the connections have them.
        let deliver: @Sendable ([EngineEffect], AnswerShare) -> Void
    }

    let mailbox: NIOLockedValueBox<Mailbox>
    private let engineWake: DispatchSemaphore
    private let wake = DispatchSemaphore(value: 0)
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let isStopped = NIOLockedValueBox(false)
    /// Whether the standby keeps a read transaction open over a pause.
    private let isPinned = ConditionLock(value: false)
    /// Connections with a large read in progress.
    private let largeReads = NIOLockedValueBox<Set<ConnectionID>>([])
    private let answers = Counter(label: "nest.standby.answers")

    init(_ mailbox: NIOLockedValueBox<Mailbox>, engineWake: DispatchSemaphore) {
        self.mailbox = mailbox
        self.engineWake = engineWake
    }

    func start(_ context: Context) {
        self.thread.start()
        self.thread.submit { state in
            guard case .active = state else { return }
            self.run(context)
        }
    }

    /// Ends the thread. Large reads may still deliver answers.
    func stop() async {
        self.isStopped.withLockedValue { $0 = true }
        self.wake.signal()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.thread.shutdownGracefully { _ in continuation.resume() }
        }
    }

    func call() { self.wake.signal() }

    /// Ends a read transaction that the standby keeps open on the state before the engine's commit. Called before a
    /// checkpoint; waits at most `yieldSeconds`.
    func yieldSnapshot() {
        guard self.isPinned.value else { return }
        self.wake.signal()
        if self.isPinned.lock(whenValue: false, timeoutSeconds: Self.yieldSeconds) { self.isPinned.unlock() }
    }

    private func run(_ context: Context) {
        let worker = StandbyWorker(self, context)
        while true {
            self.wake.wait()
            var watched: UInt64?
            while !self.isStopped.withLockedValue({ $0 }), let turn = self.mailbox.withLockedValue({ $0.watch() }) {
                if turn == watched, !context.isBehind() { worker.serve(turn) } else { worker.rest() }
                watched = turn
                _ = self.wake.wait(timeout: .now() + Self.patience)
            }
            worker.close()
            if self.isStopped.withLockedValue({ $0 }) { return }
        }
    }

    // MARK: For the worker

    func setPinned(_ isPinned: Bool) {
        self.isPinned.lock()
        self.isPinned.unlock(withValue: isPinned)
    }

    func countAnswer() { self.answers.increment() }

    /// Returns an input to the engine, which then answers it.
    func giveBack(_ input: EngineInput) {
        if self.mailbox.withLockedValue({ $0.append(CollectionOfOne(input)) }) { self.engineWake.signal() }
    }

    /// Returns whether a large read may begin, and counts it if so. There may be one for each connection, and no more
    /// than there are threads.
    func takeLargeRead(_ id: ConnectionID) -> Bool {
        self.largeReads.withLockedValue { $0.count < Limits.transferThreads && $0.insert(id).inserted }
    }

    func endLargeRead(_ id: ConnectionID) {
        self.largeReads.withLockedValue { _ = $0.remove(id) }
    }

    /// Reads a large result on another thread. Delivers it if the engine has delivered every revision that it shows;
    /// otherwise the engine answers. Called after `takeLargeRead`; calls `endLargeRead`.
    func begin(
        _ read: BackgroundRead,
        _ reader: StoreReader,
        _ input: EngineInput,
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ context: Context
    ) {
        context.readers.submit { state in
            defer { self.endLargeRead(id) }
            guard case .active = state else { return }
            ThreadPriority.lower()
            let watch = ReadDeadline(for: context.readTransaction) { context.stopSignal.isRaised }
            let hand = { @Sendable (reply: EngineReply, revision: Revision, share: AnswerShare) in
                let isHandedOut = context.share.handOut(
                    to: id,
                    if: { $0.head >= revision && $0.modelHash == reader.modelHash }
                ) {
                    context.deliver([.reply(id, requestID: requestID, reply)], share)
                }
                if isHandedOut { self.countAnswer() } else { self.giveBack(input) }
            }
            switch read.run(reader, memory: context.memory, watch: watch) {
            case .success(let rows): hand(rows.reply, rows.revision, rows.share)
            case .failure(let error):
                // A failure has no revision, but may show a commit: that an object is not there.
                context.whenDurable { failure in
                    guard failure == nil else { return }
                    hand(.failure(error), Revision(0), context.memory.share())
                }
            }
        }
    }
}
