import NestModel
import NestServerTestSupport
import NestTestSupport
import NestProtocol
import Testing

@testable import NestClient

extension SocketTests {
    struct FetchedResultsControllerTests {
        private static let view = Limits.viewIDMin

        // MARK: Against a server

        /// The delegate gets every change of another client with its index paths.
        @MainActor @Test func aDelegateGetsTheChangesOfAnotherClient() async throws {
            try await withServer { port, _ in
                try await Self.withTwoClients(port) { reader, writer in
                    let controller = FetchedResultsController(
                        fetchRequest: .rootChildren,
                        client: reader,
                        verifyDigest: true
                    )
                    #expect(controller.fetchedObjects == nil && controller.sections.isEmpty)
                    let screen = TableScreen()
                    try await screen.run(controller) {
                        try await screen.wait { controller.state == .live }
                        #expect(screen.takeLog() == ["loading", "replaced: first", "live"])
                        @MainActor func follow(
                            _ transaction: WriteTransaction
                        ) async throws -> (log: [String], ids: [ObjectID]) {
                            let receipt = try await writer.transaction(transaction)
                            try await screen.wait { controller.content.revision >= receipt.revision }
                            return (screen.takeLog(), receipt.insertedIDs)
                        }
                        let (log, ids) = try await follow(.insert("a", "b", "c"))
                        #expect(
                            log == [
                                "insert \(ids[0]) [0, 0]", "insert \(ids[1]) [0, 1]", "insert \(ids[2]) [0, 2]",
                                "did change",
                            ]
                        )
                        let front = Placement(
                            relationship: PropertyNumber(5),
                            owner: .object(ObjectID(1)),
                            place: .first
                        )
                        let edited = PropertyAssignment(PropertyNumber(1), .value(.string("C")))
                        let both = try await follow(
                            WriteTransaction(mutations: [
                                .move(.object(ids[2]), front), .update(.object(ids[2]), values: [edited]),
                            ])
                        )
                        #expect(
                            both.log == [
                                "move \(ids[2]) [0, 2] to [0, 0]", "update \(ids[2]) [0, 2] to [0, 0]", "did change",
                            ]
                        )
                        #expect(controller.object(at: RowPosition(0, 0)).values == [.string("C")])
                        let deleted = try await follow(WriteTransaction(mutations: [.delete(.object(ids[0]))]))
                        #expect(deleted.log == ["delete \(ids[0]) [0, 1]", "did change"])
                        #expect(controller.fetchedObjects?.map(\.id) == [ids[2], ids[1]])
                        #expect(try await writer.fetch(.rootChildren).sections == controller.content.sections)
                    }
                    #expect(controller.fetchedObjects?.count == 2, "the last content stays")
                }
            }
        }

        /// The delegate gets a window move like any other change. After a pause it gets the changes made during the
        /// pause.
        @MainActor @Test func aWindowMoveCallsTheDelegateLikeAnyChange() async throws {
            try await withServer { port, _ in
                try await Self.withTwoClients(port) { reader, writer in
                    let ids = try await writer.transaction(.insert("a", "b", "c", "d", "e")).insertedIDs
                    var request = ObjectFetchRequest.rootChildren
                    request.window = FetchWindow(offset: 0, limit: 2)
                    let controller = FetchedResultsController(fetchRequest: request, client: reader, verifyDigest: true)
                    let screen = TableScreen()
                    try await screen.run(controller) {
                        try await screen.wait { controller.state == .live }
                        #expect(controller.window?.total == 5)
                        _ = screen.takeLog()
                        try await controller.setWindow(FetchWindow(offset: 1, limit: 2))
                        try await screen.wait { controller.window?.start.row == 1 }
                        #expect(
                            screen.takeLog() == ["delete \(ids[0]) [0, 0]", "insert \(ids[2]) [0, 1]", "did change"]
                        )
                        await controller.pause()
                        try await screen.wait { controller.state == .paused }
                        _ = try await writer.transaction(WriteTransaction(mutations: [.delete(.object(ids[1]))]))
                        _ = screen.takeLog()
                        await controller.resume()
                        try await screen.wait { controller.window?.total == 4 }
                        #expect(
                            screen.takeLog() == [
                                "live", "delete \(ids[1]) [0, 0]", "insert \(ids[3]) [0, 1]", "did change",
                            ]
                        )
                        await #expect(throws: NestError.self) {
                            try await controller.setWindow(.around(ids[1], before: 1, after: 1))
                        }
                        #expect(controller.fetchRequest.window == FetchWindow(offset: 1, limit: 2))
                    }
                }
            }
        }

        /// For any writes of other clients, a delegate's table accepts every batch and ends with the result of a fetch.
        @MainActor @Test func aTableFollowsRandomWrites() async throws {
            for seed in Seeds.range(0..<4) {
                try await withServer { port, _ in
                    try await Self.withTwoClients(port) { reader, writer in
                        let controller = FetchedResultsController(fetchRequest: .rootChildren, client: reader)
                        let screen = TableScreen()
                        try await screen.run(controller) {
                            var random = SeededRandom(seed: seed)
                            var ids = try await writer.transaction(.insert("a", "b", "c", "d", "e")).insertedIDs
                            var revision = Revision(0)
                            for _ in 0..<40 {
                                let transaction = Self.transaction(&ids, &random)
                                let receipt = try await writer.transaction(transaction)
                                ids += receipt.insertedIDs
                                revision = receipt.revision
                            }
                            try await screen.wait { controller.content.revision >= revision }
                            let fetched = try await writer.fetch(.rootChildren)
                            #expect(screen.table.sections == fetched.sections.map(\.rows), "NEST_SEED=\(seed)")
                        }
                    }
                }
            }
        }

        private static func transaction(_ ids: inout [ObjectID], _ random: inout SeededRandom) -> WriteTransaction {
            // Always change something: a transaction without changes has no diff to wait for.
            var mutations = WriteTransaction.insert("\(random.below(1_000))").mutations
            for _ in 0..<random.below(5) where ids.count > 2 {
                let at = random.below(ids.count)
                switch random.below(4) {
                case 0:
                    mutations.append(.delete(.object(ids[at])))
                    ids.remove(at: at)
                case 1:
                    let title = PropertyAssignment(PropertyNumber(1), .value(.string("\(random.below(1_000))")))
                    mutations.append(.update(.object(ids[at]), values: [title]))
                default:
                    let place: Place = random.oneIn(2) ? .first : .after(.object(ids[(at + 1) % ids.count]))
                    let root = ObjectReference.object(ObjectID(1))
                    mutations.append(
                        .move(
                            .object(ids[at]),
                            Placement(relationship: PropertyNumber(5), owner: root, place: place)
                        )
                    )
                }
            }
            return WriteTransaction(mutations: mutations)
        }

        @MainActor private static func withTwoClients(
            _ port: Int,
            _ body: @MainActor (NestClient, NestClient) async throws -> Void
        ) async throws {
            try await NestClient.withClient(Fixtures.configuration(port)) { reader in
                try await NestClient.withClient(Fixtures.configuration(port)) { writer in try await body(reader, writer)
                }
            }
        }

        /// The sequence of transitions lists the same events as the delegate calls.
        @Test func transitionsListTheEventsOfTheDelegate() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(.rootChildren) { results in
                        var transitions = results.transitions.makeAsyncIterator()
                        let first = try #require(try await transitions.next())
                        #expect(first.change == .snapshot(.first) && first.events.isEmpty && first.batchUpdates.isEmpty)
                        let receipt = try await client.transaction(.insert("a"))
                        var next = try #require(try await transitions.next())
                        while case .progress = next.change { next = try #require(try await transitions.next()) }
                        let row = Row(id: receipt.insertedIDs[0], values: [.string("a")])
                        let expected: [FetchedResultsEvent] = [
                            .willChangeContent, .insert(row, newIndexPath: RowPosition(0, 0)), .didChangeContent,
                        ]
                        #expect(next.events == expected)
                        #expect(next.batchUpdates.insertedRows == [RowPosition(0, 0)])
                    }
                }
            }
        }

        // MARK: Against a script

        private static func sections(_ revision: UInt64, _ sections: [(AttributeValue, [Int64])]) -> SectionedSnapshot {
            SectionedSnapshot(
                revision: Revision(revision),
                projection: [PropertyNumber(1)],
                sections: sections.map { key, ids in ResultsSection(key: key, rows: ids.map { Fixtures.row($0, "r") }) }
            )
        }

        /// Sections appear and disappear, the connection is lost and resumed, and a state is replaced.
        @MainActor @Test func sectionsSurviveResumesAndResets() async throws {
            let first = Self.sections(3, [(.string("a"), [2, 3]), (.string("b"), [4])])
            // Row 4 moves from section b, which disappears, to the new section c; row 3 is deleted.
            let second = Self.sections(4, [(.string("a"), [2]), (.string("c"), [4])])
            let third = Self.sections(
                9,
                [(.null, [7]), (.string("ab"), [2]), (.string("Ac"), [3]), (.string("\u{e9}"), [4])]
            )
            let (steps, step) = AsyncStream.makeStream(of: Void.self)
            try await FakeServer.run { server in
                try await server.welcome(history: 7)
                let id = try await server.expect(Subscribe.self).id
                switch server.number {
                case 0:
                    try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: id)
                    try await server.sendSnapshot(first, id: Self.view)
                    try await server.send(NaiveDiff.difference(from: first, to: second), view: Self.view)
                    for await _ in steps { return }
                case 1:
                    try await server.send(Fixtures.subscribed(Self.view, .current(Revision(4))), id: id)
                    for await _ in steps { return }
                default:
                    try await server.send(Fixtures.subscribed(Self.view, .snapshot, reason: "too far behind"), id: id)
                    try await server.sendSnapshot(third, id: Self.view)
                    await server.untilClosed()
                }
            } client: { port in
                try await Self.follow(port, step)
            }
        }

        @MainActor private static func follow(_ port: Int, _ step: AsyncStream<Void>.Continuation) async throws {
            try await NestClient.withClient(Fixtures.configuration(port)) { client in
                let controller = FetchedResultsController(fetchRequest: Fixtures.request, client: client)
                let screen = TableScreen()
                try await screen.run(controller) {
                    try await screen.wait { controller.content.revision == Revision(4) }
                    #expect(
                        screen.takeLog() == [
                            "loading", "replaced: first", "live", "delete section 1 b", "insert section 1 c",
                            "delete 3 [0, 1]", "move 4 [1, 0] to [1, 0]", "did change",
                        ]
                    )
                    #expect(controller.sections.map(\.name) == ["a", "c"])
                    #expect(controller.sections[1].numberOfObjects == 1)
                    #expect(controller.sectionIndexTitles == ["A", "C"])

                    step.yield()
                    try await screen.wait { screen.log.contains("live") }
                    #expect(screen.takeLog() == ["disconnected", "live"])

                    step.yield()
                    try await screen.wait { controller.content.revision == Revision(9) && controller.state == .live }
                    #expect(screen.takeLog() == ["disconnected", "reloading: server", "replaced: first", "live"])
                    Self.checkIndex(controller)
                }
            }
        }

        @MainActor private static func checkIndex(_ controller: FetchedResultsController) {
            #expect(controller.fetchedObjects?.map(\.id.rawValue) == [7, 2, 3, 4])
            #expect(controller.sections.map(\.indexTitle) == [nil, "A", "A", "\u{c9}"])
            #expect(controller.sectionIndexTitles == ["A", "\u{c9}"])
            #expect(controller.section(forSectionIndexTitle: "A", at: 0) == 1)
            #expect(controller.section(forSectionIndexTitle: "\u{c9}", at: 1) == 3)
            #expect(controller.section(forSectionIndexTitle: "\u{c9}", at: 7) == 3)
            #expect(controller.section(forSectionIndexTitle: "Z", at: 0) == nil)
            #expect(controller.indexPath(forObject: ObjectID(4)) == RowPosition(3, 0))
            #expect(controller.indexPath(forObject: ObjectID(5)) == nil)
            controller.sectionIndexTitle = { $0.isNull ? "#" : FetchedResultsSectionInfo.indexTitle(for: $0) }
            #expect(controller.sectionIndexTitles == ["#", "A", "\u{c9}"])
        }

        /// A state with a wrong digest is reported first, so that the table agrees with the controller, and then
        /// replaced. If a diff cannot be applied, the state is replaced without being reported.
        @MainActor @Test(arguments: [false, true])
        func aStateWithAWrongDigestIsReplaced(doesNotFit: Bool) async throws {
            let first = Fixtures.state(3, [Fixtures.row(2, "a")])
            try await FakeServer.run { server in
                try await server.welcome()
                let id = try await server.expect(Subscribe.self).id
                try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: id)
                try await server.sendSnapshot(first, id: Self.view)
                var state = first
                var diff = Fixtures.append(Fixtures.row(4, "c"), to: &state, at: 4, from: 3)
                diff.digest ^= 1
                if doesNotFit { diff.total += 1 }
                try await server.send(diff, view: Self.view)
                let leave = try await server.expect(Unsubscribe.self)
                try await server.send(Done(), id: leave.id)
                let again = try await server.expect(Subscribe.self).id
                try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: again)
                try await server.sendSnapshot(Fixtures.state(5, [Fixtures.row(9, "z")]), id: Self.view)
                await server.untilClosed()
            } client: { port in
                try await Self.followWrongState(port, isReported: !doesNotFit)
            }
        }

        @MainActor private static func followWrongState(_ port: Int, isReported: Bool) async throws {
            try await NestClient.withClient(Fixtures.configuration(port)) { client in
                let controller = FetchedResultsController(
                    fetchRequest: Fixtures.request,
                    client: client,
                    verifyDigest: true
                )
                let screen = TableScreen()
                try await screen.run(controller) {
                    try await screen.wait { controller.content.revision == Revision(5) && controller.state == .live }
                    #expect(
                        screen.takeLog()
                            == ["loading", "replaced: first", "live"] + (isReported ? ["insert 4 [0, 1]"] : [])
                            + ["did change", "reloading: mismatch", "replaced: first", "live"]
                    )
                }
            }
        }

        @Test func sectionNamesAndIndexTitlesFollowTheKey() {
            let keys: [(AttributeValue, String, String?)] = [
                (.null, "", nil), (.string(""), "", nil), (.string("milk"), "milk", "M"),
                (.string("\u{df}"), "\u{df}", "SS"),
                (.integer(42), "42", "4"), (.boolean(true), "true", "T"),
                (.date(0), "1970-01-01T00:00:00.000000Z", "1"),
            ]
            for (key, name, title) in keys {
                #expect(FetchedResultsSectionInfo.name(for: key) == name)
                #expect(FetchedResultsSectionInfo.indexTitle(for: key) == title)
            }
        }
    }
}
