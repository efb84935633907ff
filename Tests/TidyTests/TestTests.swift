import NestTestSupport
import Testing

/// Rules for test files. `make test-unit` relies on them to select the tests that can run in parallel.
@Suite struct TestTests {
    /// The texts that occur in a test file that opens sockets, starts processes or waits for time.
    private static let outside = [
        "withServer", "withWebServer", "withTokens", "FakeServer.run", "ServerRawConnection", "EngineThread",
        "ServerProcess",
        "ChildProcess(", "Terminal(", "Screen(", "PageReader(", "DatagramSocket(", "PlainHTTP.", "Bootstrap(",
        "PostgresServer.started", "LogFixture.started", "LimitUnderTest",
        "Task.sleep", "waitUntil(", "waitFor(",
    ]

    /// A test file that contains one of these texts puts its tests in `SocketTests` or `ProcessTests`, which run
    /// serially.
    @Test func testsWithSocketsAndProcessesAreInSerialSuites() throws {
        var apart = 0
        for source in try Repository.sources(under: "Tests") {
            guard source.text.contains("@Test"), !source.path.contains("/TidyTests/") else { continue }
            let used = Self.outside.filter { Self.contains($0, source.text) }
            let isApart = source.text.contains(/^extension (Socket|Process)Tests \{$/.anchorsMatchLineEndings())
            if isApart { apart += 1 }
            #expect(used.isEmpty || isApart, "\(source.path) uses \(used)")
        }
        #expect(apart > 50)
    }

    /// Whether a text occurs as a word of its own, and not as the end of a longer name.
    private static func contains(_ name: String, _ text: String) -> Bool {
        text.ranges(of: name).contains { range in
            guard range.lowerBound > text.startIndex else { return true }
            let before = text[text.index(before: range.lowerBound)]
            return !before.isLetter && !before.isNumber
        }
    }

    /// A client of a test or a benchmark has no session of the user who runs it, and writes none.
    @Test func clientsOfTestsDoNotKeepTheirSessions() throws {
        let call = /\bClientConfiguration\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/
        var count = 0
        for directory in ["Tests", "bench"] {
            for source in try Repository.sources(under: directory)
            where !source.path.contains("/Tests/Consumer/") && !source.text.contains(".sessionDirectory = ") {
                for match in source.text.matches(of: call) {
                    count += 1
                    #expect(match.0.contains("session: "), "\(source.path): \(match.0)")
                }
            }
        }
        #expect(count > 30)
    }

    /// `SocketTests` and `ProcessTests` are serialized and have a time limit.
    @Test func serialSuitesHaveATimeLimit() throws {
        var count = 0
        for source in try Repository.sources(under: "Tests") {
            for match in source.text.matches(of: /(@Suite[^\n]*)\n?enum (Socket|Process)Tests \{/) {
                count += 1
                #expect(match.1.contains(".serialized") && match.1.contains(".timeLimit("), "\(source.path)")
            }
        }
        #expect(count == 6)
    }

    /// Every suite that `make test-unit` skips by name exists.
    @Test func longSuitesOfTheMakefileExist() throws {
        let makefile = try Repository.text("Makefile")
        let list = try #require(makefile.firstMatch(of: /\nLONG = ((?:[^\n]*\\\n)*[^\n]*)/)).1
        let names = list.matches(of: /\w+/).map { String($0.0) }
        #expect(names.count > 20)
        let text = try Repository.sources(under: "Tests").map(\.text).joined()
        for name in names { #expect(text.contains("struct \(name)"), "there is no suite \(name)") }
    }
}
