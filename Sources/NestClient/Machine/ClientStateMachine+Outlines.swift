import NestModel
import NestProtocol

/// Outlines: their fold states, and what is shown of them. Each has a view of its own.
///
/// At most one RESUBSCRIBE or SET_EXPANDED of an outline is under way. Meanwhile edits are merged, and fold states
/// wait: none is lost, even with the connection.
extension ClientStateMachine {
    /// Changes what a subscriber's outline shows.
    package mutating func edit(_ subscriber: SubscriberID, _ edit: OutlineEdit, _ token: RequestToken)
        -> [ClientAction]
    {
        let found = self.outline(of: subscriber, .resubscribe)
        guard case .success(let id) = found, let subscription = self.subscriptions[id] else { return found.fail(token) }
        if edit.outline?.expansion == .asBefore { return [.fail(token, OutlineFolds.asBefore)] }
        var request = subscription.request
        edit.apply(to: &request)
        let message = OutgoingRequest(owner: .noCaller, kind: .connection, Subscribe(request))
        if let error = self.sizeError(message) { return [.fail(token, error)] }
        // Fold states that were set before go first: the edit may be refused.
        if edit.outline != nil { self.subscriptions[id]?.setFolds(waitForEdit: false) }
        var change =
            self.waitingChanges[subscriber]
            ?? SubscriptionChange(subscriber: subscriber, request: subscription.request, token: nil)
        let superseded = change.append([PendingEdit(edit: edit, token: token)])
        self.waitingChanges[subscriber] = change
        return superseded.map { .succeed($0, .changed(isNewest: false)) } + self.settle(id) + self.flush()
    }

    /// Folds and unfolds objects of a subscriber's outline.
    package mutating func setExpanded(_ subscriber: SubscriberID, _ states: [ExpandedState], _ token: RequestToken)
        -> [ClientAction]
    {
        let found = self.outline(of: subscriber, .setExpanded)
        guard case .success(let id) = found else { return found.fail(token) }
        guard !states.isEmpty else { return [.succeed(token, .changed(isNewest: true))] }
        guard states.count <= Limits.outlineExceptionsMax else {
            let message = "at most \(Limits.outlineExceptionsMax) objects can be folded or unfolded at once"
            return [.fail(token, NestError(.limitExceeded, message))]
        }
        let view = self.subscriptions[id]?.view ?? Limits.viewIDMin
        let message = OutgoingRequest(
            owner: .noCaller,
            kind: .connection,
            SetExpanded(view: view, states: states)
        )
        if let error = self.sizeError(message) { return [.fail(token, error)] }
        var folds = PendingFolds(states: states, token: token)
        folds.waitsForEdit = self.waitingChanges[subscriber]?.replacesFolds == true
        self.subscriptions[id]?.waitingFolds.append(folds)
        return self.settle(id) + self.flush()
    }

    private func outline(of subscriber: SubscriberID, _ type: MessageType) -> Result<SubscriptionID, NestError> {
        if case .closed(let error) = self.phase { return .failure(error) }
        if let error = self.modelError(type) { return .failure(error) }
        guard let id = self.subscriptionOfSubscriber[subscriber], let subscription = self.subscriptions[id] else {
            return .failure(Self.subscriptionEnded)
        }
        guard subscription.folds != nil else {
            return .failure(NestError(.invalid, "the subscription is no outline"))
        }
        return .success(id)
    }

    // MARK: Sending

    /// Sends the next change of a settled outline. Fold states come first, because edits keep them; only those that
    /// were set after an edit with other fold states come after it.
    mutating func settleOutline(_ id: SubscriptionID, view: UInt32) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], subscription.foldsUnderWay == nil,
            let subscriber = subscription.subscribers.first
        else { return [] }
        let waiting = self.waitingChanges[subscriber]
        let replacesFolds = waiting?.replacesFolds == true
        let ready = subscription.waitingFolds.prefix { !replacesFolds || !$0.waitsForEdit }
        if !ready.isEmpty {
            let (calls, states) = PendingFolds.first(of: Array(ready))
            self.subscriptions[id]?.foldsUnderWay = Array(calls)
            self.subscriptions[id]?.waitingFolds.removeFirst(calls.count)
            let message = SetExpanded(view: view, states: states)
            let owner = OutgoingRequest.Owner.folds(id, view: view)
            _ = self.requests.submit(OutgoingRequest(owner: owner, kind: .connection, message))
        } else if var change = self.waitingChanges.removeValue(forKey: subscriber) {
            if change.isSplit, let rest = change.splitFirst() { self.waitingChanges[subscriber] = rest }
            if !change.edits.isEmpty { change.request = subscription.request }
            for pending in change.edits { pending.edit.apply(to: &change.request) }
            if self.waitingChanges[subscriber]?.replacesFolds != true {
                self.subscriptions[id]?.setFolds(waitForEdit: false)
            }
            self.subscriptions[id]?.phase = .changing(view: view)
            self.subscriptions[id]?.change = change
            var request = change.request
            if !change.replacesFolds { request.outline = FetchOutline(.asBefore) }
            let owner = OutgoingRequest.Owner.change(id, view: view)
            let message = Resubscribe(view: view, request: request)
            _ = self.requests.submit(OutgoingRequest(owner: owner, kind: .connection, message))
        }
        return self.flush()
    }

    /// Prepares the SUBSCRIBE of an outline, which has all fold states. Those that the request cannot express, and
    /// those that may not have reached the server, are set after it.
    mutating func outlineRequest(_ id: SubscriptionID) -> ObjectFetchRequest? {
        guard let subscription = self.subscriptions[id], let folds = subscription.folds else { return nil }
        var waiting = (subscription.foldsUnderWay ?? []) + subscription.waitingFolds
        waiting.removeAll(where: \.isRestoring)
        let later = folds.laterStates
        if !later.isEmpty { waiting.insert(PendingFolds(states: later, token: nil, isRestoring: true), at: 0) }
        self.subscriptions[id]?.foldsUnderWay = nil
        self.subscriptions[id]?.waitingFolds = waiting
        var request = subscription.request
        request.outline = folds.outline
        return request
    }

    /// Returns the request of a subscriber's outline with its fold states.
    package func currentRequest(of subscriber: SubscriberID) -> ObjectFetchRequest? {
        guard let id = self.subscriptionOfSubscriber[subscriber], let subscription = self.subscriptions[id],
            let folds = subscription.folds
        else { return nil }
        var request = subscription.request
        request.outline = folds.outline
        return request
    }

    /// Returns the fold states that `currentRequest` cannot express.
    package func laterStates(of subscriber: SubscriberID) -> [ExpandedState] {
        self.subscriptionOfSubscriber[subscriber].flatMap { self.subscriptions[$0]?.folds?.laterStates } ?? []
    }

    /// Returns the fold states of a subscriber's outline, also those that the server has not confirmed.
    package func askedFolds(of subscriber: SubscriberID) -> OutlineFolds? {
        guard let id = self.subscriptionOfSubscriber[subscriber], let subscription = self.subscriptions[id],
            var folds = subscription.folds
        else { return nil }
        for call in (subscription.foldsUnderWay ?? []) + subscription.waitingFolds { folds.set(call.states) }
        return folds
    }

    // MARK: Answers

    /// Handles the answer to SET_EXPANDED; `nil`: DONE.
    mutating func answered(folds id: SubscriptionID, view: UInt32, _ error: NestError?) -> [ClientAction] {
        // Otherwise the states are set again, in another view.
        guard let subscription = self.subscriptions[id], let calls = subscription.foldsUnderWay,
            subscription.view == view
        else { return [] }
        self.subscriptions[id]?.foldsUnderWay = nil
        var recorded: [ClientAction] = []
        if let error {
            if calls.contains(where: \.isRestoring) {
                // The view cannot have the states that the subscriber has set.
                self.leave(view: view)
                return self.endSubscription(id, error) + self.flush()
            }
            if calls.count > 1 {
                // One of them may be refused for a reason that the others do not have.
                let alone = calls.map { call in
                    var call = call
                    (call.isAlone, call.waitsForEdit) = (true, false)
                    return call
                }
                self.subscriptions[id]?.waitingFolds.insert(contentsOf: alone, at: 0)
                return self.settle(id)
            }
        } else {
            let states = PendingFolds.first(of: calls).states
            self.subscriptions[id]?.folds?.set(states)
            // The cache has those that were set again.
            if !calls.contains(where: \.isRestoring) { recorded = self.recordFolds(id, KeptOutline.frame(states)) }
        }
        let actions = calls.compactMap(\.token).map { token -> ClientAction in
            error.map { .fail(token, $0) } ?? .succeed(token, .changed(isNewest: true))
        }
        return recorded + actions + self.settle(id)
    }

    /// Handles a refused SUBSCRIBE of an outline that has had a state: if the object in the middle of its window is
    /// gone, the window begins where it did.
    mutating func subscribeWithoutAnchor(_ id: SubscriptionID, _ error: NestError) -> [ClientAction]? {
        guard error.code == .notFound, let subscription = self.subscriptions[id], subscription.folds != nil,
            let window = subscription.windowWithoutAnchor, case .ready = self.phase
        else { return nil }
        var request = subscription.request
        request.window = window
        self.subscriptions[id]?.become(request)
        self.subscribe(id)
        return self.flush()
    }

    /// Handles refused edits that keep the window: if the object in its middle is not in the new outline, because a
    /// predicate hides it, the window begins where it did. Returns `nil` if that is not the reason.
    func withoutAnchor(_ change: SubscriptionChange, _ subscription: Subscription, _ error: NestError)
        -> SubscriptionChange?
    {
        guard error.code == .notFound, !change.edits.isEmpty, change.edits.allSatisfy({ $0.edit.window == nil }),
            let window = subscription.windowWithoutAnchor
        else { return nil }
        var retry = change
        retry.edits[retry.edits.count - 1].edit.window = window
        return retry
    }

    /// Fails the callers of fold states of an outline that ends.
    func dropFolds(of subscription: Subscription, _ error: NestError) -> [ClientAction] {
        ((subscription.foldsUnderWay ?? []) + subscription.waitingFolds).compactMap(\.token).map { .fail($0, error) }
    }

    /// Abandons an edit or fold states because their caller no longer waits.
    mutating func abandonOutlineChange(_ token: RequestToken) -> (wasSent: Bool, isKnown: Bool) {
        for (subscriber, change) in self.waitingChanges where change.edits.contains(where: { $0.token == token }) {
            self.waitingChanges[subscriber]?.edits.removeAll { $0.token == token }
            if self.waitingChanges[subscriber]?.edits.isEmpty == true { self.waitingChanges[subscriber] = nil }
            return (false, true)
        }
        for (id, subscription) in self.subscriptions {
            if subscription.waitingFolds.contains(where: { $0.token == token }) {
                self.subscriptions[id]?.waitingFolds.removeAll { $0.token == token }
                return (false, true)
            }
            if let index = subscription.foldsUnderWay?.firstIndex(where: { $0.token == token }) {
                self.subscriptions[id]?.foldsUnderWay?[index].token = nil
                return (true, true)
            }
            if let index = subscription.change?.edits.firstIndex(where: { $0.token == token }) {
                self.subscriptions[id]?.change?.edits[index].token = nil
                return (true, true)
            }
        }
        return (false, false)
    }
}

extension Result<SubscriptionID, NestError> {
    fileprivate func fail(_ token: RequestToken) -> [ClientAction] {
        if case .failure(let error) = self { [.fail(token, error)] } else { [] }
    }
}
