import NestClient
import NestModel
import NestServerTestSupport
import NestTestSupport
import Testing

extension ObjectFetchRequest {
    fileprivate static func window(_ window: FetchWindow?) -> ObjectFetchRequest {
        var request = ObjectFetchRequest.rootChildren
        request.window = window
        return request
    }
}

extension SocketTests {
    /// Windows, request changes and pauses against a real server in this process.
    struct WindowsAgainstServerTests {
        private static func ids(_ state: SectionedSnapshot) -> [Int64] { state.sections[0].rows.map(\.id.rawValue) }

        /// Takes changes until the state satisfies a condition.
        private static func take(
            _ changes: inout ResultsSubscription.AsyncIterator,
            _ results: ResultsSubscription,
            until isReached: (SectionedSnapshot) -> Bool
        ) async throws {
            while !isReached(results.state) { _ = try await changes.next() }
        }

        @Test func movingAWindowSendsADifference() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    for _ in 0..<10 { _ = try await client.transaction(.insert("a", "b", "c", "d", "e")) }
                    let request = ObjectFetchRequest.window(.range(offset: 10, limit: 5))
                    try await client.withFetchedResults(request, verifyDigest: true) { results in
                        var changes = results.makeAsyncIterator()
                        #expect(try await changes.next() == .snapshot(.first))
                        #expect(Self.ids(results.state) == [12, 13, 14, 15, 16])
                        #expect(results.state.window?.total == 50 && results.state.window?.start.row == 10)
                        #expect(try await results.setWindow(.range(offset: 13, limit: 5)))
                        guard case .diff(let diff) = try await changes.next() else {
                            Issue.record("no diff")
                            return
                        }
                        #expect(diff.deletedRows.map(\.reason) == [.outOfWindow, .outOfWindow, .outOfWindow])
                        #expect(Self.ids(results.state) == [15, 16, 17, 18, 19])
                        #expect(results.request.window == .range(offset: 13, limit: 5))
                        // The server refuses this window: the old one stays in force.
                        await #expect(throws: NestError.self) {
                            try await results.setWindow(.around(ObjectID(4_000), before: 1, after: 1))
                        }
                        #expect(results.request.window == .range(offset: 13, limit: 5))
                        _ = try await client.transaction(WriteTransaction(mutations: [.delete(.object(ObjectID(2)))]))
                        try await Self.take(&changes, results) { Self.ids($0) == [16, 17, 18, 19, 20] }
                        // All rows, then only those around an anchor.
                        try await results.setWindow(nil)
                        try await Self.take(&changes, results) { $0.total == 49 }
                        #expect(results.state.window == nil)
                        try await results.setWindow(.around(ObjectID(30), before: 1, after: 1))
                        try await Self.take(&changes, results) { Self.ids($0) == [29, 30, 31] }
                        #expect(results.state.window?.anchor == ObjectID(30))
                        _ = try await client.transaction(WriteTransaction(mutations: [.delete(.object(ObjectID(30)))]))
                        try await Self.take(&changes, results) { Self.ids($0) == [29, 31, 32] }
                        #expect(results.state.window?.anchor == ObjectID(31))
                    }
                }
            }
        }

        /// After many quick changes, as during typing, the last one is in force, and every call returns.
        @Test func theLastOfSeveralQuickWindowChangesWins() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    for _ in 0..<10 { _ = try await client.transaction(.insert("a", "b", "c", "d", "e")) }
                    try await client.withFetchedResults(.window(.range(offset: 0, limit: 3)), verifyDigest: true) {
                        results in
                        var changes = results.makeAsyncIterator()
                        _ = try await changes.next()
                        let made = try await withThrowingTaskGroup(of: Bool.self) { group in
                            for offset in 1...30 {
                                group.addTask {
                                    try await results.change(to: .window(.range(offset: offset, limit: 3)))
                                }
                            }
                            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                        }
                        #expect(made >= 1)
                        try await results.setWindow(.range(offset: 40, limit: 3))
                        try await Self.take(&changes, results) { Self.ids($0) == [42, 43, 44] }
                        let statistics = try await client.statistics()
                        #expect(statistics.first { $0.name == "subscriptions" }?.value == 1)
                    }
                }
            }
        }

        /// Two subscribers share a view. One changes to another window, and the other keeps its rows.
        @Test func aWindowChangeOfOneSubscriberLeavesTheOtherUnchanged() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    _ = try await client.transaction(.insert("a", "b", "c"))
                    try await client.withFetchedResults(.rootChildren, verifyDigest: true) { first in
                        var changesOfFirst = first.makeAsyncIterator()
                        _ = try await changesOfFirst.next()
                        try await client.withFetchedResults(.rootChildren, verifyDigest: true) { second in
                            var changesOfSecond = second.makeAsyncIterator()
                            _ = try await changesOfSecond.next()
                            try await second.setWindow(.range(offset: 1, limit: 1))
                            try await Self.take(&changesOfSecond, second) { Self.ids($0) == [3] }
                            _ = try await client.transaction(.insert("d"))
                            try await Self.take(&changesOfFirst, first) { Self.ids($0) == [2, 3, 4, 5] }
                            try await Self.take(&changesOfSecond, second) { $0.window?.total == 4 }
                            #expect(first.request == .rootChildren && Self.ids(second.state) == [3])
                        }
                    }
                }
            }
        }

        /// A paused client has no subscription on the server. After the pause it gets the changes as one difference.
        @Test func resumingAfterAPauseSendsOneDifference() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    _ = try await client.transaction(.insert("a", "b", "c"))
                    try await client.withFetchedResults(.rootChildren, verifyDigest: true) { results in
                        var changes = results.makeAsyncIterator()
                        _ = try await changes.next()
                        let held = results.state.revision
                        await results.pause()
                        var statistics = try await client.statistics()
                        #expect(statistics.first { $0.name == "subscriptions" }?.value == 0)
                        var latest = held
                        for title in ["d", "e", "f"] { latest = try await client.transaction(.insert(title)).revision }
                        #expect(try await changes.next() == .paused)
                        await results.resume()
                        #expect(try await changes.next() == .resumed(held))
                        guard case .diff(let diff) = try await changes.next() else {
                            Issue.record("no diff")
                            return
                        }
                        #expect(diff.from == held && diff.to == latest && diff.insertedRows.count == 3)
                        #expect(diff.isOwn)
                        statistics = try await client.statistics()
                        #expect(statistics.first { $0.name == "subscriptions" }?.value == 1)
                    }
                }
            }
        }
    }
}
