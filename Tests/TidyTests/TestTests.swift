import NestTestSupport
import Testing

/// Rules of the tests, by which `make test-unit` knows what it may run in parallel.
@Suite struct TestTests {
    /// What opens sockets, starts processes or waits for time, as the tests write it.
    private static let outside = [
        "withServer", "withTokens", "FakeServer.run", "ServerRawConnection", "EngineThread", "ServerProcess",
        "ChildProcess(",
        "DatagramSocket(", "PlainHTTP.", "Bootstrap(", "Task.sleep", "waitUntil(", "waitFor(",
    ]

    /// A file of tests that uses one of these has its tests in `SocketTests` or `ProcessTests`, which run one after the
    /// other.
    @Test func testsWithSocketsAndProcessesAreKeptApart() throws {
        var apart = 0
        for source in try Repository.sources(under: "Tests") {
            guard source.text.contains("@Test"), !source.path.contains("/TidyTests/") else { continue }
            let used = Self.outside.filter { source.text.contains($0) }
            let isApart = source.text.contains(/^extension (Socket|Process)Tests \{$/.anchorsMatchLineEndings())
            if isApart { apart += 1 }
            #expect(used.isEmpty || isApart, "\(source.path) uses \(used)")
        }
        #expect(apart > 50)
    }

    /// All that is kept apart has a limit of time, and runs one after the other.
    @Test func testsThatAreKeptApartHaveATimeLimit() throws {
        var count = 0
        for source in try Repository.sources(under: "Tests") {
            for match in source.text.matches(of: /(@Suite[^\n]*)\n?enum (Socket|Process)Tests \{/) {
                count += 1
                #expect(match.1.contains(".serialized") && match.1.contains(".timeLimit("), "\(source.path)")
            }
        }
        #expect(count == 4)
    }

    /// The suites that `make test-unit` leaves out by their names have these names.
    @Test func longSuitesOfTheMakefileExist() throws {
        let makefile = try Repository.text("Makefile")
        let list = try #require(makefile.firstMatch(of: /\nLONG = ((?:[^\n]*\\\n)*[^\n]*)/)).1
        let names = list.matches(of: /\w+/).map { String($0.0) }
        #expect(names.count > 20)
        let text = try Repository.sources(under: "Tests").map(\.text).joined()
        for name in names { #expect(text.contains("struct \(name)"), "there is no suite \(name)") }
    }
}
