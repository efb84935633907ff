import NestClient
import NestModel
import NestTestSupport
import NestProtocol
import Testing

extension SocketTests {
    /// Undo with options, previews and the undo state against a scripted server.
    struct ClientUndoTests {
        private static let options = UndoOptions(policy: .force, rehomes: true)

        private static var conflicts: UndoConflicts {
            var conflicts = UndoConflicts()
            conflicts.append(
                UndoConflict(
                    reason: .edited,
                    entity: EntityNumber(1),
                    object: ObjectID(2),
                    property: PropertyNumber(1),
                    revision: Revision(41),
                    sessionNumber: 2,
                    label: "Milk"
                )
            )
            return conflicts
        }

        @Test func undoSendsItsOptionsAndReturnsConflicts() async throws {
            let receipt = Receipt(revision: Revision(42), isChanged: true, name: "edit", conflicts: Self.conflicts)
            let preview = UndoPreview(name: "edit", conflicts: Self.conflicts, deletedCount: 3)
            try await FakeServer.run { server in
                try await server.welcome()
                let undo = try await server.expect(Undo.self)
                #expect(undo.message.options == Self.options && undo.message.expected == Revision(40))
                #expect(undo.message.key == Identifier128(high: 1, low: 2))
                try await server.send(ReceiptMessage(receipt), id: undo.id)
                let redo = try await server.expect(Redo.self)
                #expect(redo.message.options == UndoOptions(policy: .strict) && redo.message.expected == nil)
                #expect(redo.message.key != nil)
                try await server.send(ErrorMessage(NestError(.undoConflict, "no")), id: redo.id)
                let revert = try await server.expect(Revert.self)
                #expect(revert.message.revision == Revision(7) && revert.message.ofAnyone && revert.message.key != nil)
                try await server.send(ReceiptMessage(receipt), id: revert.id)
                let question = try await server.expect(PreviewUndo.self)
                #expect(question.message.target == .revert(Revision(7), ofAnyone: false))
                #expect(question.message.options == Self.options)
                try await server.send(UndoPreviewMessage(preview), id: question.id)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let key = Identifier128(high: 1, low: 2)
                    let undone = try await client.undo(options: Self.options, expecting: Revision(40), key: key)
                    #expect(undone == receipt)
                    let refused = await #expect(throws: NestError.self) {
                        try await client.redo(options: UndoOptions(policy: .strict))
                    }
                    #expect(refused?.code == .undoConflict)
                    #expect(try await client.revert(Revision(7), ofAnyone: true) == receipt)
                    let target = UndoTarget.revert(Revision(7), ofAnyone: false)
                    #expect(try await client.previewUndo(target, options: Self.options) == preview)
                }
            }
        }

        /// The retry names the same entry, so that a lost reply does not undo another one.
        @Test func aRetriedUndoKeepsItsKeyAndOptions() async throws {
            let (messages, sent) = AsyncStream.makeStream(of: Undo.self)
            let receipt = Receipt(revision: Revision(5), isChanged: true, isReplayed: true)
            try await FakeServer.run { server in
                try await server.welcome()
                let (id, message) = try await server.expect(Undo.self)
                sent.yield(message)
                guard server.number > 0 else { return }
                try await server.send(ReceiptMessage(receipt), id: id)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let undone = try await client.undo(options: Self.options, expecting: Revision(4))
                    #expect(undone == receipt)
                }
            }
            sent.finish()
            var all: [Undo] = []
            for await message in messages { all.append(message) }
            #expect(all.count == 2 && all[0] == all[1] && all[0].key != nil)
        }

        // MARK: The undo state

        private static func state(_ name: String, _ revision: UInt64) -> UndoState {
            let entry = UndoState.Entry(revision: Revision(revision), name: name, transactionCount: 1)
            return UndoState(undo: entry, undoCount: 1)
        }

        /// Followers get each newer state once, also across a lost connection. A single request of the state does not
        /// end the subscription.
        @Test func theUndoStateIsFollowedAcrossReconnects() async throws {
            let (steps, step) = AsyncStream.makeStream(of: Void.self)
            try await FakeServer.run { server in
                try await server.welcome()
                var next = steps.makeAsyncIterator()
                let (id, message) = try await server.expect(GetUndoState.self)
                #expect(message.follows)
                if server.number == 0 {
                    try await server.send(UndoStateMessage(Self.state("a", 1)), id: id)
                    await next.next()
                    try await server.send(UndoStateMessage(Self.state("a", 1)))
                    try await server.send(UndoStateMessage(Self.state("b", 2)))
                    await next.next()
                    return
                }
                try await server.send(UndoStateMessage(Self.state("b", 2)), id: id)
                let once = try await server.expect(GetUndoState.self)
                #expect(once.message.follows)
                try await server.send(UndoStateMessage(Self.state("c", 3)), id: once.id)
                await next.next()
                try await server.send(UndoStateMessage(UndoState()))
                // The last follower has left: the client ends the subscription.
                #expect(try await server.expect(GetUndoState.self).message.follows == false)
                step.yield()
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    var first: AsyncThrowingStream? = client.undoStates()
                    var states = try #require(first).makeAsyncIterator()
                    first = nil
                    #expect(try await states.next() == Self.state("a", 1))
                    // A later follower begins with the known state.
                    var others = client.undoStates().makeAsyncIterator()
                    #expect(try await others.next() == Self.state("a", 1))
                    step.yield()
                    #expect(try await states.next() == Self.state("b", 2))
                    #expect(try await others.next() == Self.state("b", 2))
                    step.yield()
                    // After the lost connection "b" is not reported again.
                    // The single request may be answered before or after the followers.
                    let once = try await client.undoState()
                    #expect(once == Self.state("b", 2) || once == Self.state("c", 3))
                    #expect(try await states.next() == Self.state("c", 3))
                    step.yield()
                    while try await others.next() != UndoState() {}
                }
            }
        }

        @Test func refusalAndClosingEndTheUndoStateSequence() async throws {
            let refusal = NestError(.unsupported, "no undo here")
            try await FakeServer.run { server in
                try await server.welcome()
                let refused = try await server.expect(GetUndoState.self)
                try await server.send(ErrorMessage(refusal), id: refused.id)
                let answered = try await server.expect(GetUndoState.self)
                try await server.send(UndoStateMessage(UndoState()), id: answered.id)
                await server.untilClosed()
            } client: { port in
                let client = NestClient(Fixtures.configuration(port))
                var refused = client.undoStates().makeAsyncIterator()
                let error = await #expect(throws: NestError.self) { _ = try await refused.next() }
                #expect(error == refusal)
                var states = client.undoStates().makeAsyncIterator()
                let state = try await states.next()
                #expect(state == UndoState())
                await client.close()
                let closed = await #expect(throws: NestError.self) { _ = try await states.next() }
                #expect(closed?.code == .closed)
                var late = client.undoStates().makeAsyncIterator()
                let never = await #expect(throws: NestError.self) { _ = try await late.next() }
                #expect(never?.code == .closed)
            }
        }

        /// One undo makes several revisions. OWN names them before the subscription has a state.
        @Test func allRevisionsOfAnUndoAreOwn() async throws {
            let view = Limits.viewIDMin + 3
            let first = Fixtures.state(3, [Fixtures.row(2, "a")])
            try await FakeServer.run { server in
                try await server.welcome(revision: 3)
                let subscription = try await server.expect(Subscribe.self).id
                let undo = try await server.expect(Undo.self).id
                try await server.send(Fixtures.subscribed(view, .snapshot), id: subscription)
                try await server.send(
                    OwnMessage(
                        [Revision(4), Revision(5), Revision(6)].map { OwnWrite(revision: $0) },
                        namesRequests: false
                    )
                )
                try await server.sendSnapshot(first, id: view)
                var state = first
                try await server.send(Fixtures.append(Fixtures.row(3, "b"), to: &state, at: 6, from: 3), view: view)
                try await server.send(ReceiptMessage(Receipt(revision: Revision(6), isChanged: true)), id: undo)
                try await server.send(Fixtures.append(Fixtures.row(4, "c"), to: &state, at: 7, from: 6), view: view)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(Fixtures.request) { results in
                        async let receipt = client.undo()
                        var own: [[UInt64]] = []
                        for try await change in results {
                            if case .diff(let diff) = change { own.append(diff.ownRevisions.map(\.rawValue)) }
                            if own.count == 2 { break }
                        }
                        #expect(own == [[4, 5, 6], []])
                        #expect(try await receipt.revision == Revision(6))
                    }
                }
            }
        }
    }
}
