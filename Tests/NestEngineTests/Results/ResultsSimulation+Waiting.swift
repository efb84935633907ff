import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// Requests that wait for their turn, and background reads.
extension ResultsSimulation {
    /// Whether clients may not have received everything yet.
    var isWorkPending: Bool { self.engine.hasBacklog || !self.reads.isEmpty || !self.outcomes.isEmpty }

    /// Returns the outcomes of background reads that arrive in a batch. The reads begin and end at random times.
    func arrivals() -> [EngineInput] {
        for _ in self.reads.indices where self.random.oneIn(2) {
            let read = self.reads.remove(at: self.random.below(self.reads.count))
            self.outcomes.append((read.id, read.run(self.store.reader)))
        }
        var arrivals: [EngineInput] = []
        for _ in self.outcomes.indices where self.random.oneIn(2) {
            let arrived = self.outcomes.remove(at: self.random.below(self.outcomes.count))
            arrivals.append(.read(arrived.id, arrived.outcome))
        }
        return arrivals
    }

    func noteReads(_ effects: [EngineEffect]) {
        for case .read(let read) in effects {
            self.reads.append(read)
            self.counts["background reads", default: 0] += 1
        }
        guard self.reads.isEmpty, self.outcomes.isEmpty else { return }
        let waiting = self.clients.filter { !$0.pendingSubscriptions.isEmpty && !$0.isBlocked }
        self.counts["waited for a turn", default: 0] += waiting.count
    }
}
