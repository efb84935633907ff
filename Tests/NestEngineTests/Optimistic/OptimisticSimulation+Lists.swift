import NestEngine
import NestModel
import NestOverlay
import NestTestSupport

/// What clients follow, and connections that are lost.
extension OptimisticSimulation {
    func subscribe(_ client: OptimisticClient) throws {
        guard client.client.subscriptions.count < 6, let request = self.request() else { return }
        guard client.client.subscriptions[request] == nil else { return }
        try self.perform([client.client.subscribe(request)])
    }

    /// Makes a request in the form in which it is subscribed.
    private func request() -> ObjectFetchRequest? {
        let isOutline = self.random.oneIn(3)
        guard var asked = isOutline ? self.random.outline(self.scene) : self.random.request(self.scene) else {
            return nil
        }
        asked.totals = []
        if asked.outline == nil, self.random.oneIn(3) {
            asked.window = self.random.window(self.scene.naive.order(asked))
        } else if asked.outline != nil {
            asked.window = self.window(of: asked)
        }
        return self.record(asked)
    }

    private func window(of asked: ObjectFetchRequest) -> FetchWindow {
        guard let outline = asked.outline else { return self.random.window(self.scene.naive.order(asked)) }
        let rows = self.scene.naive.shown(asked, NaiveFolds(outline)).rows.map(\.id)
        return self.random.oneIn(2) ? .range(offset: 0, limit: 1_000) : self.random.outlineWindow(rows)
    }

    private func record(_ asked: ObjectFetchRequest) -> ObjectFetchRequest {
        var asked = asked
        let request = asked.canonical(in: self.model).widened(in: self.model).canonical(in: self.model)
        asked.projection = request.projection
        self.asked[request] = asked
        return request
    }

    /// Asks for other rows of a list or an outline, or for another list in its place.
    func change(_ client: OptimisticClient) throws {
        let found = client.client.subscriptions.filter { $0.value.view != nil }
            .min { ($0.value.number + self.step) % 7 < ($1.value.number + self.step) % 7 }
        guard let old = found?.key, let asked = self.asked[old] else { return }
        var new = asked
        if asked.outline != nil {
            new.window = self.window(of: asked)
            new.outline = FetchOutline(.asBefore)
        } else if asked.window != nil {
            new.window = self.window(of: asked)
        } else {
            guard let other = self.request(), other.outline == nil else { return }
            new = self.asked[other]!
        }
        let request = self.record(new)
        if request != old, let input = client.change(old, to: request) { try self.perform([input]) }
    }

    /// Folds or unfolds rows of an outline.
    func fold(_ client: OptimisticClient) throws {
        let outlines = client.client.subscriptions.filter { $0.key.outline != nil && $0.value.view != nil }
        let found = outlines.sorted { $0.value.number < $1.value.number }.randomElement(using: &self.random)
        guard let (request, subscription) = found, let rows = subscription.state?.sections.flatMap(\.rows),
            let expansion = client.folds[client.number(of: request)]?.expansion,
            expansion == .all || expansion == .none,
            let row = rows.randomElement(using: &self.random)
        else { return }
        let exceptions = client.folds[client.number(of: request)]!.exceptions
        // It changes something.
        let isExpanded = (expansion == .all) == exceptions.contains(row.id)
        let states = [ExpandedState(row.id, isExpanded: isExpanded)]
        if let input = client.fold(request, states, self.what) { try self.perform([input]) }
    }

    // MARK: Lost connections

    /// The connection is lost after a part of what the server has sent.
    func cut(_ client: OptimisticClient) throws {
        if client.client.isBlocked { return }
        try self.perform(client.send(self.random.below(4)), slow: client)
        client.connectionLost()
        try self.perform([.disconnected(client.client.connection)])
        if self.random.oneIn(2) { try self.writeOfAnother() }
        try self.reconnect(client)
        self.counts["cuts", default: 0] += 1
    }

    func reconnect(_ client: OptimisticClient) throws {
        let greeting = client.client.connect(as: self.newConnection())
        let (writes, lists) = (client.resendUndos() + client.send(100), client.client.resumeAll())
        if self.random.oneIn(2) {
            try self.perform([greeting] + writes + lists)
        } else {
            // The lists come before the answers to the writes: nothing is shown in between.
            try self.perform([greeting] + lists)
            if self.random.oneIn(2) { try self.writeOfAnother() }
            try self.perform(writes)
        }
    }
}
