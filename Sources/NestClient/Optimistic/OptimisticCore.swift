import Foundation
import NIOCore
import NestModel
import NestOverlay
import NestProtocol

/// Drives the pending writes and the views of an optimistic client. It runs on the event loop of its `ClientCore`,
/// which hands it what arrives, in order. It shows what there is to show when everything has been handled that was read
/// at once.
actor OptimisticCore {
    /// The writes that are under way at once. The others keep their order, and are not sent to a store with another
    /// history.
    private static let sentMax = 16
    /// The pause before a write is sent again that the server could not carry out now.
    private static let retryPause = TimeAmount.milliseconds(200)
    /// How often a write or an undo is sent of which the server cannot say what became.
    static let failuresMax = 10
    /// How long lists wait after a reconnection for the answers that were lost.
    static let repetitionMax = TimeAmount.seconds(2)

    nonisolated let eventLoop: any EventLoop
    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated let stock: ReservedIDStock
    unowned let core: ClientCore
    var views: OptimisticViews
    var followed: [OptimisticViews.ID: FollowedList] = [:]
    var handles: [PendingWrites.ID: PendingWrite] = [:]
    private var tokens: [RequestToken: PendingWrites.ID] = [:]
    /// The undos and redos that wait or are under way.
    var undos: [PendingUndo.ID: QueuedUndo] = [:]
    /// Those under way.
    var undoTokens: [RequestToken: PendingUndo.ID] = [:]
    /// The last refused writes: others may be refused because of them.
    private var refusedWrites: [PendingWrites.ID: PendingWrite] = [:]
    private var nextView: UInt64 = 1
    /// The history that the views, the ids in stock and the pending writes belong to.
    private(set) var history: Identifier128?
    private var isPausing = false
    /// Whether a write is repeated that could not be carried out: until it is, they are sent one by one.
    private var isCareful = false
    /// The answers whose writes are not shown as answered yet.
    var answered: [(id: PendingWrites.ID, result: Result<Receipt, NestError>)] = []
    /// Why the client is closed.
    private(set) var closure: NestError?
    var isPublishDue = false
    var undone = UndoneWrites()
    /// When lists stop to wait for the answers to repeated writes; `nil`: none is repeated.
    var waitsUntil: NIODeadline?

    init(_ core: ClientCore, _ model: ManagedObjectModel, _ stock: ReservedIDStock) {
        self.core = core
        self.eventLoop = core.eventLoop
        self.unownedExecutor = core.unownedExecutor
        self.stock = stock
        self.views = OptimisticViews(model: model)
        self.history = core.assumeIsolated { $0.machine.welcome?.historyID }
    }

    nonisolated func enqueue(_ body: @escaping @Sendable (isolated OptimisticCore) -> Void) {
        self.eventLoop.execute { self.assumeIsolated { body($0) } }
    }

    /// Keeps the client's core, which this one does not own, until `body` has run.
    func enqueueWithCore(_ body: @escaping @Sendable (isolated OptimisticCore) -> Void) {
        self.eventLoop.execute { [core = self.core] in
            core.assumeIsolated { _ in self.assumeIsolated { body($0) } }
        }
    }

    var isStockEmpty: Bool { self.stock.isEmpty }

    var pendingWrites: [PendingWrite] { self.views.pending.writes.compactMap { self.handles[$0.id] } }

    // MARK: The program

    /// `refused`: a write in whose place it comes. `isRedone`: it is not a new one.
    func add(_ write: PendingWrite, insteadOf refused: PendingWrite? = nil, isRedone: Bool = false) {
        if let closure { return write.finish(.refused, .failure(closure)) }
        if !isRedone { self.undone.clear() }
        guard self.views.pending.writes.count < Limits.clientRequestsWaitingMax else {
            let message = "\(Limits.clientRequestsWaitingMax) writes are pending"
            return write.finish(.refused, .failure(NestError(.limitExceeded, message)))
        }
        let time = Int64(Date().timeIntervalSince1970 * 1_000_000)
        let transaction = UnconfirmedTransaction(write.transaction.mutations, time: time)
        let place = refused?.place
        let id = self.views.pending.add(
            transaction,
            isOpen: write.state == .open,
            place: place,
            coalescing: write.transaction.coalescing?.key
        )
        write.place = place ?? id
        self.handles[id] = write
        self.send()
        self.publishSoon()
    }

    private func id(of write: PendingWrite) -> PendingWrites.ID? { self.handles.first { $0.value === write }?.key }

    /// A group has more steps.
    func grew(_ write: PendingWrite) {
        guard let id = self.id(of: write), let old = self.views.pending[id]?.transaction else { return }
        self.views.pending.replace(id, with: UnconfirmedTransaction(write.transaction.mutations, time: old.time))
        self.publishSoon()
    }

    /// A group has ended.
    func end(_ write: PendingWrite) {
        guard let id = self.id(of: write), self.views.pending[id]?.state == .open else { return }
        // With the last steps, which another task may have added.
        self.grew(write)
        self.views.pending.close(id)
        self.send()
    }

    /// A group was given up: nothing of it was sent.
    func cancel(_ write: PendingWrite) {
        guard let id = self.id(of: write), self.views.pending.withdraw(id) != nil else { return }
        self.handles[id] = nil
        write.finish(.withdrawn, .failure(NestError(.cancelled, "its group was given up")))
        self.send()
        self.publishSoon()
    }

    func follow(
        _ request: ObjectFetchRequest,
        _ continuation: AsyncThrowingStream<OptimisticState, any Error>.Continuation
    ) async -> (id: OptimisticViews.ID, results: ResultsSubscription) {
        let id = OptimisticViews.ID(self.nextView)
        self.nextView += 1
        let model = self.views.model
        let asked = request.spelledOut(in: model)
        let wide = asked.widened(in: model)
        let projection = asked.canonical(in: model).projection
        let known = wide.canonical(in: model).projection
        let kept = projection == known ? nil : projection.compactMap { known.firstIndex(of: $0) }
        let core = self.core
        let subscriber = await core.newSubscriber()
        let queue = ResultsQueue(
            wide,
            verifiesDigest: false,
            onTaken: { byteCount in core.enqueue { $0.queuesChanged(by: -byteCount) } },
            onMismatch: { reason in core.enqueue { $0.restart(subscriber, reason: reason) } }
        )
        self.followed[id] = FollowedList(
            subscriber: subscriber,
            queue: queue,
            kept: kept,
            projection: projection,
            continuation: continuation
        )
        let cached = await core.cached(wide)
        await core.subscribe(subscriber, queue, to: wide, cached: cached)
        return (id, ResultsSubscription(queue: queue, core: core, subscriber: subscriber))
    }

    /// Fold states of an outline were asked for, or the server has answered them.
    func foldsChanged() { self.publishSoon() }

    func unfollow(_ id: OptimisticViews.ID) {
        guard let followed = self.followed.removeValue(forKey: id) else { return }
        followed.continuation.finish()
        self.views.removed(id)
        self.core.assumeIsolated { $0.unsubscribe(followed.subscriber) }
        self.publishSoon()
    }

    /// Reserves more ids if the stock is low.
    func refillStock() {
        guard case .ready = self.core.assumeIsolated({ $0.machine.phase }) else { return }
        let count = self.stock.wanted()
        guard count > 0 else { return }
        let token = self.core.assumeIsolated { $0.newToken() }
        self.asked = token
        self.core.assumeIsolated { core in
            let request = OutgoingRequest(owner: .caller(token), kind: .connection, query: ReserveIDs(count: count))
            core.perform(core.machine.submit(request))
        }
    }

    /// The request for more ids that is under way.
    private var asked: RequestToken?

    // MARK: The connection

    func connected() {
        let history = self.core.assumeIsolated { $0.machine.welcome?.historyID }
        if let old = self.history, history != old { self.historyChanged() }
        self.history = history
        // The machine sends these again.
        for (token, id) in self.tokens {
            self.views.pending.sent(id, request: token.rawValue)
            if case .sent = self.views.pending[id]?.state { self.handles[id]?.become(.sent) }
        }
        self.sendSoon()
    }

    func connectionLost() {
        self.views.pending.connectionLost()
        for (id, handle) in self.handles where self.views.pending[id]?.state == .doubtful {
            handle.noteDoubt()
            handle.become(.queued)
        }
    }

    /// The client is closed, or has given up. No request is sent any more.
    func closed(_ error: NestError) {
        guard self.closure == nil else { return }
        self.closure = error
        self.handOutAnswers()
        self.tokens = [:]
        for (id, handle) in self.handles {
            if self.views.pending[id] != nil { _ = self.views.pending.refused(id) }
            if !handle.isAnswered { handle.finish(.parked, .failure(error)) }
        }
        self.handles = [:]
        self.giveUpUndos(error)
    }

    private func historyChanged() {
        self.stock.clear()
        self.undone.clear()
        self.tokens = [:]
        for id in self.followed.keys {
            self.followed[id]?.hasState = false
            self.followed[id]?.isCurrent = false
        }
        let message = "the store has another history: it was not carried out, or that is not known"
        let error = NestError(.outcomeUnknown, message)
        self.park(self.views.historyChanged(), error)
        self.giveUpUndos(error)
        // The old history had the others. Some were not answered.
        self.handOutAnswers()
        for handle in self.handles.values {
            if handle.isAnswered { handle.become(.settled) } else { handle.finish(.parked, .failure(error)) }
        }
        self.handles = [:]
        self.refusedWrites = [:]
    }

    /// Gives writes back that are not sent any more.
    private func park(_ ids: [PendingWrites.ID], _ error: NestError) {
        for id in ids {
            self.views.pending.discard(id)
            self.handles.removeValue(forKey: id)?.finish(.parked, .failure(error))
        }
        self.endVainUndos(.failure(error))
        self.publishSoon()
    }

    /// The server has another model. Writes with the numbers of an old one that it does not extend are given back.
    func follow(_ model: ManagedObjectModel) {
        guard model != self.views.model else { return }
        if !model.extends(self.views.model) {
            self.undone.clear()
            self.park(self.views.pending.parkUnsent(), NamedRequest.otherModel)
        }
        self.views.model = model
    }

    /// An element has arrived for some lists.
    func arrived(_ element: SubscriptionElement?) {
        if case .progress(let revision)? = element { self.views.pending.progressed(to: revision) }
        self.publishSoon()
    }

    func named(_ revisions: [OwnRevision]) {
        for own in revisions {
            guard let id = self.tokens[own.request] else { continue }
            self.views.pending.named(own.request.rawValue, own.revision)
            self.handles[id]?.become(.committed)
        }
        if self.views.pending.sendableUndo != nil { self.sendSoon() }
    }

    /// Handles the answer to a request. Returns whether it is one of the optimistic client's.
    func finished(_ token: RequestToken, _ result: Result<Reply, NestError>) -> Bool {
        if token == self.asked {
            self.asked = nil
            self.reserved(result)
            return true
        }
        let undo = self.undoTokens.removeValue(forKey: token)
        let write = undo == nil ? self.tokens.removeValue(forKey: token) : nil
        guard undo != nil || write != nil else { return false }
        if case .success = result, self.tokens.isEmpty, self.undoTokens.isEmpty { self.isCareful = false }
        if let undo { self.ended(undo, result) }
        if let write { self.ended(write, result) }
        self.sendSoon()
        return true
    }

    private func ended(_ id: PendingWrites.ID, _ result: Result<Reply, NestError>) {
        switch result {
        case .success(.receipt(let receipt)): self.confirmed(id, receipt)
        case .success: self.refused(id, Self.noReceipt)
        case .failure(let error): self.failed(id, error)
        }
    }

    static let noReceipt = NestError(.protocolViolation, "the answer to a write is no receipt")

    private func confirmed(_ id: PendingWrites.ID, _ receipt: Receipt) {
        self.views.pending.answered(id, revision: receipt.revision, isChanged: receipt.isChanged)
        self.endVainUndos(.success(nil))
        // A caller that waits for the receipt sees the lists with the write.
        self.answered.append((id, .success(receipt)))
        self.publishSoon()
    }

    private func failed(_ id: PendingWrites.ID, _ error: NestError) {
        if error.code == .schemaChanged {
            // Its numbers are those of another model, and so are the numbers of those that wait.
            self.views.pending.requeue(id)
            return self.park(self.views.pending.parkUnsent(), error)
        }
        let isFailure = error.code.retry == .unknownOutcome
        let isTooOften = isFailure && self.views.pending[id].map { $0.failures + 1 >= Self.failuresMax } ?? false
        if error.code.isFinal || isTooOften {
            self.views.pending.park(id)
            return self.park([id], error)
        }
        // An earlier write is repeated, on which this one may depend.
        let isEarly = self.views.pending.hasQueued(before: id)
        if error.code.retry == .never, !isEarly { return self.refused(id, error) }
        // With its key it is carried out once.
        self.views.pending.requeue(id, isFailure: isFailure)
        if isFailure { self.handles[id]?.noteDoubt() }
        self.handles[id]?.become(.queued)
        self.pause()
    }

    private func refused(_ id: PendingWrites.ID, _ error: NestError) {
        let handle = self.handles[id]
        if error.code == .notFound {
            handle?.cause = self.views.pending.cause(of: id).flatMap { self.refusedWrites[$0] }
        }
        _ = self.views.pending.refused(id)
        self.refusedWrites[id] = handle
        self.refusedWrites = self.refusedWrites.filter { self.views.pending.isCause($0.key) }
        self.answered.append((id, .failure(error)))
        self.endVainUndos(.success(nil))
        self.publishSoon()
    }

    private func reserved(_ result: Result<Reply, NestError>) {
        guard case .success(.answer(let answer)) = result, let ids = answer.message as? ReservedIDsMessage else {
            return self.stock.askingFailed()
        }
        self.stock.add((0..<Int64(ids.count)).map { ObjectID(ids.first.rawValue + $0) })
    }

    // MARK: Sending

    /// Sends waiting undos and writes in their order. What an undo takes back is the newest entry now, also if an
    /// earlier write is to be repeated.
    func send() {
        guard case .ready = self.core.assumeIsolated({ $0.machine.phase }) else { return }
        repeat { while self.sendUndo() {} } while self.sendWrites()
    }

    /// Whether one more write or undo may be under way.
    var hasRoom: Bool {
        !self.isPausing && self.tokens.count + self.undoTokens.count < (self.isCareful ? 1 : Self.sentMax)
    }

    /// Returns whether it has sent some.
    private func sendWrites() -> Bool {
        var hasSent = false
        for write in self.views.pending.sendable where write.state == .queued {
            guard self.hasRoom else { break }
            guard let handle = self.handles[write.id], !self.tokens.values.contains(write.id) else { continue }
            guard !handle.isTooOld else {
                let message = "it was sent a day ago, and its answer was lost: it may have been carried out"
                self.failed(write.id, NestError(.outcomeUnknown, message))
                continue
            }
            let token = self.core.assumeIsolated { $0.newToken() }
            self.tokens[token] = write.id
            // Requests are known by their tokens, which stay the same when they are sent again.
            self.views.pending.sent(write.id, request: token.rawValue)
            handle.become(.sent)
            self.submit(TransactionMessage(handle.transaction), as: token)
            // Rows say that it is under way.
            self.publishSoon()
            hasSent = true
        }
        return hasSent
    }

    /// Hands a request to the machine, which sends it again after a lost connection. It may be answered before this
    /// returns.
    func submit(_ message: some Message, as token: RequestToken) {
        var request = OutgoingRequest(owner: .caller(token), kind: .write, message)
        request.history = self.history
        self.core.assumeIsolated { core in core.perform(core.machine.submit(request)) }
    }

    /// Sends once the machine's actions are done that are being performed: their frames have lower ids.
    private func sendSoon() {
        self.enqueueWithCore { optimistic in
            optimistic.refillStock()
            optimistic.send()
        }
    }

    func pause() {
        self.isCareful = true
        guard !self.isPausing else { return }
        self.isPausing = true
        // Keeps the client's core, which this one does not own, until then.
        _ = self.eventLoop.scheduleTask(in: Self.retryPause) { [core = self.core] in
            self.assumeIsolated { $0.isPausing = false }
            core.assumeIsolated { $0.optimistic?.assumeIsolated { $0.send() } }
        }
    }
}
