import Foundation
import NIOCore
import NestModel
import NestOverlay
import NestProtocol

/// Drives the pending writes and the views of an optimistic client. It runs on the event loop of its `ClientCore`, which
/// hands it what arrives, in order. It shows what there is to show when everything has been handled that was read at
/// once.
actor OptimisticCore {
    /// The writes that are under way at once. The others keep their order, and are not sent to a store with another
    /// history.
    private static let sentMax = 16
    /// The pause before a write is sent again that the server could not carry out now.
    private static let retryPause = TimeAmount.milliseconds(200)

    /// A request that a program follows.
    private struct Followed {
        let subscriber: SubscriberID
        let queue: ResultsQueue
        /// The indexes of the values that the program asked for; `nil`: all of them, in this order.
        let kept: [Int]?
        let projection: [PropertyNumber]
        let continuation: AsyncThrowingStream<OptimisticState, any Error>.Continuation
        var isCurrent = false
        var hasState = false
        var wasCurrent = false
    }

    nonisolated let eventLoop: any EventLoop
    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated let stock: ReservedIDStock
    private unowned let core: ClientCore
    private var views: OptimisticViews
    private var followed: [OptimisticViews.ID: Followed] = [:]
    private var handles: [PendingWrites.ID: PendingWrite] = [:]
    private var tokens: [RequestToken: PendingWrites.ID] = [:]
    private var nextView: UInt64 = 1
    /// The history that the views, the ids in stock and the pending writes belong to.
    private var history: Identifier128?
    private var isPausing = false
    private var isPublishDue = false

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

    var isStockEmpty: Bool { self.stock.isEmpty }

    var pendingWrites: [PendingWrite] { self.views.pending.writes.compactMap { self.handles[$0.id] } }

    // MARK: The program

    func add(_ write: PendingWrite) {
        guard self.views.pending.writes.count < Limits.clientRequestsWaitingMax else {
            let message = "\(Limits.clientRequestsWaitingMax) writes are pending"
            return write.finish(.refused, .failure(NestError(.limitExceeded, message)))
        }
        let time = Int64(Date().timeIntervalSince1970 * 1_000_000)
        let id = self.views.pending.add(UnconfirmedTransaction(write.transaction.mutations, time: time))
        self.handles[id] = write
        self.send()
        self.publish()
    }

    func follow(
        _ request: ObjectFetchRequest,
        _ continuation: AsyncThrowingStream<OptimisticState, any Error>.Continuation
    ) -> OptimisticViews.ID {
        let id = OptimisticViews.ID(self.nextView)
        self.nextView += 1
        let model = self.views.model
        let asked = request.spelledOut(in: model)
        let wide = asked.widened(in: model)
        let projection = asked.canonical(in: model).projection
        let known = wide.canonical(in: model).projection
        let kept = projection == known ? nil : projection.compactMap { known.firstIndex(of: $0) }
        let (core, subscriber) = (self.core, self.core.assumeIsolated { $0.newSubscriber() })
        let queue = ResultsQueue(
            wide,
            verifiesDigest: false,
            onTaken: { byteCount in core.enqueue { $0.queuesChanged(by: -byteCount) } },
            onMismatch: { reason in core.enqueue { $0.restart(subscriber, reason: reason) } }
        )
        self.followed[id] = Followed(
            subscriber: subscriber,
            queue: queue,
            kept: kept,
            projection: projection,
            continuation: continuation
        )
        core.assumeIsolated { $0.subscribe(subscriber, queue, to: wide) }
        return id
    }

    func unfollow(_ id: OptimisticViews.ID) {
        guard let followed = self.followed.removeValue(forKey: id) else { return }
        followed.continuation.finish()
        self.views.removed(id)
        self.core.assumeIsolated { $0.unsubscribe(followed.subscriber) }
        self.publishSoon()
    }

    /// Begins to undo the newest write. Returns `nil` if it was not sent and is withdrawn; otherwise the session's
    /// newest write has to be undone, which is this one if it is pending.
    func beginUndo() -> (write: PendingWrites.ID?, Void)? {
        guard let newest = self.views.pending.writes.last(where: { !$0.isRetracted && $0.state != .parked }) else {
            return (nil, ())
        }
        if self.views.pending.withdraw(newest.id) != nil {
            let message = "it was undone before it was sent"
            self.handles.removeValue(forKey: newest.id)?.finish(.withdrawn, .failure(NestError(.cancelled, message)))
            self.publish()
            return nil
        }
        self.views.pending.retract(newest.id)
        self.publish()
        return (newest.id, ())
    }

    func endUndo(of write: PendingWrites.ID?, didUndo: Bool) {
        guard let write else { return }
        self.views.pending.undone(write, didUndo: didUndo)
        self.publish()
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
        self.refillStock()
        self.send()
    }

    func connectionLost() {
        self.views.pending.connectionLost()
        for token in self.tokens.keys { self.tokens[token].map { self.handles[$0]?.become(.queued) } }
    }

    private func historyChanged() {
        self.stock.clear()
        for id in self.followed.keys {
            self.followed[id]?.hasState = false
            self.followed[id]?.isCurrent = false
        }
        for id in self.views.historyChanged() {
            let message = "the store has another history: it was not carried out, or that is not known"
            self.handles.removeValue(forKey: id)?.finish(.parked, .failure(NestError(.outcomeUnknown, message)))
            self.views.pending.discard(id)
        }
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
    }

    /// Handles the answer to a request. Returns whether it is one of the optimistic client's.
    func finished(_ token: RequestToken, _ result: Result<Reply, NestError>) -> Bool {
        if token == self.asked {
            self.asked = nil
            self.reserved(result)
            return true
        }
        guard let id = self.tokens.removeValue(forKey: token) else { return false }
        switch result {
        case .success(.receipt(let receipt)): self.confirmed(id, receipt)
        case .success: self.refused(id, NestError(.protocolViolation, "the answer to a write is no receipt"))
        case .failure(let error): self.failed(id, error)
        }
        self.send()
        return true
    }

    private func confirmed(_ id: PendingWrites.ID, _ receipt: Receipt) {
        let handle = self.handles[id]
        self.views.pending.answered(id, revision: receipt.revision, isChanged: receipt.isChanged)
        // A caller that waits for the receipt sees the lists with the write.
        self.publish()
        handle?.finish(self.views.pending.isSettled(id) ? .settled : .committed, .success(receipt))
        self.forgetSettled()
    }

    private func failed(_ id: PendingWrites.ID, _ error: NestError) {
        switch error.code.retry {
        case .never: self.refused(id, error)
        case .unknownOutcome where error.code == .outcomeUnknown: self.refused(id, error, .parked)
        case .reconnect where error.code == .closed: self.refused(id, error)
        case .now, .later, .unknownOutcome, .reconnect:
            // With its key it is carried out once.
            self.views.pending.requeue(id)
            self.handles[id]?.become(.queued)
            self.pause()
        }
    }

    private func refused(_ id: PendingWrites.ID, _ error: NestError, _ state: PendingWrite.State = .refused) {
        _ = self.views.pending.refused(id)
        self.publish()
        self.handles.removeValue(forKey: id)?.finish(state, .failure(error))
    }

    private func reserved(_ result: Result<Reply, NestError>) {
        guard case .success(.answer(let answer)) = result, let ids = answer.message as? ReservedIDsMessage else {
            return self.stock.askingFailed()
        }
        self.stock.add((0..<Int64(ids.count)).map { ObjectID(ids.first.rawValue + $0) })
    }

    // MARK: Sending

    /// Sends waiting writes in their order.
    private func send() {
        guard !self.isPausing, case .ready = self.core.assumeIsolated({ $0.machine.phase }) else { return }
        for write in self.views.pending.writes {
            guard self.tokens.count < Self.sentMax else { return }
            guard write.state == .queued, let handle = self.handles[write.id], !self.tokens.values.contains(write.id)
            else { continue }
            let token = self.core.assumeIsolated { $0.newToken() }
            self.tokens[token] = write.id
            // Requests are known by their tokens, which stay the same when they are sent again.
            self.views.pending.sent(write.id, request: token.rawValue)
            handle.become(.sent)
            let request = OutgoingRequest(
                owner: .caller(token),
                kind: .write,
                TransactionMessage(handle.transaction)
            )
            self.core.assumeIsolated { core in core.perform(core.machine.submit(request)) }
        }
    }

    private func pause() {
        guard !self.isPausing else { return }
        self.isPausing = true
        _ = self.eventLoop.scheduleTask(in: Self.retryPause) {
            self.assumeIsolated { core in
                core.isPausing = false
                core.send()
            }
        }
    }

    // MARK: Showing

    /// Shows what has changed, once everything is handled that was read at once.
    private func publishSoon() {
        guard !self.isPublishDue else { return }
        self.isPublishDue = true
        self.enqueue { core in
            core.isPublishDue = false
            core.publish()
        }
    }

    private func publish() {
        self.takeStates()
        let (shown, settled) = self.views.publish()
        // A program that sees the state finds its writes settled.
        for id in settled { self.handles[id]?.become(.settled) }
        for (id, view) in shown { self.show(view, id) }
        let ids = Set(shown.map(\.id))
        for (id, followed) in self.followed where followed.isCurrent != followed.wasCurrent && !ids.contains(id) {
            if let view = self.views.shown(id) { self.show(view, id) }
        }
        self.forgetSettled()
    }

    /// Forgets the settled writes that were answered.
    private func forgetSettled() {
        for (id, handle) in self.handles where handle.isAnswered && self.views.pending.isSettled(id) {
            self.handles[id] = nil
        }
    }

    /// Takes what has arrived for each list.
    private func takeStates() {
        for id in self.followed.keys.sorted() {
            guard let queue = self.followed[id]?.queue else { continue }
            let (changes, end) = queue.takeAll()
            for change in changes { self.note(change, id) }
            if !changes.isEmpty, self.followed[id]?.hasState == true {
                self.views.took(id, OverlayView(request: queue.request, state: queue.state))
            }
            if let end {
                self.followed.removeValue(forKey: id)?.continuation.finish(throwing: end)
                self.views.removed(id)
            }
        }
    }

    private func note(_ change: FetchedResultsChange, _ id: OptimisticViews.ID) {
        switch change {
        case .snapshot:
            self.followed[id]?.hasState = true
            self.followed[id]?.isCurrent = true
        case .diff, .resumed, .progress, .position, .totals: self.followed[id]?.isCurrent = true
        case .disconnected: self.followed[id]?.isCurrent = false
        case .reset, .paused:
            self.followed[id]?.isCurrent = false
            self.views.stopped(id)
        }
    }

    private func show(_ view: OverlaidView, _ id: OptimisticViews.ID) {
        guard let followed = self.followed[id] else { return }
        var snapshot = view.state
        if let kept = followed.kept {
            snapshot.projection = followed.projection
            for section in snapshot.sections.indices {
                for row in snapshot.sections[section].rows.indices {
                    let values = snapshot.sections[section].rows[row].values
                    snapshot.sections[section].rows[row].values = kept.map { values[$0] }
                }
            }
        }
        self.followed[id]?.wasCurrent = followed.isCurrent
        followed.continuation.yield(
            OptimisticState(
                snapshot: snapshot,
                pending: view.pending,
                undecided: view.undecided.count + view.doubts,
                isCurrent: followed.isCurrent
            )
        )
    }
}
