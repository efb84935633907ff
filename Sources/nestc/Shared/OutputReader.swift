import NestClient
import NestModel

/// Whoever reads standard output, when that is a pipe.
enum OutputReader {
    private static let interval = Duration.milliseconds(200)

    /// A command that may have nothing to write for hours would not notice that nobody reads it any more
    /// (`nestc subscribe | head -1`): it looks. Runs `body` and closes the client when the reader goes away; what comes
    /// of that is `OutputClosed`.
    static func closingWhenGone<Result>(_ client: NestClient, _ body: () async throws -> Result) async throws -> Result
    {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Self.isGone { try await Task.sleep(for: Self.interval) }
                await client.close()
            }
            defer { group.cancelAll() }
            do {
                return try await body()
            } catch let error as NestError where error.code == .closed && Self.isGone {
                throw OutputClosed()
            }
        }
    }

    private static var isGone: Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, 0) == 1 && output.revents & Int16(POLLERR) != 0
    }
}
