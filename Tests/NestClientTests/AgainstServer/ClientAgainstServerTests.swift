import NestClient
import NestModel
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// The client library against a real server in this process.
    struct ClientAgainstServerTests {
        /// While several writers write at once, every subscriber checks the digest of every state and ends with the
        /// result of a fetch.
        @Test func subscribersReachTheStateOfAFetch() async throws {
            try await withServer { port, _ in
                let configuration = Fixtures.configuration(port)
                try await NestClient.withClient(configuration) { client in
                    try await withThrowingTaskGroup(of: SectionedSnapshot?.self) { group in
                        for _ in 0..<3 {
                            group.addTask { try await Self.follow(configuration) }
                        }
                        // Two subscribers of the same view on one connection.
                        for _ in 0..<2 {
                            group.addTask { try await Self.follow(client) }
                        }
                        for seed in 0..<3 as Range<UInt64> {
                            group.addTask {
                                try await Self.write(configuration, seed: seed)
                                return nil
                            }
                        }
                        for _ in 0..<3 { _ = try await Self.nextWriter(&group) }
                        _ = try await client.transaction(.insert(Self.last))
                        let fetched = try await client.fetch(.rootChildren)
                        for try await state in group {
                            guard let state else { continue }
                            #expect(state.sections == fetched.sections)
                        }
                    }
                }
            }
        }

        private static let last = "the last"

        private static func nextWriter(_ group: inout ThrowingTaskGroup<SectionedSnapshot?, any Error>) async throws {
            // Subscribers end only after the last row exists, so the task that ends now is a writer.
            let ended = try await group.next()
            #expect(ended == .some(nil))
        }

        private static func follow(_ configuration: ClientConfiguration) async throws -> SectionedSnapshot {
            try await NestClient.withClient(configuration) { try await Self.follow($0) }
        }

        private static func follow(_ client: NestClient) async throws -> SectionedSnapshot {
            try await client.withFetchedResults(.rootChildren, verifyDigest: true) { results in
                for try await change in results {
                    if case .reset(let reset) = change { Issue.record("\(reset.message)") }
                    if results.state.sections[0].rows.last?.values.first == .string(Self.last) { break }
                }
                return results.state
            }
        }

        /// Inserts, edits, moves, deletes and undoes at random. The server may refuse a request because another writer
        /// deleted the object.
        private static func write(_ configuration: ClientConfiguration, seed: UInt64) async throws {
            var random = SeededRandom(seed: seed)
            try await NestClient.withClient(configuration) { client in
                var mine: [ObjectID] = []
                for step in 0..<60 {
                    do {
                        let id = mine.randomElement(using: &random)
                        switch (random.below(6), id) {
                        case (0, let id?):
                            let value = PropertyAssignment(PropertyNumber(1), .value(.string("edit \(step)")))
                            _ = try await client.transaction(
                                WriteTransaction(mutations: [.update(.object(id), values: [value])])
                            )
                        case (1, let id?):
                            let place: Place = random.oneIn(2) ? .first : .at(random.below(5))
                            let root = ObjectReference.object(ObjectID(1))
                            let placement = Placement(relationship: PropertyNumber(5), owner: root, place: place)
                            _ = try await client.transaction(
                                WriteTransaction(mutations: [.move(.object(id), placement)])
                            )
                        case (2, let id?):
                            _ = try await client.transaction(WriteTransaction(mutations: [.delete(.object(id))]))
                        case (3, _): _ = try await client.undo()
                        case (4, _): _ = try await client.redo()
                        default:
                            mine += try await client.transaction(.insert("row \(step)", "and another")).insertedIDs
                        }
                    } catch let error as NestError {
                        let code = error.code
                        let isRefusal = code.rawValue >> 8 == 0x04 || code == .indexOutOfRange
                        #expect(isRefusal, "seed \(seed), step \(step): \(error)")
                    }
                }
            }
        }

        /// Subscribers join and leave one view, with differently spelled requests. The remaining ones lose no change; a
        /// subscriber that joins after all have left gets a snapshot.
        @Test func subscribersOfOneViewJoinAndLeave() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    for round in 0..<3 {
                        try await client.withFetchedResults(Fixtures.request, verifyDigest: true) { outer in
                            var changes = outer.makeAsyncIterator()
                            #expect(try await changes.next() == .snapshot(.first))
                            try await client.withFetchedResults(Fixtures.requestTwice, verifyDigest: true) { inner in
                                var changesOfInner = inner.makeAsyncIterator()
                                let first = try await changesOfInner.next()
                                #expect(first == .snapshot(.first))
                                #expect(inner.state == outer.state)
                            }
                            let receipt = try await client.transaction(.insert("round \(round)"))
                            while outer.state.revision < receipt.revision { _ = try await changes.next() }
                            #expect(outer.state.total == round + 1)
                        }
                    }
                    // All subscribers have left: the server holds no subscription.
                    let statistics = try await client.statistics()
                    let subscriptions = statistics.first { $0.name == "subscriptions" }
                    #expect(subscriptions?.value == 0)
                }
            }
        }

        @Test func anExportReturnsTheRowsOfTheImport() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    var random = SeededRandom(seed: 1)
                    var depth = -1
                    let rows = (0..<30_000).map { index in
                        depth = random.below(min(depth + 2, 50))
                        return SubtreeRow(depth: depth, id: nil, values: [.string("row \(index)")])
                    }
                    var sent = false
                    let request = SubtreeImport(
                        entity: EntityNumber(1),
                        placement: Placement(
                            relationship: PropertyNumber(5),
                            owner: .object(ObjectID(1)),
                            place: .last
                        ),
                        properties: [PropertyNumber(1)]
                    )
                    let receipt = try await client.importSubtree(request) {
                        defer { sent = true }
                        return sent ? nil : rows
                    }
                    #expect(receipt.insertedCount == rows.count)
                    let fetch = SubtreeRequest(
                        root: ObjectID(1),
                        relationship: PropertyNumber(6),
                        properties: [PropertyNumber(1)]
                    )
                    let back = try await client.fetchSubtree(fetch) { subtree in
                        var back: [SubtreeRow] = []
                        for try await chunk in subtree { back += chunk }
                        return back
                    }
                    #expect(
                        back.dropFirst().map { "\($0.depth - 1) \($0.values)" }
                            == rows.map { "\($0.depth) \($0.values)" }
                    )
                }
            }
        }
    }
}
