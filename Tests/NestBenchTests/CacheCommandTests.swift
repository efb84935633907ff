import ArgumentParser
import NestTestSupport
import Testing

@testable import nestbench

@Suite struct CacheCommandTests {
    /// The client must take the state that the benchmark has put into the cache: else it would wait for a server.
    @Test func aCacheIsMeasuredWithoutAServer() async throws {
        let directory = TemporaryDirectory()
        let arguments = ["cache", "--rows", "50", "--diffs", "20", "--rounds", "1", "--directory", directory.path]
        let command = try #require(try NestBench.parseAsRoot(arguments) as? CacheCommand)
        await #expect(throws: Never.self) { try await command.run() }
    }
}
