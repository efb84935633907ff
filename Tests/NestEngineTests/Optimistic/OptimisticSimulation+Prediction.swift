import NestModel
import NestOverlay
import NestStore
import NestTestSupport
import Testing

/// The second store.
extension OptimisticSimulation {
    /// Compares what clients show that are at the head with what the engine does with their pending writes.
    func predict() throws {
        for client in self.clients
        where !client.client.isBlocked && !client.views.pending.isArriving && !client.views.pending.isTakingBack {
            // Of what was sent the server may have some already.
            let pending = client.views.pending.writes.filter { write in
                if case .committed = write.state { false } else { !write.isRetracted }
            }
            let writes = pending.filter { !$0.isHopeless }
            guard client.isIdle, !writes.isEmpty, writes.allSatisfy({ [.queued, .open].contains($0.state) }) else {
                continue
            }
            let second = try SecondStore(copyOf: self.directory.path + "/nest.sqlite", self.model, now: self.now)
            let transactions = writes.map(\.transaction.mutations)
            // A refusal that the client could not foresee changes what comes after it.
            if let after = try second.results(of: transactions, by: client.client.session, self.what) {
                self.counts["predicted", default: 0] += 1
                self.compare(client, with: after, after: transactions)
            }
            try second.close()
        }
    }

    private func compare(_ client: OptimisticClient, with after: NaiveResults, after transactions: [[Mutation]]) {
        for (request, subscription) in client.client.subscriptions.sorted(by: { $0.value.number < $1.value.number }) {
            guard var asked = self.asked[request], var base = subscription.state,
                let shown = client.shown[client.number(of: request)]
            else { continue }
            asked.outline = client.asked(request, client.number(of: request)).outline
            // Positions of windows, and what is beyond their ends, arrive later.
            base.revision = self.store.head
            guard base == self.scene.naive.state(asked, request, at: self.store.head) else {
                self.counts["behind", default: 0] += 1
                continue
            }
            let check = PredictionCheck(
                base: OverlayView(request: client.asked(request, client.number(of: request)), state: base),
                laid: shown,
                expected: after.rows(asked, request)
            )
            if let fault = check.faults.first {
                Issue.record("\(self.what): \(fault) in \(request) after \(transactions.map { $0.map(\.brief) })")
            }
            self.counts["predicted views", default: 0] += 1
            if shown.isDecided, check.changesRows { self.counts["decided with other rows", default: 0] += 1 }
        }
    }
}
