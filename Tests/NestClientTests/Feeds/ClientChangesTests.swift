import NestClient
import NestModel
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    /// Change feeds and own writes against a scripted server.
    struct ClientChangesTests {
        private static let view = Limits.viewIDMin + 3
        private static let history = Identifier128(high: 0, low: 7)

        private static func part(_ revision: UInt64, place: Int = 0, _ ids: Int64...) -> ChangeSetMessage {
            ChangeSetMessage(
                ChangeSetPart(
                    revision: Revision(revision),
                    time: 1,
                    sessionNumber: 1,
                    kind: .write,
                    reverted: nil,
                    name: "n",
                    place: place,
                    objects: ids.map { ChangedObject(kind: .inserted, entity: EntityNumber(1), id: ObjectID($0)) }
                )
            )
        }

        private static func begin(_ server: FakeServer.Connection, at revision: UInt64, id: UInt32) async throws {
            let first = FirstState.current(Revision(revision))
            try await server.send(Subscribed(view: Self.view, first: first, reason: "", projection: []), id: id)
        }

        private static func text(_ event: ChangesEvent) -> String {
            switch event {
            case .following(let point): "following \(point.revision)"
            case .changes(let part): "\(part.revision): \(part.objects.map(\.id))\(part.hasMore ? " …" : "")"
            case .progress(let revision): "progress \(revision)"
            case .disconnected: "disconnected"
            case .resumed(let revision): "resumed \(revision)"
            }
        }

        /// After a lost connection the feed resumes exactly where it stopped, also inside a change set, until the
        /// server has another history.
        @Test func aChangeFeedResumesAfterALostConnection() async throws {
            let (seen, saw) = AsyncStream.makeStream(of: Void.self)
            try await FakeServer.run { server in
                try await server.welcome(history: server.number == 4 ? 8 : 7, revision: 5)
                let (id, message) = try await server.expect(SubscribeChanges.self)
                #expect(message.entities == [EntityNumber(1)])
                switch server.number {
                case 0:
                    #expect(message.since == nil && message.place == 0)
                    try await Self.begin(server, at: 5, id: id)
                    try await server.send(Self.part(6, 2), id: Self.view)
                    try await server.send(Progress(revision: Revision(7)))
                    try await server.send(Self.part(9, place: 3, 3, 4), id: Self.view)
                case 1:
                    #expect(message.since == ResumePoint(historyID: Self.history, revision: Revision(8)))
                    #expect(message.place == 3)
                    try await Self.begin(server, at: 8, id: id)
                    try await server.send(Self.part(9, place: 4, 5), id: Self.view)
                case 2:
                    #expect(message.since?.revision == Revision(8) && message.place == 4)
                    try await Self.begin(server, at: 8, id: id)
                    try await server.send(Self.part(9), id: Self.view)
                    try await server.send(Self.part(10, 6), id: Self.view)
                case 3:
                    #expect(message.since?.revision == Revision(10) && message.place == 0)
                default:
                    #expect(message.since?.historyID == Self.history)
                    try await server.send(ErrorMessage(NestError(.conflict, "another history")), id: id)
                    return await server.untilClosed()
                }
                if server.number < 3 { for await _ in seen { break } }
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withChanges(entities: [EntityNumber(1)]) { changes in
                        var events: [String] = []
                        let error = await #expect(throws: NestError.self) {
                            for try await event in changes {
                                events.append(Self.text(event))
                                if ["9: [3, 4] …", "9: [5] …", "10: [6]"].contains(events.last) { saw.yield() }
                            }
                        }
                        #expect(error?.code == .conflict)
                        #expect(changes.position == ResumePoint(historyID: Self.history, revision: Revision(10)))
                        #expect(
                            events == [
                                "following 5", "6: [2]", "progress 7", "9: [3, 4] …", "disconnected", "resumed 8",
                                "9: [5] …", "disconnected", "resumed 8", "9: []", "10: [6]", "disconnected",
                            ]
                        )
                    }
                }
            }
        }

        @Test func refusedAndEndedFeedsThrowTheServersError() async throws {
            let since = ResumePoint(historyID: Self.history, revision: Revision(2))
            for isRefused in [true, false] {
                try await FakeServer.run { server in
                    try await server.welcome(history: 7, revision: 5)
                    let (id, message) = try await server.expect(SubscribeChanges.self)
                    #expect(message.since == since)
                    if isRefused {
                        try await server.send(ErrorMessage(NestError(.revisionDropped, "the oldest is 3")), id: id)
                    } else {
                        try await Self.begin(server, at: 2, id: id)
                        try await server.send(
                            SubscriptionEnd(code: .revisionDropped, message: "the oldest is 3"),
                            id: Self.view
                        )
                    }
                    await server.untilClosed()
                } client: { port in
                    try await NestClient.withClient(Fixtures.configuration(port)) { client in
                        try await client.withChanges(since: since) { changes in
                            let error = await #expect(throws: NestError.self) { for try await _ in changes {} }
                            #expect(error == NestError(.revisionDropped, "the oldest is 3"))
                        }
                    }
                }
            }
        }

        /// A server that repeats a change set violates the protocol: the client closes the connection and resumes on
        /// the next one.
        @Test func aRepeatedRevisionIsAProtocolViolation() async throws {
            try await FakeServer.run { server in
                try await server.welcome(history: 7, revision: 5)
                let (id, message) = try await server.expect(SubscribeChanges.self)
                try await Self.begin(server, at: message.since?.revision.rawValue ?? 5, id: id)
                try await server.send(Self.part(6 + UInt64(server.number), 2), id: Self.view)
                if server.number == 0 { try await server.send(Self.part(6, 2), id: Self.view) }
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withChanges { changes in
                        var revisions: [Revision] = []
                        for try await event in changes {
                            if case .changes(let part) = event { revisions.append(part.revision) }
                            if revisions.count == 2 { break }
                        }
                        #expect(revisions == [Revision(6), Revision(7)])
                    }
                }
            }
        }

        /// A revision named by OWN or by an earlier receipt marks the diff that contains it as own, and no other diff.
        @Test func diffsThatContainOwnWritesAreMarkedAsOwn() async throws {
            let first = Fixtures.state(3, [Fixtures.row(2, "a")])
            try await FakeServer.run { server in
                try await server.welcome(history: 7, revision: 3)
                var state = first
                if server.number == 0 {
                    let id = try await server.expect(Subscribe.self).id
                    try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: id)
                    try await server.sendSnapshot(first, id: Self.view)
                    try await server.send(
                        OwnMessage([Revision(4), Revision(6)].map { OwnWrite(revision: $0) }, namesRequests: false)
                    )
                    for (from, to) in [(3, 6), (6, 7)] as [(UInt64, UInt64)] {
                        let diff = Fixtures.append(Fixtures.row(Int64(to), "b"), to: &state, at: to, from: from)
                        try await server.send(diff, view: Self.view)
                        try await server.send(Progress(revision: Revision(to)))
                    }
                    return
                }
                // On the next connection, writes of the first connection are not own. A write answered before the
                // difference is.
                var requests: [UInt8: Frame] = [:]
                while requests.count < 2 {
                    let frame = try await server.next()
                    requests[frame.type] = frame
                }
                let write = try #require(requests[MessageType.transaction.rawValue])
                let subscription = try #require(requests[MessageType.subscribe.rawValue])
                #expect(try Subscribe(body: subscription.body).resume?.revision == Revision(7))
                let receipt = Receipt(revision: Revision(9), isChanged: true, results: [], name: "")
                try await server.send(ReceiptMessage(receipt), id: write.id)
                try await server.send(Fixtures.subscribed(Self.view, .difference), id: subscription.id)
                for row in [6, 7] { state.sections[0].rows.append(Fixtures.row(Int64(row), "b")) }
                let diff = Fixtures.append(Fixtures.row(10, "c"), to: &state, at: 10, from: 7)
                try await server.send(diff, view: Self.view)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(Fixtures.request) { results in
                        var own: [[UInt64]] = []
                        var isSent = false
                        for try await change in results {
                            if case .diff(let diff) = change {
                                own.append(diff.ownRevisions.map(\.rawValue))
                                #expect(diff.isOwn == !diff.ownRevisions.isEmpty)
                            }
                            if case .disconnected = change, !isSent {
                                isSent = true
                                _ = try await client.transaction(Fixtures.insert)
                            }
                            if own.count == 3 { break }
                        }
                        #expect(own == [[4, 6], [], [9]])
                    }
                }
            }
        }
    }
}
