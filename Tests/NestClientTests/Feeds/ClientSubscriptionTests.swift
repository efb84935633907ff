import NestClient
import NestModel
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    struct ClientSubscriptionTests {
        private static let view = Limits.viewIDMin + 9
        private static let laterView = Limits.viewIDMin

        @Test func aSubscriptionGetsASnapshotThenDiffsThenProgress() async throws {
            let first = Fixtures.state(3, [Fixtures.row(2, "a"), Fixtures.row(3, "b")])
            try await FakeServer.run { server in
                try await server.welcome(revision: 5)
                let (id, message) = try await server.expect(Subscribe.self)
                #expect(message.resume == nil)
                try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: id)
                try await server.sendSnapshot(first, id: Self.view)
                try await server.send(Progress(revision: Revision(6)))
                var state = first
                // The view last changed at revision 3. The client, whose state is exact at 6, accepts a diff from 3.
                try await server.send(
                    Fixtures.append(Fixtures.row(4, "c"), to: &state, at: 8, from: 3),
                    view: Self.view
                )
                try await server.send(Progress(revision: Revision(8)))
                let leave = try await server.expect(Unsubscribe.self)
                #expect(leave.message.view == Self.view)
                try await server.send(Done(), id: leave.id)
                #expect(try await server.next().type == MessageType.ping.rawValue)
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(Fixtures.request, verifyDigest: true) { results in
                        var changes = results.makeAsyncIterator()
                        #expect(try await changes.next() == .snapshot(.first))
                        #expect(results.state == first)
                        #expect(try await changes.next() == .progress(Revision(6)))
                        guard case .diff(let diff)? = try await changes.next() else {
                            Issue.record("no diff")
                            return
                        }
                        #expect(diff.from == Revision(6) && diff.to == Revision(8))
                        #expect(results.state.sections[0].rows.map(\.id.rawValue) == [2, 3, 4])
                        #expect(results.digest == results.state.digest)
                    }
                    // The ping ensures that UNSUBSCRIBE is sent before the connection closes.
                    _ = try? await client.ping()
                }
            }
        }

        /// A diff has the authors of the last AUTHORS whose revisions it spans.
        @Test func diffsHaveTheAuthorsThatPrecedeThem() async throws {
            @Sendable func author(_ revision: UInt64) -> RevisionAuthor {
                RevisionAuthor(revision: Revision(revision), sessionNumber: 2, user: UserLabel("u\(revision)"))
            }
            let first = Fixtures.state(3, [Fixtures.row(2, "a")])
            try await FakeServer.run { server in
                try await server.welcome(revision: 5)
                let (id, _) = try await server.expect(Subscribe.self)
                try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: id)
                try await server.sendSnapshot(first, id: Self.view)
                var state = first
                // Revision 4 is of an earlier batch, and revision 9 of a later one.
                try await server.send(Authors([author(6)]))
                try await server.send(Authors([author(3), author(7), author(8), author(9)]))
                try await server.send(
                    Fixtures.append(Fixtures.row(3, "b"), to: &state, at: 8, from: 3),
                    view: Self.view
                )
                try await server.send(
                    Fixtures.append(Fixtures.row(4, "c"), to: &state, at: 9, from: 8),
                    view: Self.view
                )
                let leave = try await server.expect(Unsubscribe.self)
                try await server.send(Done(), id: leave.id)
                _ = try await server.next()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(Fixtures.request) { results in
                        var authors: [[RevisionAuthor]] = []
                        for try await change in results {
                            if case .diff(let diff) = change { authors.append(diff.authors) }
                            if authors.count == 2 { break }
                        }
                        #expect(authors == [[author(7), author(8)], [author(9)]])
                    }
                    _ = try? await client.ping()
                }
            }
        }

        @Test func aSubscriptionResumesFromItsStateAfterALostConnection() async throws {
            let first = Fixtures.state(3, [Fixtures.row(2, "a")])
            // The server closes a connection only after the subscriber has seen all its events: unseen events may be
            // merged.
            let (seen, saw) = AsyncStream.makeStream(of: Void.self)
            try await FakeServer.run { server in
                try await server.welcome(history: 7, revision: 5)
                let (id, message) = try await server.expect(Subscribe.self)
                var state = first
                switch server.number {
                case 0:
                    try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: id)
                    try await server.sendSnapshot(first, id: Self.view)
                    try await server.send(Progress(revision: Revision(4)))
                case 1:
                    #expect(
                        message.resume == ResumePoint(historyID: Identifier128(high: 0, low: 7), revision: Revision(4))
                    )
                    try await server.send(Fixtures.subscribed(Self.laterView, .difference), id: id)
                    let diff = Fixtures.append(Fixtures.row(4, "c"), to: &state, at: 8, from: 4)
                    try await server.send(diff, view: Self.laterView)
                case 2:
                    #expect(message.resume?.revision == Revision(8))
                    try await server.send(Fixtures.subscribed(Self.laterView, .current(Revision(9))), id: id)
                default:
                    #expect(message.resume?.revision == Revision(9))
                    try await server.send(
                        Fixtures.subscribed(Self.laterView, .snapshot, reason: "too far behind"),
                        id: id
                    )
                    try await server.sendSnapshot(Fixtures.state(20, [Fixtures.row(9, "z")]), id: Self.laterView)
                    return await server.untilClosed()
                }
                for await _ in seen { break }
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(Fixtures.request, verifyDigest: true) { results in
                        var events: [String] = []
                        for try await change in results {
                            switch change {
                            case .snapshot: events.append("snapshot \(results.state.revision)")
                            case .diff(let diff): events.append("diff \(diff.from) \(diff.to)")
                            case .position: events.append("position")
                            case .totals: events.append("totals")
                            case .paused: events.append("paused")
                            case .progress(let revision): events.append("progress \(revision)")
                            case .reset(let reset): events.append("reset \(reset.message)")
                            case .disconnected: events.append("disconnected")
                            case .resumed(let revision): events.append("resumed \(revision)")
                            }
                            if ["progress 4", "diff 4 8", "resumed 9"].contains(events.last) { saw.yield() }
                            if events.last == "snapshot 20" { break }
                        }
                        #expect(
                            events == [
                                "snapshot 3", "progress 4", "disconnected", "resumed 4", "diff 4 8", "disconnected",
                                "resumed 9", "disconnected", "reset too far behind", "snapshot 20",
                            ]
                        )
                        #expect(results.state.sections[0].rows.map(\.id.rawValue) == [9])
                    }
                }
            }
        }

        /// The client detects a wrong digest and replaces the state by the snapshot of a new subscription.
        @Test func aWrongDigestRestartsTheSubscription() async throws {
            let first = Fixtures.state(3, [Fixtures.row(2, "a")])
            try await FakeServer.run { server in
                try await server.welcome()
                let id = try await server.expect(Subscribe.self).id
                try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: id)
                try await server.sendSnapshot(first, id: Self.view)
                var state = first
                var diff = Fixtures.append(Fixtures.row(4, "c"), to: &state, at: 4, from: 3)
                diff.digest ^= 1
                try await server.send(diff, view: Self.view)
                let leave = try await server.expect(Unsubscribe.self)
                try await server.send(Done(), id: leave.id)
                let (again, message) = try await server.expect(Subscribe.self)
                #expect(message.resume == nil)
                try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: again)
                try await server.sendSnapshot(state, id: Self.view)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(Fixtures.request, verifyDigest: true) { results in
                        var changes = results.makeAsyncIterator()
                        #expect(try await changes.next() == .snapshot(.first))
                        guard case .reset(let reset)? = try await changes.next() else {
                            Issue.record("no reset")
                            return
                        }
                        #expect(reset.cause == .mismatch)
                        #expect(try await changes.next() == .snapshot(.first))
                        #expect(results.state.revision == Revision(4))
                    }
                }
            }
        }

        @Test func aGapInTheRevisionsRestartsTheSubscription() async throws {
            let first = Fixtures.state(3, [Fixtures.row(2, "a")])
            try await FakeServer.run { server in
                try await server.welcome()
                let id = try await server.expect(Subscribe.self).id
                try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: id)
                try await server.sendSnapshot(first, id: Self.view)
                var state = first
                try await server.send(
                    Fixtures.append(Fixtures.row(4, "c"), to: &state, at: 8, from: 5),
                    view: Self.view
                )
                _ = try await server.expect(Unsubscribe.self)
                let again = try await server.expect(Subscribe.self).id
                try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: again)
                try await server.sendSnapshot(state, id: Self.view)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(Fixtures.request) { results in
                        var resets = 0
                        for try await change in results {
                            if case .reset = change { resets += 1 }
                            if results.state.revision == Revision(8) { break }
                        }
                        #expect(resets == 1)
                    }
                }
            }
        }

        /// A second subscriber of the same view begins with the state of the first, and both get the following frames.
        @Test(arguments: [Fixtures.request, Fixtures.requestTwice])
        func equalSubscriptionsShareFrames(_ second: ObjectFetchRequest) async throws {
            let first = Fixtures.state(3, [Fixtures.row(2, "a")])
            let isSpelledDifferently = second != Fixtures.request
            try await FakeServer.run { server in
                try await server.welcome()
                let id = try await server.expect(Subscribe.self).id
                try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: id)
                try await server.sendSnapshot(first, id: Self.view)
                if isSpelledDifferently {
                    let other = try await server.expect(Subscribe.self).id
                    try await server.send(Fixtures.subscribed(Self.view, .alreadySubscribed), id: other)
                    // One subscription is enough for both.
                    _ = try await server.expect(Unsubscribe.self)
                }
                let ping = try await server.expect(Ping.self).message
                try await server.send(Pong(payload: ping.payload))
                var state = first
                try await server.send(
                    Fixtures.append(Fixtures.row(4, "c"), to: &state, at: 4, from: 3),
                    view: Self.view
                )
                // One UNSUBSCRIBE after both subscribers have left.
                _ = try await server.expect(Unsubscribe.self)
                #expect(try await server.next().type == MessageType.ping.rawValue)
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(Fixtures.request) { a in
                        var changesOfA = a.makeAsyncIterator()
                        #expect(try await changesOfA.next() == .snapshot(.first))
                        try await client.withFetchedResults(second, verifyDigest: true) { b in
                            var changesOfB = b.makeAsyncIterator()
                            #expect(try await changesOfB.next() == .snapshot(.first))
                            #expect(b.state == a.state)
                            _ = try await client.ping()
                            _ = try await (changesOfA.next(), changesOfB.next())
                            #expect(a.state.total == 2 && a.state == b.state)
                        }
                    }
                    _ = try? await client.ping()
                }
            }
        }

        @Test func aSubscriptionEndedByTheServerThrowsItsError() async throws {
            let error = NestError(.schemaChanged, "the model has changed")
            await #expect(throws: error) {
                try await FakeServer.run { server in
                    try await server.welcome()
                    let id = try await server.expect(Subscribe.self).id
                    try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: id)
                    try await server.send(SubscriptionEnd(code: error.code, message: error.message), id: Self.view)
                    await server.untilClosed()
                } client: { port in
                    try await NestClient.withClient(Fixtures.configuration(port)) { client in
                        try await client.withFetchedResults(Fixtures.request) { results in
                            for try await _ in results {}
                        }
                    }
                }
            }
        }
    }
}
