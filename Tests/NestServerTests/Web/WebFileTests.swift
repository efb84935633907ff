import Foundation
import NIOCore
import NestModel
import NestProtocol
import NestServer
import NestServerTestSupport
import NestStore
import NestTestSupport
import Testing

extension SocketTests {
    /// Files over the web port.
    struct WebFileTests {
        private let directory = TemporaryDirectory()

        private func write(_ name: String, _ text: String) throws {
            let url = URL(filePath: "\(self.directory.path)/\(name)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: url)
        }

        @Test func filesAreServedWithTypeTagAndRules() async throws {
            try self.write("index.html", "<p>hello")
            try self.write("sub/a b.js", "let x = 1")
            try self.write("empty.txt", "")
            try await withWebServer(root: self.directory.path) { _, port, _ in
                let page = try ServerRawConnection.httpGet("/", port: port)
                #expect(page.status == 200 && page.body == "<p>hello")
                for field in [
                    "Content-Type: text/html; charset=utf-8", "X-Content-Type-Options: nosniff",
                    "Content-Security-Policy: default-src 'self'; frame-ancestors 'none'; "
                        + "require-trusted-types-for 'script'",
                ] {
                    #expect(page.head.contains("\r\n\(field)\r\n"), "\(field)")
                }
                let script = try ServerRawConnection.httpGet("/sub/a%20b.js?v=1", port: port)
                #expect(script.body == "let x = 1" && script.head.contains("text/javascript"))
                #expect(try ServerRawConnection.httpGet("/empty.txt", port: port).status == 200)
                let head = try ServerRawConnection.httpGet("/sub/a%20b.js", port: port, method: "HEAD")
                #expect(head.status == 200 && head.head.contains("\r\nContent-Length: 9\r\n"))
                let directory = try ServerRawConnection.httpGet("/sub", port: port)
                #expect(directory.status == 308 && directory.head.contains("\r\nLocation: /sub/\r\n"))
                #expect(try ServerRawConnection.httpGet("/sub/", port: port).status == 404)
                #expect(try ServerRawConnection.httpGet("/none", port: port).status == 404)
                #expect(try ServerRawConnection.httpGet("/", port: port, method: "POST").status == 405)
            }
        }

        @Test func anUnchangedFileIsNotSentAgain() async throws {
            try self.write("a.txt", "one")
            try await withWebServer(root: self.directory.path) { _, port, _ in
                let first = try ServerRawConnection.httpGet("/a.txt", port: port)
                let tag = try #require(first.head.firstMatch(of: /\r\nETag: (\S+)\r\n/)).1
                for method in ["GET", "HEAD"] {
                    let known = "If-None-Match: \"x\", \(tag)"
                    let again = try ServerRawConnection.httpGet("/a.txt", port: port, method: method, known)
                    #expect(again.status == 304 && !again.head.contains("Content-Length"))
                }
                try self.write("a.txt", "other")
                let changed = try ServerRawConnection.httpGet("/a.txt", port: port, "If-None-Match: \(tag)")
                #expect(changed.status == 200 && changed.body == "other")
            }
        }

        /// A file of many parts arrives whole, over a connection that then serves the next request.
        @Test func largeFilesArriveWhole() async throws {
            let bytes = (0..<3 * Limits.webFilePartBytes + 5).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
            try Data(bytes).write(to: URL(filePath: "\(self.directory.path)/large"))
            try await withWebServer({ $0.socketSendBytes = 16 << 10 }, root: self.directory.path) { _, port, _ in
                let connection = try ServerRawConnection(port: port, receiveBytes: 8 << 10)
                let request = Array("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
                // The second request is already there while the first is answered.
                try connection.sendRaw(request + request)
                for _ in 0..<2 { #expect(try connection.httpAnswer().body == bytes) }
                try connection.sendRaw(request)
                #expect(try connection.httpAnswer().body == bytes)
            }
        }

        /// Links, hidden files, FIFOs and the store's own files are never sent.
        @Test func onlyRegularFilesOfTheRootAreSent() async throws {
            let outside = TemporaryDirectory()
            try Data("secret".utf8).write(to: URL(filePath: "\(outside.path)/secret.txt"))
            try self.write(".hidden", "secret")
            try self.write(".git/config", "secret")
            try self.write("seen.txt", "seen")
            let manager = FileManager.default
            try manager.createSymbolicLink(atPath: self.path("out"), withDestinationPath: outside.path)
            try manager.createSymbolicLink(
                atPath: self.path("out.txt"),
                withDestinationPath: "\(outside.path)/secret.txt"
            )
            try manager.createSymbolicLink(atPath: self.path("in.txt"), withDestinationPath: self.path("seen.txt"))
            #expect(mkfifo(self.path("fifo"), 0o600) == 0)
            try await withWebServer {
                $0.store = Store.Configuration(location: .file(self.path("nest.sqlite")), model: .nestedList)
                $0.web = WebConfiguration(host: "127.0.0.1", port: 0, root: self.directory.path)
            } _: { _, port, _ in
                let seen = try ServerRawConnection.httpGet("/seen.txt", port: port)
                #expect(seen.body == "seen")
                #expect(FileManager.default.fileExists(atPath: self.path("nest.sqlite-wal")))
                for target in [
                    "/out/secret.txt", "/out.txt", "/in.txt", "/.hidden", "/.git/config", "/%2ehidden", "/fifo",
                    "/../secret.txt", "/out/", "/nest.sqlite", "/nest.sqlite-wal", "/nest.sqlite.lock", "/seen.txt/",
                    "/seen.txt/x", "/" + String(repeating: "a", count: 5_000),
                ] {
                    let answer = try ServerRawConnection.httpGet(target, port: port)
                    #expect(answer.status == 404, "\(target)")
                }
            }
        }

        private func path(_ name: String) -> String { "\(self.directory.path)/\(name)" }

        @Test func withoutADirectoryAndAPageNothingIsServed() async throws {
            try await withWebServer {
                $0.web?.page = nil
            } _: { _, port, _ in
                for target in ["/", "/index.html", "/outline", "/page/app.js", "/etc/passwd"] {
                    let answer = try ServerRawConnection.httpGet(target, port: port)
                    #expect(answer.status == 404, "\(target)")
                }
            }
        }

        @Test func aDirectoryThatCannotBeReadIsRefusedAtTheStart() async throws {
            await #expect {
                try await withWebServer(root: self.path("none")) { _, _, _ in }
            } throws: { error in
                "\(error)".contains("--web-root")
            }
        }

        /// Files are limited in size, and in number at one time.
        @Test func filesAreLimited() async throws {
            let large = FileManager.default.createFile(atPath: self.path("large"), contents: nil)
            #expect(large && truncate(self.path("large"), off_t(Limits.webFileBytesMax + 1)) == 0)
            try await withWebServer(root: self.directory.path) { _, port, _ in
                let tooLarge = try ServerRawConnection.httpGet("/large", port: port)
                #expect(tooLarge.status == 404)
                #expect(truncate(self.path("large"), off_t(Limits.webFileBytesMax)) == 0)
                let largest = try ServerRawConnection.httpGet("/large", port: port, method: "HEAD")
                #expect(largest.status == 200)
            }
            let files = try #require(WebFiles(root: self.directory.path, hiding: []))
            var leases = (0..<Limits.webFilesOpenMax).map { _ in files.lease(of: nil) }
            #expect(leases.allSatisfy { $0 != nil } && files.lease(of: nil) == nil)
            leases.removeLast()
            #expect(files.lease(of: nil) != nil)
        }

        /// One machine cannot use up the files that may be open.
        @Test func filesOfOneAddressAreLimited() throws {
            let files = try #require(WebFiles(root: self.directory.path, hiding: []))
            let keys = try ["192.0.2.1", "192.0.2.2"].map {
                try #require(AddressKey(try SocketAddress(ipAddress: $0, port: 1)))
            }
            var leases = (0..<Limits.webFilesPerAddressMax).map { _ in files.lease(of: keys[0]) }
            #expect(leases.allSatisfy { $0 != nil } && files.lease(of: keys[0]) == nil)
            #expect(files.lease(of: keys[1]) != nil && files.lease(of: nil) != nil)
            leases.removeLast()
            #expect(files.lease(of: keys[0]) != nil)
        }

        /// A reader that is slower than the minimum rate does not keep a file open, even if it reads a little.
        @Test func aFileMustGoOutAtTheMinimumRate() async throws {
            let start = NIODeadline.uptimeNanoseconds(1)
            var progress = WebFileProgress(since: start)
            #expect(!progress.isLate(now: start + .seconds(9), grace: .seconds(10)))
            #expect(progress.isLate(now: start + .seconds(10), grace: .seconds(10)))
            progress.byteCount = 2 * Limits.webFileBytesPerSecondMin
            #expect(!progress.isLate(now: start + .seconds(11), grace: .seconds(10)))
            #expect(progress.isLate(now: start + .seconds(12), grace: .seconds(10)))
            try Data(repeating: 7, count: 4 << 20).write(to: URL(filePath: self.path("large")))
            try await withWebServer(
                {
                    $0.timing.frame = .milliseconds(100)
                    $0.socketSendBytes = 16 << 10
                },
                root: self.directory.path
            ) { port, webPort, _ in
                let slow = try ServerRawConnection(port: webPort, receiveBytes: 8 << 10)
                try slow.sendRaw(Array("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
                #expect(try slow.httpHead().hasPrefix("HTTP/1.1 200 "))
                let (other, _) = try ServerRawConnection.ready(port: port)
                try await other.wait(for: "connections") { $0 == 1 }
                #expect(try slow.bytesUntilClosed() < 4 << 20)
            }
        }

        private static func isFound(_ name: String, _ files: WebFiles) throws -> Bool {
            if case .file = files.find(try WebPath(target: "/\(name)")) { true } else { false }
        }

        /// A file of the store is hidden by what it is, not only by the path that leads to it.
        @Test func aStoreBehindALinkIsHidden() throws {
            let outside = TemporaryDirectory()
            let store = "\(outside.path)/a"
            for name in ["db", "db-wal", "db.lock", "dbase.js", "a.js"] { try self.write(name, "x") }
            try FileManager.default.createSymbolicLink(atPath: store, withDestinationPath: self.path("db"))
            #expect(link(self.path("db"), self.path("hard")) == 0)
            let files = try #require(WebFiles(root: self.directory.path, hiding: [store]))
            for name in ["db", "db-wal", "db.lock", "hard"] { #expect(try !Self.isFound(name, files), "\(name)") }
            for name in ["dbase.js", "a.js"] { #expect(try Self.isFound(name, files), "\(name)") }
            // The target may change while the server runs, as that of a renewed key does.
            try FileManager.default.removeItem(atPath: store)
            try FileManager.default.createSymbolicLink(atPath: store, withDestinationPath: self.path("dbase.js"))
            #expect(try !Self.isFound("dbase.js", files) && Self.isFound("db", files))
        }

        /// Only a file that is not there is missing. When the system lacks something, the client may ask again.
        @Test func errorsOfTheSystemAreNoMissingFiles() {
            for number in [EMFILE, ENFILE, ENOMEM, EIO] {
                guard case .unavailable = WebFiles.Finding.failure(number) else {
                    Issue.record("\(number)")
                    continue
                }
            }
            for number in [ENOENT, ENOTDIR, ELOOP, EACCES] {
                guard case .none = WebFiles.Finding.failure(number) else {
                    Issue.record("\(number)")
                    continue
                }
            }
            let slots = Descriptors.slots(wanted: 10_000, descriptors: 1_024, files: Limits.webFilesOpenMax)
            #expect(slots.served == 864 - Limits.webFilesOpenMax)
        }
    }
}
