import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ProcessTests {
    /// Backups during writes, restored stores, and checks.
    @Suite struct Backups {
        @Test func aBackupIsOneRevisionAndStartsANewHistory() async throws {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            for number in 0..<40 { try await user.output("add", "item \(number)") }
            let client = NestClient(await server.configuration())
            let copy = "\(server.directory.path)/copy.sqlite"
            // Other clients write during the backup, which must contain each commit wholly or not at all.
            let writing = Task {
                var count = 0
                while !Task.isCancelled {
                    let pair = [
                        Item.insert("pair \(count) a", under: Item.root),
                        Item.insert("pair \(count) b", under: Item.root),
                    ]
                    _ = try await client.transaction(WriteTransaction(mutations: pair))
                    count += 1
                }
                return count
            }
            let line = try await user.output("backup", copy, "--json")
            writing.cancel()
            _ = try? await writing.value
            await client.close()
            let match = try #require(
                line.firstMatch(of: /"revision":([0-9]+),"history":"([0-9a-f]{32})","bytes":([0-9]+)/)
            )
            let revision = try #require(Int(match.1))
            var status = stat()
            #expect(stat(copy, &status) == 0 && status.st_mode & 0o777 == 0o600)
            #expect(Int(status.st_size) == Int(match.3))
            try await server.terminate()

            // The restored store has that state and a new history id, which stays the same after a restart.
            let restored = ServerProcess()
            rename(copy, restored.storePath)
            try await restored.start()
            let again = await CommandLineUser(restored)
            let history = try #require(
                try await restored.process?.lines(atLeast: 1)[0].firstMatch(
                    of: /history ([0-9a-f]+), revision ([0-9]+)/
                )
            )
            #expect(history.1 != match.2)
            #expect(Int(history.2) == revision)
            // The log says both histories, once.
            let log = try #require(await restored.process?.errors)
            #expect(log.contains("store.restored") && log.contains("backupOf=\(match.2)"), "\(log)")
            #expect(log.contains("history=\(history.1)"), "\(log)")
            let titles = try await again.output("ls").split(separator: "\n")
            #expect(titles.count == 40 + 2 * (revision - 40))
            try await again.output("check", "--quiet")
            try await restored.restart()
            let second = try #require(
                try await restored.process?.lines(atLeast: 1)[0].firstMatch(of: /history ([0-9a-f]+)/)
            )
            #expect(second.1 == history.1)
            // The restored store has the undo history.
            try await again.output("history", "--all")
        }

        /// Subscribers of a store that was replaced by a backup get a reset and a new snapshot.
        @Test func clientsOfARestoredStoreGetANewSnapshot() async throws {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            try await user.output("add", "kept")
            let copy = "\(server.directory.path)/copy.sqlite"
            try await user.output("backup", copy, "--quiet")
            try await user.output("add", "lost")
            let watcher = try user.start("subscribe", "--json")
            try await watcher.waitForOutput("\"lost\"")
            try await server.terminate()
            rename(copy, server.storePath)
            try await server.start()
            try await watcher.waitForOutput("\"event\":\"reset\"")
            let snapshot = try await Self.lastSnapshot(watcher)
            #expect(snapshot.contains("\"kept\"") && !snapshot.contains("\"lost\""), "\(snapshot)")
        }

        private static func lastSnapshot(_ watcher: ChildProcess) async throws -> String {
            while true {
                let lines = watcher.lines.filter { $0.contains("\"event\":\"snapshot\"") }
                if lines.count > 1 { return lines[lines.count - 1] }
                try await Task.sleep(for: .milliseconds(10))
            }
        }

        /// If the server dies or the path cannot be written, the backup leaves no file or the previous file.
        @Test func aFailedBackupLeavesNoFile() async throws {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            try await user.output("import", "-", "--format", "text", "--quiet", input: Self.outline)
            let copy = "\(server.directory.path)/backups/copy.sqlite"
            let result = try await user.run("backup", copy)
            #expect(result.status == 74, "\(result.report)")
            mkdir("\(server.directory.path)/backups", 0o755)
            let before = ContinuousClock.now
            try await user.output("backup", copy, "--quiet")
            let whole = before.duration(to: .now)
            var failureCount = 0
            // The first round kills the server at once, so that at least one backup fails.
            for round in 0..<4 {
                FileBytes.write([1, 2, 3], to: copy)
                let backup = try user.start("backup", copy)
                try await Task.sleep(for: whole * round / 4)
                try await server.killNow()
                let end = try await backup.waitForEnd()
                let files = try FileManager.default.contentsOfDirectory(atPath: "\(server.directory.path)/backups")
                #expect(files == ["copy.sqlite"], "\(files)")
                if end == .exit(0) {
                    #expect(FileBytes.read(copy) != [1, 2, 3])
                } else {
                    failureCount += 1
                    #expect(FileBytes.read(copy) == [1, 2, 3])
                }
                try await server.start()
            }
            #expect(failureCount > 0)
            // The store's directory contains no partial file either.
            let files = try FileManager.default.contentsOfDirectory(atPath: server.directory.path)
            #expect(!files.contains { $0.contains("partial") }, "\(files)")
            try await user.output("backup", copy, "--quiet")
            let check = try ChildProcess(Program.nestd, ["--check", "--store", copy])
            try await check.wait(forEnd: .exit(0))
        }

        private static let outline = (0..<20_000).map { "item \($0)" }.joined(separator: "\n")

        @Test func checkReportsTheFaultsOfAStore() async throws {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            for title in ["a", "b", "c"] { try await user.output("add", title) }
            let healthy = try await user.run("check")
            #expect(
                healthy.status == 0 && healthy.errors.contains("checked 4 objects at revision 3: all is well"),
                "\(healthy.report)"
            )
            let cases = [
                ("UPDATE Item SET parent = 99 WHERE id = 2", "Item #2: parent leads to nothing"),
                (
                    "UPDATE Item SET parent = 1 WHERE id = 2; UPDATE Item SET parent = 3 WHERE id = 3",
                    "Item #3: parent is part of a cycle"
                ),
                (
                    "UPDATE Item SET parent = 1, nest_parent_position = 5 WHERE id > 1",
                    "Item #2: parent: two objects have the same position"
                ),
                (
                    "UPDATE Item SET nest_parent_position = id * 100; UPDATE Item SET parent = NULL WHERE id = 4",
                    "Item #4: parent: a position without an owner"
                ),
                (
                    "UPDATE Item SET nest_parent_position = NULL WHERE id = 4 OR id = 1; UPDATE Item SET nest_revision = 99 WHERE id = 4",
                    "Item #4: a row is newer than the store"
                ),
                ("UPDATE Item SET nest_revision = 3; DELETE FROM nest_journal WHERE last_revision = 2", "the journal"),
            ]
            for (sql, problem) in cases {
                try await server.terminate()
                try StoredFile.change(server.storePath, "PRAGMA foreign_keys = OFF; \(sql)")
                let offline = try ChildProcess(Program.nestd, ["--check", "--store", server.storePath])
                try await offline.wait(forEnd: .exit(65))
                #expect(offline.output.contains(problem), "\(sql): \(offline.output)")
                try await server.start()
                let result = try await user.run("check", "--json")
                #expect(result.status == 1 && result.output.contains(problem), "\(sql): \(result.report)")
            }
        }
    }
}
