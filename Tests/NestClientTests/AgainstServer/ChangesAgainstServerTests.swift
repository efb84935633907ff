import NestClient
import NestModel
import NestServerTestSupport
import Testing

extension SocketTests {
    /// Change feeds and own writes against a real server in this process.
    struct ChangesAgainstServerTests {
        /// Each of two writers on the same list gets exactly its own revisions marked as own, whichever writes share a
        /// commit.
        @Test func eachClientKnowsItsOwnWrites() async throws {
            try await withServer { port, _ in
                let counts = try await withThrowingTaskGroup(of: (own: Int, others: Int).self) { group in
                    for _ in 0..<2 {
                        group.addTask {
                            try await NestClient.withClient(Fixtures.configuration(port)) {
                                try await Self.writeAndFollow($0)
                            }
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(counts.count == 2 && counts.allSatisfy { $0.own == 80 && $0.others > 0 })
            }
        }

        private static func writeAndFollow(_ client: NestClient) async throws -> (own: Int, others: Int) {
            try await client.withFetchedResults(.rootChildren, verifyDigest: true) { results in
                var changes = results.makeAsyncIterator()
                _ = try await changes.next()
                async let writing = withThrowingTaskGroup(of: Revision.self) { group in
                    // Several writes in flight, so that one batch contains several of them.
                    for number in 0..<80 {
                        group.addTask { try await client.transaction(.insert("row \(number)")).revision }
                    }
                    return try await group.reduce(into: Set<Revision>()) { $0.insert($1) }
                }
                var reported: Set<Revision> = []
                var spans: [ResultsDiff] = []
                while reported.count < 80 || results.state.total < 160 {
                    guard case .diff(let diff) = try await changes.next() else { continue }
                    #expect(reported.isDisjoint(with: diff.ownRevisions))
                    reported.formUnion(diff.ownRevisions)
                    spans.append(diff)
                }
                let written = try await writing
                #expect(reported == written)
                for diff in spans {
                    let expected = written.filter { $0 > diff.from && $0 <= diff.to }.sorted()
                    #expect(diff.ownRevisions == expected)
                }
                return (reported.count, spans.count { !$0.isOwn } + 160 - reported.count)
            }
        }

        /// Followers that start immediately, in the middle or from the beginning all get the same changes in order.
        @Test func everyFollowerGetsTheSameChanges() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withChanges { live in
                        var events = live.makeAsyncIterator()
                        guard case .following(let start) = try await events.next() else {
                            Issue.record("the feed does not begin")
                            return
                        }
                        var ids: [ObjectID] = []
                        for number in 0..<50 {
                            ids += try await client.transaction(.insert("row \(number)")).insertedIDs
                        }
                        _ = try await client.transaction(
                            WriteTransaction(name: "gone", mutations: [.delete(.object(ids[0]))])
                        )
                        let first = try await Self.take(51, from: live)
                        #expect(first.map(\.revision) == (1...51).map { Revision($0) })
                        #expect(first.dropLast().map { $0.objects.map(\.id) } == ids.map { [$0] })
                        #expect(first.last?.name == "gone" && first.last?.objects.first?.kind == .deleted)
                        let again = try await client.withChanges(since: start) { try await Self.take(51, from: $0) }
                        #expect(again == first)
                        let half = ResumePoint(historyID: start.historyID, revision: Revision(20))
                        let rest = try await client.withChanges(since: half) { try await Self.take(31, from: $0) }
                        #expect(rest == Array(first.dropFirst(20)))
                    }
                    let ahead = ResumePoint(
                        historyID: try #require(await client.server?.historyID),
                        revision: Revision(1_000)
                    )
                    try await client.withChanges(since: ahead) { changes in
                        let error = await #expect(throws: NestError.self) { for try await _ in changes {} }
                        #expect(error?.code == .revisionNotReached)
                    }
                    // The feeds that ended have left no subscription.
                    let statistics = try await client.statistics()
                    #expect(statistics.first { $0.name == "change_subscriptions" }?.value == 0)
                }
            }
        }

        private static func take(_ count: Int, from changes: Changes) async throws -> [ChangeSetPart] {
            var parts: [ChangeSetPart] = []
            for try await event in changes {
                if case .changes(let part) = event { parts.append(part) }
                if parts.count == count { break }
            }
            return parts
        }
    }
}
