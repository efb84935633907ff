import NestModel

/// What the subscriber of a result may ask for.
extension ClientCore {
    func change(_ subscriber: SubscriberID, to request: ObjectFetchRequest) async throws(NestError) -> Bool {
        let reply = try await self.request(timeout: self.configuration.requestTimeout) { machine, token in
            machine.change(subscriber, to: request, token)
        }
        if case .changed(let isNewest) = reply { return isNewest }
        return false
    }

    func edit(_ subscriber: SubscriberID, _ edit: OutlineEdit) async throws(NestError) -> Bool {
        let reply = try await self.request(timeout: self.configuration.requestTimeout) { machine, token in
            machine.edit(subscriber, edit, token)
        }
        if case .changed(let isNewest) = reply { return isNewest }
        return false
    }

    func currentRequest(_ subscriber: SubscriberID) -> ObjectFetchRequest? {
        self.machine.currentRequest(of: subscriber)
    }

    func askedFolds(_ subscriber: SubscriberID) -> OutlineFolds? { self.machine.askedFolds(of: subscriber) }

    func laterStates(_ subscriber: SubscriberID) -> [ExpandedState] { self.machine.laterStates(of: subscriber) }

    func setExpanded(_ subscriber: SubscriberID, _ states: [ExpandedState]) async throws(NestError) {
        defer { self.foldsChanged() }
        _ = try await self.request(timeout: self.configuration.requestTimeout) { machine, token in
            self.foldsChanged()
            return machine.setExpanded(subscriber, states, token)
        }
    }

    /// What is shown with pending writes depends on fold states that were asked for, before and after the answer.
    private func foldsChanged() { self.optimistic?.assumeIsolated { $0.foldsChanged() } }

    func pause(_ subscriber: SubscriberID) { self.perform(self.machine.pause(subscriber)) }

    func resume(_ subscriber: SubscriberID) { self.perform(self.machine.resume(subscriber)) }

    func restart(_ subscriber: SubscriberID, reason: String) {
        self.perform(self.machine.restart(subscriber, reason: reason))
    }
}
