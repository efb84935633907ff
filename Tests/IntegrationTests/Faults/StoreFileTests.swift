import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ProcessTests {
    /// Files that are not stores, or that must not be opened, are refused with a message and a status. No file is
    /// created or changed.
    @Suite struct StoreFiles {
        /// Returns a stopped server with a store that the test can damage.
        private func store(killed: Bool = false) async throws -> ServerProcess {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            for number in 0..<30 {
                try await user.output("add", "item \(number) " + String(repeating: "x", count: 300))
            }
            if killed { try await server.killNow() } else { try await server.terminate() }
            return server
        }

        private func expectRefusal(
            _ path: String,
            _ status: Int32,
            _ text: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let directory = URL(filePath: path).deletingLastPathComponent().path()
            let before = Self.contents(directory)
            let process = try ChildProcess(Program.nestd, ["--port", "0", "--store", path])
            let end = try await process.waitForEnd()
            let report = await process.report
            #expect(end == .exit(status), "\(report)", sourceLocation: sourceLocation)
            #expect(process.errors.contains(text), "\(report)", sourceLocation: sourceLocation)
            #expect(process.output == "", "\(report)", sourceLocation: sourceLocation)
            let after = Self.contents(directory)
            let changed = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
            #expect(changed == [], sourceLocation: sourceLocation)
        }

        /// Returns the regular files of a directory, except lock and shared memory files.
        private static func contents(_ directory: String) -> [String: [UInt8]] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            var contents: [String: [UInt8]] = [:]
            for name in names where !name.hasSuffix(".lock") && !name.hasSuffix("-shm") {
                var status = stat()
                guard lstat("\(directory)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
                contents[name] = FileBytes.read("\(directory)/\(name)")
            }
            return contents
        }

        @Test func filesThatAreNotStoresAreRefusedAndUnchanged() async throws {
            // Other tests use the parent of a temporary directory.
            let parent = TemporaryDirectory()
            let directory = "\(parent.path)/stores"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
            let path = "\(directory)/x.sqlite"
            FileBytes.write([], to: path)
            try await self.expectRefusal(path, 65, "the file is empty")
            FileBytes.write([UInt8](repeating: 7, count: 100), to: path + "-wal")
            try await self.expectRefusal(path, 65, "the file is empty")
            FileBytes.write(Array("a text".utf8), to: path)
            try await self.expectRefusal(path, 65, "not an SQLite file")
            unlink(path)
            try await self.expectRefusal(path, 65, "\(path)-wal")
            unlink(path + "-wal")
            FileBytes.write([1], to: path + "-journal")
            try await self.expectRefusal(path, 65, "\(path)-journal")
            unlink(path + "-journal")
            mkfifo(path, 0o600)
            try await self.expectRefusal(path, 78, "not a regular file")
            unlink(path)
            try await self.expectRefusal(directory, 78, "not a regular file")
            symlink("\(directory)/nothing", path)
            try await self.expectRefusal(path, 78, "a symbolic link to a file that does not exist")
            try await self.expectRefusal("\(directory)/none/x.sqlite", 78, "there is no directory")
        }

        @Test func storesOfOtherProgramsAndVersionsAreRefusedWithTheReason() async throws {
            let server = try await self.store()
            let path = server.storePath
            let bytes = FileBytes.read(path)
            func write(_ change: (inout [UInt8]) -> Void) {
                var changed = bytes
                change(&changed)
                FileBytes.write(changed, to: path)
            }
            write { $0.replaceSubrange(68..<72, with: [0, 0, 0, 0]) }
            try await self.expectRefusal(path, 65, "of another program")
            write { $0.replaceSubrange(60..<64, with: [0, 0, 0, 99]) }
            try await self.expectRefusal(path, 78, "a newer nestd made it")
            write { $0.replaceSubrange(60..<64, with: [0, 0, 0, 1]) }
            try await self.expectRefusal(path, 78, "export its objects")
            write { _ in }
            link(path, path + ".hard")
            try await self.expectRefusal(path, 78, "a hard link")
            unlink(path + ".hard")
            // The path is a file name, not a URI, and a link leads to the same store.
            symlink(path, "\(server.directory.path)/file:link.sqlite?mode=memory")
            let command =
                "cd '\(server.directory.path)' && exec '\(Program.nestd)' --check --store 'file:link.sqlite?mode=memory'"
            let process = try ChildProcess("/bin/sh", ["-c", command])
            try await process.wait(forEnd: .exit(0))
            #expect(process.output.contains("31 objects at revision 30, all is well"), "\(process.output)")
        }

        /// A truncated store, or a store with an overwritten page, is refused with 65, or `--check` finds the damage.
        @Test func damagedStoresAreDetected() async throws {
            let server = try await self.store()
            let path = server.storePath
            let bytes = FileBytes.read(path)
            let pages = bytes.count / 4_096
            try #require(pages > 8)
            var refused = 0
            for page in 0..<pages {
                FileBytes.write(Array(bytes[..<(page * 4_096 + 1_000)]), to: path)
                try await self.expectDamage(path, "cut off in page \(page)", &refused)
                var changed = bytes
                changed.replaceSubrange(page * 4_096..<(page + 1) * 4_096, with: repeatElement(0xa5, count: 4_096))
                FileBytes.write(changed, to: path)
                try await self.expectDamage(path, "page \(page) is overwritten", &refused)
            }
            #expect(refused > pages)
        }

        private func expectDamage(_ path: String, _ comment: Comment, _ refused: inout Int) async throws {
            let before = FileBytes.read(path)
            let check = try ChildProcess(Program.nestd, ["--check", "--store", path])
            let end = try await check.waitForEnd()
            let report = await check.report
            #expect(end == .exit(65), "\(comment): \(report)")
            #expect(FileBytes.read(path) == before, comment)
            #expect(!FileBytes.exists(path + "-wal"), comment)
            // The server may start if opening does not read the damaged page. It never creates another store.
            let process = try ChildProcess(Program.nestd, ["--port", "0", "--store", path])
            try await waitUntil("a line or the end of \(process.name)") {
                let isOver = await process.poll() != nil
                return isOver || !process.lines.isEmpty
            }
            if let end = await process.poll() {
                refused += 1
                let report = await process.report
                #expect(end == .exit(65), "\(comment): \(report)")
            } else {
                #expect(process.output.contains("revision 30"), comment)
                try await process.killNow()
            }
            for suffix in ["-wal", "-shm", ".lock"] { unlink(path + suffix) }
        }

        @Test func unwritableStoresAreRefused() async throws {
            let server = try await self.store()
            let path = server.storePath
            chmod(path, 0o444)
            chmod(server.directory.path, 0o755)
            // Root may write everything, so run the server as another user.
            let prefix = getuid() == 0 ? "exec setpriv --reuid=65534 --clear-groups" : "exec"
            let process = try ChildProcess(
                "/bin/sh",
                ["-c", "\(prefix) '\(Program.nestd)' --port 0 --store '\(path)'"]
            )
            try await process.wait(forEnd: .exit(78))
            #expect(process.errors.contains("Permission denied"), "\(process.errors)")
            chmod(path, 0o644)
        }

        /// A backup replaces a store while the old store's log is still there: the log does not belong to the backup.
        @Test func aLogOfAnotherStoreIsRefused() async throws {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            try await user.output("add", "a")
            let copy = "\(server.directory.path)/copy.sqlite"
            try await user.output("backup", copy, "--quiet")
            try await user.output("add", "b")
            try await server.killNow()
            rename(copy, server.storePath)
            try await self.expectRefusal(server.storePath, 65, "was not written for")
            unlink(server.storePath + "-wal")
            try await server.start()
            #expect(try await user.output("tree") == "a  #2\n")
        }

        /// If the store file of a running server is moved or replaced, the server stops. All acknowledged writes are in
        /// the moved file, and the other file is unchanged.
        @Test(arguments: [false, true])
        func aReplacedStoreFileStopsTheServer(byAnother: Bool) async throws {
            let server = try await ServerProcess.started()
            let other = try await self.store()
            let before = FileBytes.read(other.storePath)
            let user = await CommandLineUser(server)
            for title in ["a", "b"] { try await user.output("add", title) }
            let moved = "\(server.directory.path)/moved.sqlite"
            rename(server.storePath, moved)
            if byAnother { rename(other.storePath, server.storePath) }
            try await server.process?.wait(forEnd: .exit(74))
            let errors = try #require(await server.process?.errors)
            #expect(errors.contains(byAnother ? "was replaced by another file" : "was removed or renamed"), "\(errors)")
            if byAnother {
                #expect(FileBytes.read(server.storePath) == before)
                try await server.start()
                #expect(try await user.output("stat").contains("revision"))
                try await server.terminate()
            }
            let check = try ChildProcess(Program.nestd, ["--check", "--store", moved])
            try await check.wait(forEnd: .exit(0))
            #expect(check.output.contains("3 objects at revision 2"), "\(check.output)")
        }
    }
}
