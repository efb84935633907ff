import NestClient
import NestModel
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// Totals against a real server in this process.
    struct TotalsAgainstServerTests {
        private static let title = PropertyPath(leaf: .attribute(PropertyNumber(1)))

        private static func request(_ window: FetchWindow? = nil) -> ObjectFetchRequest {
            var request = ObjectFetchRequest.rootChildren
            request.totals = [.count, .function(.maximum, Self.title)]
            request.window = window
            return request
        }

        /// Each state that a program sees has the totals of its own rows, while several writes are in flight.
        @Test func totalsAndRowsAreOneState() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.withFetchedResults(Self.request(), verifyDigest: true) { results in
                        var changes = results.makeAsyncIterator()
                        async let writing: Void = withThrowingTaskGroup(of: Void.self) { group in
                            for number in 0..<40 {
                                group.addTask { _ = try await client.transaction(.insert("row \(number)")) }
                            }
                            try await group.waitForAll()
                        }
                        while results.state.total < 40 {
                            _ = try await changes.next()
                            let titles = results.state.sections[0].rows.compactMap(\.values.first?.stringValue)
                            let greatest = titles.max { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                            let expected: [AttributeValue] = [
                                .integer(Int64(results.state.total)), greatest.map { .string($0) } ?? .null,
                            ]
                            #expect(results.state.totals == expected)
                        }
                        try await writing
                        let fetched = try await client.fetch(Self.request())
                        #expect(fetched.totals == [.integer(40), .string("row 9")])
                    }
                }
            }
        }

        @Test func aWindowIsToldOfRowsThatItDoesNotShow() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    _ = try await client.transaction(.insert("a"))
                    let first = Self.request(.range(offset: 0, limit: 1))
                    try await client.withFetchedResults(first, verifyDigest: true) { results in
                        var changes = results.makeAsyncIterator()
                        #expect(try await changes.next() == .snapshot(.first))
                        #expect(results.state.totals == [.integer(1), .string("a")])
                        let receipt = try await client.transaction(.insert("b"))
                        while true {
                            guard case .totals(let totals) = try await changes.next() else { continue }
                            #expect(totals.values == [.integer(2), .string("b")])
                            break
                        }
                        #expect(results.state.totals == [.integer(2), .string("b")])
                        #expect(results.state.revision == receipt.revision && results.state.total == 1)
                        // A second subscriber of the same request begins with the same totals.
                        try await client.withFetchedResults(first, verifyDigest: true) { second in
                            var own = second.makeAsyncIterator()
                            let change = try await own.next()
                            #expect(change == .snapshot(.first))
                            #expect(second.state.totals == [.integer(2), .string("b")])
                        }
                        #expect(try await results.setWindow(.range(offset: 1, limit: 5)))
                        while results.state.sections[0].rows.first?.values.first != .string("b") {
                            _ = try await changes.next()
                        }
                        #expect(results.state.totals == [.integer(2), .string("b")])
                    }
                }
            }
        }
    }
}
