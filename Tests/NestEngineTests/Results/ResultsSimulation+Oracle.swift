import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol

/// Compares the states of all clients with the naive results.
extension ResultsSimulation {
    static func brief(_ held: [ResultsSection], _ expected: [ResultsSection]) -> String {
        func text(_ sections: [ResultsSection]) -> String {
            sections.map { "\($0.key): \($0.rows.map(\.id.rawValue))" }.joined(separator: ", ")
        }
        let values = zip(held.flatMap(\.rows), expected.flatMap(\.rows)).first { $0 != $1 }.map { "\($0) not \($1)" }
        return "\(text(held)) for \(text(expected)), \(values ?? "")"
    }

    /// Returns the expected sections of a subscription and the position of its window.
    func expected(
        _ request: ObjectFetchRequest,
        _ anchor: ObjectID?,
        _ naive: NaiveResults
    ) -> (sections: [ResultsSection], position: WindowPosition?, totals: [AttributeValue]) {
        let asked = self.asked[request]!
        let whole = naive.sections(asked, request.projection)
        let totals = naive.totals(asked)
        guard let window = request.window else { return (whole, nil, totals) }
        let shown = NaiveWindow(window, anchor: anchor, of: whole, isSectioned: request.section != nil)
        return (shown.sections, shown.position, totals)
    }

    /// `isAfterPositionTimer`: whether the positions of windows were sent just now.
    func compare(isAfterPositionTimer: Bool = false) throws {
        let naive = self.scene.naive
        try self.followers.check(self.store, naive, self.what)
        self.check.expectSound(self.past, naive, self.asked, self.what)
        for client in self.clients where !client.isBlocked {
            let subscriptions = client.subscriptions.sorted { $0.value.number < $1.value.number }
            for (request, subscription) in subscriptions {
                if subscription.view == nil, self.isWorkPending { continue }
                let state = try #require(subscription.state, "\(self.what): no state")
                try self.compare(client, request, subscription, state, isAfterPositionTimer: isAfterPositionTimer)
                #expect(state.revision >= client.acknowledged, "\(self.what): an answer arrived before its diff")
                // Fetches all rows or a window. A fetch is a turn whose other effects are lost, so there must be no
                // backlog.
                guard self.random.oneIn(4), !self.engine.hasBacklog else { continue }
                let asked = self.asked[request]!
                var fetch = request
                fetch.window = nil
                fetch = self.random.part(fetch, of: naive.order(asked))
                let found = try FetchCheck.fetch(fetch, self.engine, self.store.reader, now: self.now)
                let whole = naive.sections(asked, request.projection)
                FetchCheck.expect(found, fetch, asked, whole, naive, "\(self.what): a fetch of \(fetch)")
            }
        }
    }

    private func compare(
        _ client: SimulatedClient,
        _ request: ObjectFetchRequest,
        _ subscription: SimulatedClient.Subscription,
        _ state: SectionedSnapshot,
        isAfterPositionTimer: Bool
    ) throws {
        let what = "\(self.what), \(client.connection) \(subscription.view ?? 0)"
        let asked = self.asked[request]!
        let anchor = state.window?.anchor
        let expected = self.expected(request, anchor, self.scene.naive)
        self.compared += 1
        #expect(state.projection == request.projection, "\(what): \(asked)")
        if self.isWorkPending, request.window == nil || !subscription.isPositionSent {
            // The subscription may lag. Then its state is the one of its revision.
            let past = try #require(self.past[state.revision], "\(what): at a revision that was not the end of a batch")
            let then = self.expected(request, anchor, past)
            if state.sections == then.sections, state.totals == then.totals {
                self.counts["lagging", default: 0] += state.sections == expected.sections ? 0 : 1
                return
            }
        }
        if state.sections != expected.sections {
            Issue.record("\(what): \(Self.brief(state.sections, expected.sections)) in \(asked)")
        }
        #expect(state.totals == expected.totals, "\(what): wrong totals in \(asked)")
        guard request.window != nil else {
            return #expect(state.window == nil, "\(what): a position without a window")
        }
        if request.window?.object != nil {
            let right = subscription.followed
            // A lagging subscription continues from the row that it followed, over several batches at once.
            if self.evaluationNanosecondsMax == Limits.evaluationNanosecondsMax {
                #expect(right.contains(anchor), "\(what): follows \(anchor as Any), not \(right), in \(asked)")
            }
            client.subscriptions[request]!.followed = [anchor]
        }
        if isAfterPositionTimer || subscription.isPositionSent {
            #expect(state.window == expected.position, "\(what): wrong position of the window in \(asked)")
            self.counts["positions", default: 0] += 1
        }
    }
}
