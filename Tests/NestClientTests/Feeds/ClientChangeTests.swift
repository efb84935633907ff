import NestClient
import NestModel
import NestProtocol
import Testing

extension SocketTests {
    /// Late, partial and unrequested replies to RESUBSCRIBE.
    struct ClientChangeTests {
        private static let view = Limits.viewIDMin + 9
        private static let other = Limits.viewIDMin + 10
        private static let held = Fixtures.state(3, [Fixtures.row(2, "a"), Fixtures.row(3, "b")])

        private static var narrower: ObjectFetchRequest {
            var request = Fixtures.request
            request.window = FetchWindow(offset: 0, limit: 1)
            return request
        }

        /// The difference from the held rows to only the first, within one revision.
        private static var narrowing: ResultsDiff {
            let first = Fixtures.state(3, [Fixtures.row(2, "a")])
            var diff = ResultsDiff(from: Revision(3), to: Revision(3), total: 1, digest: first.digest)
            diff.deletedRows = [.init(path: RowPosition(0, 1), id: ObjectID(3), reason: .outOfWindow)]
            diff.window = WindowPosition(total: 2, sectionTotal: 1, start: WindowStart())
            return diff
        }

        private static func begin(_ server: FakeServer.Connection) async throws {
            try await server.welcome()
            let id = try await server.expect(Subscribe.self).id
            try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: id)
            try await server.sendSnapshot(Self.held, id: Self.view)
        }

        /// An unrequested diff without a new revision is an error: the client subscribes again.
        @Test func anUnrequestedDiffWithoutANewRevisionIsRefused() async throws {
            try await FakeServer.run { server in
                try await Self.begin(server)
                var diff = Self.narrowing
                diff.window = nil
                try await server.send(diff, view: Self.view)
                #expect(try await server.expect(Unsubscribe.self).message.view == Self.view)
                let (id, message) = try await server.expect(Subscribe.self)
                #expect(message.resume == nil)
                try await server.send(Fixtures.subscribed(Self.other, .snapshot), id: id)
                try await server.sendSnapshot(Self.held, id: Self.other)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(Fixtures.request) { results in
                        var changes = results.makeAsyncIterator()
                        #expect(try await changes.next() == .snapshot(.first))
                        guard case .reset(let reset) = try await changes.next() else {
                            Issue.record("no reset")
                            return
                        }
                        #expect(reset.cause == .mismatch)
                        #expect(try await changes.next() == .snapshot(.first))
                    }
                }
            }
        }

        /// Diffs of the old view arrive before the reply, diffs of the new view after it. A later change waits for the
        /// reply; of two waiting changes only the newest is sent.
        @Test func aRequestChangeIsAnsweredByADifference() async throws {
            try await FakeServer.run { server in
                try await Self.begin(server)
                let (id, message) = try await server.expect(Resubscribe.self)
                #expect(message.view == Self.view && message.request == Self.narrower)
                try await server.send(Fixtures.subscribed(Self.other, .difference), id: id)
                try await server.send(Self.narrowing, view: Self.other)
                let next = try await server.expect(Resubscribe.self)
                #expect(next.message.view == Self.other)
                try await server.send(ErrorMessage(NestError(.notFound, "no such row")), id: next.id)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(Fixtures.request, verifyDigest: true) { results in
                        var changes = results.makeAsyncIterator()
                        _ = try await changes.next()
                        #expect(try await results.change(to: Self.narrower))
                        #expect(try await changes.next() == .diff(Self.narrowing))
                        #expect(results.request == Self.narrower && results.state.total == 1)
                        #expect(results.state.window?.total == 2)
                        await #expect(throws: NestError(.notFound, "no such row")) {
                            try await results.setWindow(.around(ObjectID(9), before: 1, after: 1))
                        }
                        #expect(results.request == Self.narrower)
                    }
                }
            }
        }

        /// If the connection is lost before the reply, the client resumes the old request and sends the change again.
        /// If it is lost between the reply and the difference, the new request starts without a state.
        @Test(arguments: [false, true]) func aRequestChangeSurvivesReconnecting(_ isAccepted: Bool) async throws {
            try await FakeServer.run { server in
                if server.number == 0 {
                    try await Self.begin(server)
                    let id = try await server.expect(Resubscribe.self).id
                    if isAccepted {
                        try await server.send(Fixtures.subscribed(Self.other, .difference), id: id)
                        let ping = try await server.expect(Ping.self).message
                        try await server.send(Pong(payload: ping.payload))
                    }
                    return
                }
                try await server.welcome()
                let (id, message) = try await server.expect(Subscribe.self)
                if isAccepted {
                    #expect(message.resume == nil && message.request == Self.narrower)
                    try await server.send(Fixtures.subscribed(Self.other, .snapshot), id: id)
                    try await server.sendSnapshot(Fixtures.state(3, [Fixtures.row(2, "a")]), id: Self.other)
                } else {
                    #expect(message.resume?.revision == Revision(3) && message.request == Fixtures.request)
                    try await server.send(Fixtures.subscribed(Self.view, .current(Revision(3))), id: id)
                    let (again, message) = try await server.expect(Resubscribe.self)
                    #expect(message.request == Self.narrower)
                    try await server.send(Fixtures.subscribed(Self.other, .difference), id: again)
                    try await server.send(Self.narrowing, view: Self.other)
                }
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(Fixtures.request, verifyDigest: true) { results in
                        var changes = results.makeAsyncIterator()
                        _ = try await changes.next()
                        #expect(try await results.change(to: Self.narrower))
                        if isAccepted { _ = try await client.ping() }
                        while results.state.total != 1 { _ = try await changes.next() }
                        #expect(results.request == Self.narrower)
                    }
                }
            }
        }
    }
}
