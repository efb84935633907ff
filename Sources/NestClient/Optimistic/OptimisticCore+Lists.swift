import NIOCore
import NestModel
import NestOverlay
import NestProtocol

/// What lists show.
extension OptimisticCore {
    /// Shows what has changed, once everything is handled that was read at once.
    func publishSoon() {
        guard !self.isPublishDue else { return }
        self.isPublishDue = true
        self.enqueueWithCore { optimistic in
            optimistic.isPublishDue = false
            optimistic.publish()
        }
    }

    /// Whether lists wait for no answers to repeated writes and to undos, or have waited long enough.
    private var isDoneWaiting: Bool {
        guard self.views.pending.isRepeating || self.views.pending.isTakingBack else {
            self.waitsUntil = nil
            return true
        }
        let now = NIODeadline.now()
        if self.waitsUntil == nil {
            self.waitsUntil = now + Self.repetitionMax
            self.publishAgain(in: Self.repetitionMax)
        }
        return self.waitsUntil.map { now >= $0 } ?? true
    }

    func publish() {
        self.takeStates()
        guard self.isDoneWaiting else { return }
        let (shown, settled) = self.views.publish(isForced: true)
        // A program that sees the state finds its writes settled.
        for id in settled { self.handles[id]?.become(.settled) }
        for (id, view) in shown { self.show(view, id) }
        let ids = Set(shown.map(\.id))
        for (id, followed) in self.followed where !ids.contains(id) {
            let isOther = followed.isCurrent != followed.wasCurrent || self.views.queued(id) != followed.wasQueued
            if isOther, let view = self.views.shown(id) { self.show(view, id) }
        }
        self.handOutAnswers()
        self.forgetSettled()
    }

    /// Finishes the writes that were answered.
    func handOutAnswers() {
        let answered = self.answered
        self.answered = []
        for (id, result) in answered {
            guard case .success = result else {
                self.handles.removeValue(forKey: id)?.finish(.refused, result)
                continue
            }
            self.handles[id]?.finish(self.views.pending.isSettled(id) ? .settled : .committed, result)
        }
    }

    /// Forgets the settled writes that were answered.
    func forgetSettled() {
        for (id, handle) in self.handles where handle.isAnswered && self.views.pending.isSettled(id) {
            self.handles[id] = nil
        }
    }

    /// Takes what has arrived for each list.
    private func takeStates() {
        for id in self.followed.keys.sorted() {
            guard var list = self.followed[id] else { continue }
            let (changes, end) = list.queue.takeAll()
            if changes.contains(where: { if case .snapshot = $0 { true } else { false } }) { list.hasState = true }
            list.isCurrent = list.queue.isCurrent
            let hasNewFolds = list.take(self.core.assumeIsolated { $0.askedFolds(list.subscriber) })
            if list.hasState, list.isHeld || !changes.isEmpty {
                let wasHeld = list.isHeld
                let isDue = list.isDue(after: changes, end: end, shown: self.views.shown(id))
                if isDue {
                    self.views.took(id, list.view)
                } else if !wasHeld {
                    self.publishAgain(in: FollowedList.heldMax)
                }
            }
            if list.hasState, hasNewFolds { self.views.folded(id, list.view) }
            switch changes.last {
            case .reset, .paused: self.views.stopped(id)
            default: break
            }
            self.followed[id] = list
            if let end {
                self.followed[id] = nil
                list.continuation.finish(throwing: end)
                self.views.removed(id)
                let subscriber = list.subscriber
                self.core.assumeIsolated { $0.enqueue { $0.unsubscribe(subscriber) } }
            }
        }
    }

    /// Shows states that are held back, once they have waited long enough.
    private func publishAgain(in pause: TimeAmount) {
        _ = self.eventLoop.scheduleTask(in: pause) { [weak core = self.core] in
            core?.assumeIsolated { $0.optimistic?.assumeIsolated { $0.publishSoon() } }
        }
    }

    private func show(_ view: OverlaidView, _ id: OptimisticViews.ID) {
        guard let list = self.followed[id] else { return }
        let queued = self.views.queued(id)
        self.followed[id]?.wasCurrent = list.isCurrent
        self.followed[id]?.wasQueued = queued
        list.continuation.yield(list.state(of: view, queued: queued))
    }
}
