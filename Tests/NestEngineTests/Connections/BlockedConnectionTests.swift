import NestEngine
import NestModel
import Testing
import NestProtocol

@Suite struct BlockedConnectionTests {
    private func pushes(_ effects: [EngineEffect], to client: SimulatedClient) -> Int {
        effects.count { if case .push(_, let to) = $0 { to.contains(client.connection) } else { false } }
    }

    /// A subscription that is resumed on a blocked connection lags like its other subscriptions.
    @Test func aSubscriptionResumedWhileBlockedLags() throws {
        let fixture = try EngineFixture()
        let writer = try fixture.connect(session: 1)
        let client = try fixture.connect(session: 2)
        try fixture.perform([client.subscribe(EngineFixture.root)])
        for isCurrent in [true, false] {
            try fixture.perform([.disconnected(client.connection)])
            if !isCurrent { try fixture.write(writer, [EngineFixture.insert("meanwhile")]) }
            try fixture.perform([client.connect(as: fixture.newConnection()), client.block()])
            try fixture.perform([client.subscribe(EngineFixture.root, resuming: true)])
            let (_, input) = writer.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("a")])))
            #expect(try self.pushes(fixture.perform([input]), to: client) == 0)
            try fixture.perform([client.drain()])
            #expect(
                try client.state(EngineFixture.root)?.sections[0].rows.map(\.id) == fixture.children()
            )
        }
    }

    /// Another connection keeps the view, so the next equal subscription gets the same view id. DONE must precede
    /// SUBSCRIBED: a client drops the view at DONE and must not drop the new subscription.
    @Test func unsubscribeIsAnsweredBeforeTheSameViewIsSubscribedAgain() throws {
        let fixture = try EngineFixture()
        let other = try fixture.connect(session: 1)
        let client = try fixture.connect(session: 2)
        try fixture.perform([other.subscribe(EngineFixture.root), client.subscribe(EngineFixture.root)])
        let (request, view) = try #require(client.subscriptions.first.map { ($0.key, $0.value.view) })
        let ended = try #require(view)
        let subscribe = EngineRequest.subscribe(request, resume: nil, atLeast: Revision(0))
        let effects = fixture.engine.perform(
            [
                client.block(),
                .request(client.connection, requestID: 1_000, .unsubscribe(view: ended)),
                .request(client.connection, requestID: 1_001, subscribe),
            ],
            now: fixture.now
        )
        let answered = effects.compactMap { effect -> UInt32? in
            if case .reply(client.connection, let id, _) = effect { id } else { nil }
        }
        #expect(answered == [1_000, 1_001])
    }

    /// A connection that drains and blocks again within one batch is blocked.
    @Test func aConnectionThatDrainsAndBlocksInOneBatchIsBlocked() throws {
        let fixture = try EngineFixture()
        let writer = try fixture.connect(session: 1)
        let client = try fixture.connect(session: 2)
        try fixture.perform([client.subscribe(EngineFixture.root)])
        try fixture.perform([client.block()])
        try fixture.write(writer, [EngineFixture.insert("a")])
        try fixture.perform([client.drain(), client.block()])
        let (_, input) = writer.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("b")])))
        #expect(try self.pushes(fixture.perform([input]), to: client) == 0)
        try fixture.perform([client.drain()])
        #expect(try client.state(EngineFixture.root)?.sections[0].rows.map(\.id) == fixture.children())
    }

    /// The message of an error fits in a frame, even if it names very long titles.
    @Test func aRefusalOfAnUndoFitsInAFrame() throws {
        let fixture = try EngineFixture()
        let mine = try fixture.connect(session: 1)
        let other = try fixture.connect(session: 2)
        // A single grapheme of 60,000 bytes.
        let title = "e" + String(repeating: "\u{301}", count: 30_000)
        let inserts = (0..<12).map { _ in EngineFixture.insert(title) }
        let ids = try fixture.write(mine, inserts).insertedIDs
        for id in ids { try fixture.write(other, [done(id, true)]) }
        let error = try #require(try fixture.ask(mine, .undo(key: nil)).error)
        #expect(error.code == .undoConflict)
        #expect(error.message.utf8.count < Limits.frameBytesMax / 4)
    }

    private func done(_ id: ObjectID, _ isDone: Bool) -> Mutation {
        .update(.object(id), values: [PropertyAssignment(PropertyNumber(3), .value(.boolean(isDone)))])
    }
}
