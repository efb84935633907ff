import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ProcessTests {
    /// A server with a full or failing disk.
    @Suite struct FailingDisks {
        private static let mayMount = getuid() == 0 && Self.run("unshare -m sh -c 'mount -t tmpfs none /mnt'")
        private static let hasStrace = Self.run("strace -o /dev/null true")

        private static func run(_ command: String) -> Bool {
            let process = Process()
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments = ["-c", command]
            process.standardError = FileHandle.nullDevice
            guard (try? process.run()) != nil else { return false }
            process.waitUntilExit()
            return process.terminationStatus == 0
        }

        /// A server with a small disk in its own mount namespace, which ends with the process.
        private struct SmallDisk {
            let directory = TemporaryDirectory()
            let process: ChildProcess
            let user: CommandLineUser
            /// The path of the disk for this process.
            var path: String { "/proc/\(self.process.pid)/root\(self.directory.path)" }

            init(mebibytes: Int, minFree: Int) async throws {
                let mount = "mount -t tmpfs -o size=\(mebibytes)m none '\(self.directory.path)'"
                let store = "\(self.directory.path)/nest.sqlite"
                let serve = "exec '\(Program.nestd)' --port 0 --min-free \(minFree) --store '\(store)'"
                self.process = try ChildProcess("/usr/bin/unshare", ["-m", "sh", "-c", "\(mount) && \(serve)"])
                let line = try await self.process.lines(atLeast: 1)[0]
                let match = try #require(line.firstMatch(of: /listens on 127\.0\.0\.1:([0-9]+)/))
                self.user = CommandLineUser(
                    server: "127.0.0.1:\(match.1)",
                    directory: TemporaryDirectory(),
                    session: String(repeating: "7", count: 32)
                )
            }

            func fill(mebibytes: Int) throws {
                try Data(count: mebibytes << 20).write(to: URL(filePath: "\(self.path)/filler"))
            }

            func empty() throws {
                try FileManager.default.removeItem(atPath: "\(self.path)/filler")
            }

            /// Runs `nestc add` until it exits with `status`, and returns the number of earlier attempts.
            func add(until status: Int32, size: Int) async throws -> Int {
                for count in 0..<3_000 {
                    let result = try await self.user.run("add", String(repeating: "x", count: size))
                    if result.status == status { return count }
                    try #require(result.status == 0 || result.status == 75, "\(result.report)")
                    if result.status == 75 {
                        #expect(result.errors.contains("DISK_FULL"), "\(result.report)")
                        try await Task.sleep(for: .milliseconds(100))
                    }
                }
                throw ProcessFailure("no command exited with \(status)")
            }
        }

        /// When little disk space is left, writes are refused, while reads and subscriptions go on. When space is
        /// available again, writes succeed without a restart.
        @Test(.enabled(if: mayMount, "only root can mount a small disk"))
        func writesAreRefusedWhenTheDiskIsNearlyFull() async throws {
            let disk = try await SmallDisk(mebibytes: 16, minFree: 8)
            try await disk.user.output("add", "before")
            let watcher = try disk.user.start("subscribe", "--json")
            try await watcher.waitForOutput("\"before\"")
            try disk.fill(mebibytes: 10)
            _ = try await disk.add(until: 75, size: 10)
            let refused = try await disk.user.run("add", "refused")
            #expect(refused.status == 75 && refused.errors.contains("the disk is almost full"), "\(refused.report)")
            #expect(try await disk.user.output("tree").hasPrefix("before"))
            #expect(try await disk.user.output("stat").contains("disk_short"))
            try disk.empty()
            _ = try await disk.add(until: 0, size: 10)
            try await disk.user.output("add", "after")
            try await watcher.waitForOutput("\"after\"")
            #expect(!watcher.output.contains("refused"))
            await disk.process.send(signal: SIGTERM)
            try await disk.process.wait(forEnd: .exit(0))
        }

        /// When the disk is full, the write that does not fit is refused and leaves nothing; the server keeps running.
        @Test(.enabled(if: mayMount, "only root can mount a small disk"))
        func aFullDiskLosesNothing() async throws {
            let disk = try await SmallDisk(mebibytes: 4, minFree: 0)
            let outline = (0..<2_000).map { "\($0) " + String(repeating: "x", count: 200) }.joined(separator: "\n")
            try await disk.user.output("add", "before")
            var count = 0
            var result = try await disk.user.run("import", "-", "--format", "text", input: outline)
            while result.status == 0, count < 100 {
                count += 1
                result = try await disk.user.run("import", "-", "--format", "text", input: outline)
            }
            #expect(result.status == 75 && result.errors.contains("DISK_FULL"), "\(result.report)")
            let lines = try await disk.user.output("ls").split(separator: "\n").count
            #expect(lines == 1 + count * 2_000)
            try await disk.user.output("check", "--quiet")
            let head = try await disk.user.output("stat", "--json")
            #expect(head.contains("\"revision\":\(1 + count)"), "\(head)")
            await disk.process.send(signal: SIGTERM)
            let end = try await disk.process.waitForEnd()
            // The last checkpoint may not fit; the log then keeps its contents.
            #expect(end == .exit(0) || end == .exit(74))
        }

        /// After an fdatasync fails with EIO, the server acknowledges nothing more and exits with 74. After a restart,
        /// all acknowledged writes are stored.
        @Test(.enabled(if: hasStrace, "strace is not installed, or may not trace"), arguments: [1, 4, 9])
        func afterAFailedSyncNothingIsAcknowledged(number: Int) async throws {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            try await user.output("add", "first")
            try await server.terminate()
            try await server.start(
                through: "strace",
                [
                    "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
                    "inject=fdatasync:error=EIO:when=\(number + 5)+",
                ]
            )
            var acknowledged = ["first"]
            var last: CommandLineUser.Result?
            for count in 0..<40 {
                let title = "t\(count)"
                let result = try await user.run("add", title)
                last = result
                guard result.status == 0 else { break }
                acknowledged.append(title)
            }
            // The outcome is unknown, not "not executed".
            #expect(last?.status == 79, "\(last?.report ?? "")")
            try await server.process?.wait(forEnd: .exit(74))
            #expect(try #require(await server.process?.errors).contains("the store failed: SQLite: disk I/O error"))
            try await server.start()
            let titles = try await user.output("tree", "--quiet").split(separator: "\n").map { $0.prefix { $0 != " " } }
            #expect(titles.starts(with: acknowledged.map { $0[...] }), "\(titles)")
            #expect(titles.count - acknowledged.count <= 1, "\(titles)")
            try await user.output("check", "--quiet")
        }
    }
}
