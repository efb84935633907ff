import NestEngine
import NestModel
import NestTestSupport
import Testing

/// Changes of subscriptions, and lagging windows.
extension ResultsSimulation {
    /// Whether a subscription is refused: its owner does not exist, or the object of its window is not a row.
    func isRefused(_ asked: ObjectFetchRequest) -> Bool {
        if let owner = asked.source?.object, self.scene.naive.rows[owner] == nil { return true }
        return asked.window?.object.map { !self.scene.naive.order(asked).contains($0) } ?? false
    }

    func changeSomewhere() throws {
        if let change = self.change() { try self.perform([change]) }
    }

    func change() -> EngineInput? {
        let client = self.anyClient()
        let held = client.subscriptions.filter { $0.value.view != nil }.sorted { $0.value.number < $1.value.number }
        guard let old = held.randomElement(using: &self.random)?.key, var asked = self.asked[old] else { return nil }
        asked.window = client.named(old).window
        let kind = self.random.oneIn(2) ? .scroll : SeededRandom.Change.allCases.randomElement(using: &self.random)!
        if self.random.oneIn(12) {
            // A change that is refused, or to the request of another subscription.
            switch self.random.below(4) {
            case 0: asked.window = .around(self.anyObject(), before: 1, after: 1)
            case 1: asked.entity = EntityNumber(9_999)
            case 2: return client.request(.resubscribe(view: 4_000_000, old)).input
            default:
                let other = client.subscriptions.keys.filter { $0.window?.object == nil }.sorted { "\($0)" < "\($1)" }
                guard let other = other.randomElement(using: &self.random) else { return nil }
                asked = self.asked[other]!
            }
        } else if let changed = self.random.changed(asked, kind, self.scene) {
            asked = changed
        } else {
            return nil
        }
        asked = self.spelledOut(asked)
        let request = asked.canonical(in: self.model)
        // Two equal requests with a window around an object may be about to follow different objects.
        guard request == old || client.subscriptions[request] == nil || request.window?.object == nil else {
            return nil
        }
        let isHeld = client.subscriptions.keys.contains { $0 != old && client.named($0) == request }
        guard let input = client.change(old, to: request) else { return nil }
        self.asked[request] = self.asked[request] ?? asked
        let isLate = self.isWorkPending || self.backgroundReadRowsMin == 0
        self.check.changes[request] = (kind, client.isBlocked || isLate || isHeld)
        return input
    }

    private func anyObject() -> ObjectID {
        let ids = self.scene.naive.rows.keys.sorted()
        return self.random.oneIn(3) ? ObjectID(999_999) : ids.randomElement(using: &self.random) ?? ObjectID(999_999)
    }

    // MARK: A batch

    func startBatch() {
        for client in self.clients {
            for request in client.subscriptions.keys {
                client.subscriptions[request]!.isPositionSent = false
                client.subscriptions[request]!.isNew = false
            }
            client.claims = []
            client.changeAnswers = []
        }
    }

    /// Computes the objects that windows may follow after the batch.
    func endBatch(_ before: NaiveResults) {
        let after = self.scene.naive
        for client in self.clients {
            for (request, subscription) in client.subscriptions
            where subscription.view != nil && request.window?.object != nil {
                guard let asked = self.asked[request] else { continue }
                var followed = subscription.followed
                if subscription.isNew, let (anchor, revision) = subscription.resumed, let past = self.past[revision] {
                    followed = NaiveAnchor(request: asked, before: past, after: after).next([anchor])
                    let first = after.order(asked).first
                    if subscription.hasLostPosition, followed != [anchor], subscription.state?.window?.anchor == first {
                        followed = [first]
                        self.counts["begins at the first row", default: 0] += 1
                    }
                } else if !subscription.isNew, before !== after {
                    followed = NaiveAnchor(request: asked, before: before, after: after).next(followed)
                }
                client.subscriptions[request]!.followed = followed
                client.subscriptions[request]!.resumed = nil
            }
            for (old, new, reply) in client.changeAnswers { self.expectAnswer(client, old, new, reply) }
            self.expectClaims(client)
        }
    }

    private func expectAnswer(
        _ client: SimulatedClient,
        _ old: ObjectFetchRequest,
        _ new: ObjectFetchRequest,
        _ reply: EngineReply
    ) {
        let asked = self.asked[new]!
        let isRefused = self.model.entity(new.entity) == nil || self.isRefused(asked)
        switch reply {
        case .failure(let error):
            // An answer may have waited since the engine made it.
            if let change = self.check.changes[new], !change.isUncertain {
                #expect(isRefused, "\(self.what): the change from \(old) to \(asked) is refused: \(error)")
            }
            #expect(client.subscriptions[old] != nil, "\(self.what): a refused change ended the subscription")
            self.counts["refused change", default: 0] += 1
        case .subscribed(_, let first, let reason, _):
            self.counts["changed, \(first.word)", default: 0] += 1
            guard let (kind, isUncertain) = self.check.changes[new], !isUncertain else { break }
            // If the client already holds the state, the answer names the revision that the client holds.
            if case .current = first {
            } else {
                #expect(!isRefused, "\(self.what): the change from \(old) to \(asked) is not refused")
            }
            self.counts["\(kind), \(first.word)", default: 0] += 1
            // The subscription may have begun to lag in the same batch.
            if kind == .scroll, reason != "the subscription has not caught up" {
                #expect(first != .snapshot, "\(self.what): \(reason) from \(old) to \(asked)")
            }
        default:
            Issue.record("\(self.what): \(reply)")
        }
    }

    /// Checks that the states which clients held when the server reported a revision as sent are those at the end of
    /// the batch.
    private func expectClaims(_ client: SimulatedClient) {
        for (revision, states) in client.claims {
            for (request, state) in states {
                guard client.subscriptions[request] != nil else { continue }
                let expected = self.expected(request, state.window?.anchor, self.scene.naive)
                if state.sections != expected.sections {
                    let text = Self.brief(state.sections, expected.sections)
                    Issue.record("\(self.what): \(revision) is reported as sent too early: \(text) in \(request)")
                }
            }
        }
    }

    func runBacklog() throws {
        var turns = 0
        while self.isWorkPending {
            self.counts["backlog turns", default: 0] += 1
            turns += 1
            try #require(turns < 4_000, "\(self.what): the backlog does not end")
            try self.perform([])
        }
        for (client, connection, id) in self.pendingWrites where client.connection == connection && !client.isBlocked {
            #expect(client.replies[id] != nil, "\(self.what): a write is not answered")
        }
        self.pendingWrites.removeAll { $0.client.connection != $0.connection || !$0.client.isBlocked }
    }

    /// Usually brings all clients up to date after a step. Sometimes they still lag in the next step.
    func settle() throws {
        if self.isWorkPending, self.random.oneIn(3) { return try self.compare() }
        try self.runBacklog()
        try self.compare()
        if self.random.oneIn(3) {
            try self.perform([.positionTimer])
            try self.compare(isAfterPositionTimer: true)
        }
    }
}

extension FirstState {
    fileprivate var word: String {
        switch self {
        case .snapshot: "snapshot"
        case .difference: "difference"
        case .current: "current"
        case .alreadySubscribed: "already subscribed"
        }
    }
}
