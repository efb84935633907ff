import Foundation
import NestServer
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// The page inside the program, over the web port.
    struct WebPageTests {
        private let directory = TemporaryDirectory()
        private let page = WebPage(
            files: Dictionary(
                uniqueKeysWithValues: [
                    ("page/index.html", "<p>page" as StaticString), ("page/app.js", "run()"),
                    ("client/wire/bytes.js", "let x = 1"),
                ].map { ($0.0, WebPage.File(path: $0.0, version: "v-\($0.0)", text: $0.1)) }
            ),
            index: "page/index.html",
            places: ["outline", "server"]
        )

        private func withPage(root: String? = nil, _ body: (Int) throws -> Void) async throws {
            try await withWebServer {
                $0.web = WebConfiguration(host: "127.0.0.1", port: 0, root: root, page: self.page)
            } _: { _, port, _ in
                try body(port)
            }
        }

        private func get(_ target: String, _ port: Int) throws -> (status: Int, head: String, body: String) {
            try ServerRawConnection.httpGet(target, port: port)
        }

        private func write(_ name: String, _ text: String) throws {
            let url = URL(filePath: "\(self.directory.path)/\(name)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: url)
        }

        @Test func everyAddressOfThePageShowsItsDocument() async throws {
            try await self.withPage { port in
                for target in ["/", "/?a=b", "/outline", "/outline/", "/outline/42", "/server/a%20b/c/", "/server?x"] {
                    let answer = try self.get(target, port)
                    #expect(answer.status == 200 && answer.body == "<p>page", "\(target)")
                    #expect(answer.head.contains("\r\nContent-Type: text/html; charset=utf-8\r\n"))
                    #expect(answer.head.contains("\r\nContent-Security-Policy: default-src 'self'; "))
                }
                let script = try self.get("/client/wire/bytes.js", port)
                #expect(script.body == "let x = 1" && script.head.contains("\r\nContent-Type: text/javascript"))
                for target in [
                    "/outlines", "/none", "/page", "/page/", "/page/none.js", "/page/app.js/", "/page/app.js/x",
                    "/client/wire", "/index.html", "/app.js", "/page/.app.js", "/page/%2e%2e/page/app.js",
                    "/outline/.x", "//outline",
                ] {
                    #expect(try self.get(target, port).status == 404, "\(target)")
                }
                #expect(try ServerRawConnection.httpGet("/", port: port, method: "POST").status == 405)
            }
        }

        @Test func anUnchangedFileIsNotSentAgain() async throws {
            try await self.withPage { port in
                for (target, length) in [("/page/app.js", 5), ("/outline/7", 7)] {
                    let head = try ServerRawConnection.httpGet(target, port: port, method: "HEAD")
                    #expect(head.status == 200 && head.head.contains("\r\nContent-Length: \(length)\r\n"))
                    #expect(head.head.contains("\r\nCache-Control: no-cache\r\n"))
                    let tag = try #require(head.head.firstMatch(of: /\r\nETag: (\S+)\r\n/)).1
                    for method in ["GET", "HEAD"] {
                        let known = "If-None-Match: W/\"x\", \(tag)"
                        let again = try ServerRawConnection.httpGet(target, port: port, method: method, known)
                        #expect(again.status == 304 && again.body.isEmpty, "\(method) \(target)")
                    }
                    let other = try ServerRawConnection.httpGet(target, port: port, "If-None-Match: \"v-other\"")
                    #expect(other.status == 200)
                }
            }
        }

        /// Several requests over one connection, the next ones already sent.
        @Test func aConnectionServesManyFilesOfThePage() async throws {
            try await self.withPage { port in
                let connection = try ServerRawConnection(port: port)
                let targets = ["/", "/page/app.js", "/page/none.js", "/client/wire/bytes.js"]
                let requests = targets.map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined()
                try connection.sendRaw(Array(requests.utf8))
                let answers = try targets.map { _ in String(decoding: try connection.httpAnswer().body, as: UTF8.self) }
                #expect(answers == ["<p>page", "run()", "404 there is no such file\n", "let x = 1"])
            }
        }

        @Test func filesOfADirectoryComeFirst() async throws {
            try self.write("index.html", "<p>site")
            try self.write("site.js", "site()")
            try self.write("page/app.js", "other()")
            try await self.withPage(root: self.directory.path) { port in
                for (target, body) in [
                    ("/", "<p>site"), ("/site.js", "site()"), ("/page/app.js", "other()"), ("/outline/7", "<p>page"),
                    ("/client/wire/bytes.js", "let x = 1"),
                ] {
                    let answer = try self.get(target, port)
                    #expect(answer.body == body, "\(target)")
                }
                #expect(try self.get("/none.js", port).status == 404)
            }
        }

        /// A directory with the page's files, where they are being developed, also has the document of its addresses.
        @Test func theDocumentOfADirectoryComesFirst() async throws {
            try self.write("page/index.html", "<p>other page")
            try await self.withPage(root: self.directory.path) { port in
                for target in ["/", "/outline", "/server/7/"] {
                    let answer = try self.get(target, port)
                    #expect(answer.body == "<p>other page", "\(target)")
                }
                #expect(try self.get("/page/app.js", port).body == "run()")
            }
        }
    }
}
