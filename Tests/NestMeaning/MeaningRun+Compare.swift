import NestEngine
import NestModel
import NestProtocol
import NestSchema
import NestStore
import NestTestSupport

/// Compares what the clients hold with what another engine finds in the store.
extension MeaningRun {
    /// Drains all clients until every request is answered. Then compares what they hold with what another engine finds.
    func settleAndCompare() throws {
        for round in 0... {
            try MeaningFailure.unless(round < 10_000, "the engine has work left after \(round) rounds")
            var inputs: [EngineInput] = []
            for client in self.clients where client.isBlocked || client.awaitsDrain {
                (client.isBlocked, client.awaitsDrain) = (false, false)
                inputs.append(.drained(client.connection))
            }
            if inputs.isEmpty, !self.engine.hasBacklog { break }
            try self.perform(inputs)
        }
        for client in self.clients where !client.isEnded {
            try MeaningFailure.unless(client.asked.isEmpty, "\(client.asked.count) requests without an answer")
            for (view, held) in client.held.sorted(by: { $0.key < $1.key }) where self.random.oneIn(2) {
                try self.compare(view, held, client)
            }
        }
    }

    private func compare(_ view: UInt32, _ held: MeaningClient.Held, _ client: MeaningClient) throws {
        guard !held.isBlind else { return }
        guard let state = held.state else { throw MeaningFailure("view \(view) was never sent a state") }
        var request = held.request
        if case .around(_, let before, let after)? = request.window {
            guard let anchor = state.window?.anchor else {
                return try MeaningFailure.unless(state.rowCount == 0, "rows without an anchor: \(held.request)")
            }
            request.window = .around(anchor, before: before, after: after)
        }
        let other = try Engine(store: self.store)
        let id = ConnectionID(.max)
        var effects = other.perform(
            [
                .connected(id, session: Identifier128(high: 0, low: 0), scope: client.scope),
                .request(id, requestID: 1, .fetch(request, atLeast: Revision(0))),
            ],
            now: self.now
        )
        // A large result is read in the background.
        for case .read(let read) in effects {
            effects += other.perform([.read(read.id, read.run(self.store.reader))], now: self.now)
        }
        for case .reply(_, _, let reply) in effects {
            switch reply {
            case .snapshot(let header, let bodies, _):
                let found = try header.state(bodies.map(\.bytes), held.projection)
                self.compared += 1
                return try MeaningFailure.unless(
                    found.sections == state.sections,
                    "view \(view) holds \(state.sections), not \(found.sections), of \(request)"
                )
            case .failure(let error)
            where error.code == .notFound || held.hasResumed && error.code == .unknownProperty:
                // The owner is gone, so there are no rows. Or the client resumed while it could not see the owner,
                // whose entity does not have the relationship.
                return try MeaningFailure.unless(state.rowCount == 0, "rows without an owner: \(request): \(error)")
            default: throw MeaningFailure("a fetch of \(request) is answered by \(reply)")
            }
        }
        throw MeaningFailure("a fetch of \(request) is not answered")
    }
}

extension SectionedSnapshot {
    fileprivate var rowCount: Int { self.sections.reduce(0) { $0 + $1.rows.count } }
}
