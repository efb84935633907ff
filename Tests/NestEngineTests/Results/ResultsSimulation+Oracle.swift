import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol

/// What everybody should hold.
extension ResultsSimulation {
    static func brief(_ held: [ResultsSection], _ expected: [ResultsSection]) -> String {
        func text(_ sections: [ResultsSection]) -> String {
            sections.map { "\($0.key): \($0.rows.map(\.id.rawValue))" }.joined(separator: ", ")
        }
        let values = zip(held.flatMap(\.rows), expected.flatMap(\.rows)).first { $0 != $1 }.map { "\($0) not \($1)" }
        return "\(text(held)) for \(text(expected)), \(values ?? "")"
    }

    /// The rows of a subscription, and where its window is.
    func expected(
        _ request: ObjectFetchRequest,
        _ anchor: ObjectID?,
        _ naive: NaiveResults
    ) -> (sections: [ResultsSection], position: WindowPosition?) {
        let asked = self.asked[request]!
        let whole = naive.sections(asked, request.projection)
        guard let window = request.window else { return (whole, nil) }
        let shown = NaiveWindow(window, anchor: anchor, of: whole, isSectioned: request.section != nil)
        return (shown.sections, shown.position)
    }

    /// `isPulsed`: windows have been told where they are, just now.
    func compare(isPulsed: Bool = false) throws {
        let naive = self.scene.naive
        try self.followers.check(self.store, naive, self.what)
        self.check.expectSound(naive, self.asked, self.what)
        for client in self.clients where !client.isBlocked {
            let subscriptions = client.subscriptions.sorted { $0.value.number < $1.value.number }
            for (request, subscription) in subscriptions {
                if subscription.view == nil, self.isOwing { continue }
                let state = try #require(subscription.state, "\(self.what): no state")
                try self.compare(client, request, subscription, state, isPulsed: isPulsed)
                #expect(state.revision >= client.acknowledged, "\(self.what): an answer overtook its diff")
                // Whole, or a window; not when that would be a turn whose effects nobody takes.
                guard self.random.oneIn(4), !self.engine.hasBacklog else { continue }
                let asked = self.asked[request]!
                var fetch = request
                fetch.window = nil
                fetch = self.random.part(fetch, of: naive.order(asked))
                let found = try FetchCheck.fetch(fetch, self.engine, self.store.reader, now: self.now)
                let whole = naive.sections(asked, request.projection)
                FetchCheck.expect(found, fetch, whole, naive, "\(self.what): a fetch of \(fetch)")
            }
        }
    }

    private func compare(
        _ client: SimulatedClient,
        _ request: ObjectFetchRequest,
        _ subscription: SimulatedClient.Subscription,
        _ state: SectionedSnapshot,
        isPulsed: Bool
    ) throws {
        let what = "\(self.what), \(client.connection) \(subscription.view ?? 0)"
        let asked = self.asked[request]!
        let anchor = state.window?.anchor
        let expected = self.expected(request, anchor, self.scene.naive)
        self.compared += 1
        #expect(state.projection == request.projection, "\(what): \(asked)")
        if self.isOwing, request.window == nil || !subscription.isPositionTold {
            // It may be behind, at what it said it was at last.
            let past = try #require(self.past[state.revision], "\(what): at a revision that was no batch's end")
            let then = self.expected(request, anchor, past)
            if state.sections == then.sections {
                self.counts["behind", default: 0] += state.sections == expected.sections ? 0 : 1
                return
            }
        }
        if state.sections != expected.sections {
            Issue.record("\(what): \(Self.brief(state.sections, expected.sections)) in \(asked)")
        }
        guard request.window != nil else {
            return #expect(state.window == nil, "\(what): a position without a window")
        }
        if request.window?.object != nil {
            let right = subscription.followed
            // One that lagged goes on from the row that it followed then, over several batches at once.
            if self.evaluationNanosecondsMax == Limits.evaluationNanosecondsMax {
                #expect(right.contains(anchor), "\(what): follows \(anchor as Any), not \(right), in \(asked)")
            }
            client.subscriptions[request]!.followed = [anchor]
        }
        if isPulsed || subscription.isPositionTold {
            #expect(state.window == expected.position, "\(what): where the window is, in \(asked)")
            self.counts["positions", default: 0] += 1
        }
    }
}
