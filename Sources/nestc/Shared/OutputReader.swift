import NestClient
import NestModel

/// Watches for the reader of standard output to go away, when standard output is a pipe.
enum OutputReader {
    private static let interval = Duration.milliseconds(200)

    /// Runs `body`. If the reader goes away, closes the client and throws `OutputClosed`. A command that has nothing to
    /// write for hours would not notice that by writing (`nestc subscribe | head -1`), so this checks the pipe at
    /// intervals.
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
