import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// A server whose standard error is full, unread or closed.
    @Suite struct LogFaults {
        /// The shell command that sets up standard error and starts the server.
        enum Log: String, CaseIterable {
            case full = "exec \"$@\" 2>/dev/full"
            /// A full pipe.
            case unread =
                "mkfifo \"$0\" && exec 3<>\"$0\" && head -c 65536 /dev/zero >&3 && exec \"$@\" 2>&3"
            case closed = "exec \"$@\" 2>&-"
        }

        @Test(arguments: Log.allCases, ["text", "json"])
        func anUnwritableLogDoesNotDisturbTheServer(_ log: Log, format: String) async throws {
            let server = ServerProcess(arguments: ["--log-level", "trace", "--log-format", format])
            let fifo = "\(server.directory.path)/log"
            try await server.start(through: "sh", ["-c", log.rawValue, fifo])
            let user = await CommandLineUser(server)
            let pid = try #require(await server.process?.pid)
            for number in 0..<20 { try await user.output("add", "item \(number)") }
            #expect(try await user.output("ls").split(separator: "\n").count == 20)
            // No file or socket of the server uses the descriptor of the closed stream.
            let standardError = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/2")
            #expect([fifo, "/dev/full", "/dev/null"].contains(standardError), "\(standardError)")
            try await server.terminate()
            let check = try ChildProcess(Program.nestd, ["--check", "--store", server.storePath])
            try await check.wait(forEnd: .exit(0))
        }
    }
}
