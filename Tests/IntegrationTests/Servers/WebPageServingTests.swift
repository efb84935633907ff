import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// The page that nestd has inside.
    @Suite struct WebPageServingTests {
        /// The directories of the repository, by the beginning of the addresses of their files.
        private static let origins = ["/page/": "Page/", "/client/": "Clients/js/"]

        private func withPage(_ body: (Int) throws -> Void) async throws {
            let process = try ChildProcess(Program.nestd, ["--memory", "--port", "0", "--web", "127.0.0.1:0"])
            let lines = try await process.lines(atLeast: 2)
            let port = try #require(lines[1].firstMatch(of: /its page to browsers at http:\/\/127\.0\.0\.1:(\d+)\/$/)).1
            try body(try #require(Int(port)))
            await process.send(signal: SIGTERM)
            #expect(try await process.waitForEnd() == .exit(0))
        }

        /// Returns the addresses that the code of a file names, resolved against its own.
        private static func references(in text: String, at path: String) -> Set<String> {
            let code = text.split(separator: "\n").filter { line in
                // Comments name types of other modules.
                let line = line.drop { $0 == " " }
                return !line.hasPrefix("*") && !line.hasPrefix("/*") && !line.hasPrefix("//")
            }.joined(separator: "\n")
            let quoted = code.matches(of: /['"]((?:\.{1,2}|\/page|\/client)\/[\w\-.\/]+\.(?:js|css|svg))['"]/)
            let base = URL(string: "http://localhost\(path)")
            return Set(quoted.compactMap { URL(string: String($0.1), relativeTo: base)?.absoluteURL.path() })
        }

        /// Follows all references from the document on. Each leads to a file that is served, and is in the repository
        /// with the same text.
        @Test func everyFileThatThePageLoadsIsServed() async throws {
            try await self.withPage { port in
                var seen: Set<String> = []
                var next = Self.references(in: try PlainHTTP.get("/", port: port).body, at: "/")
                #expect(next.contains("/page/app.js"))
                while let path = next.popFirst() {
                    guard seen.insert(path).inserted else { continue }
                    let answer = try PlainHTTP.get(path, port: port)
                    #expect(answer.status == 200, "\(path)")
                    let origin = try #require(Self.origins.first { path.hasPrefix($0.key) }, "\(path)")
                    let name = origin.value + path.dropFirst(origin.key.count)
                    #expect(try answer.body == Repository.text(name), "\(path)")
                    let type = answer.headers["content-type"] ?? ""
                    for (end, wanted) in [(".js", "text/javascript"), (".css", "text/css"), (".svg", "image/svg+xml")] {
                        #expect(!path.hasSuffix(end) || type.hasPrefix(wanted), "\(path): \(type)")
                    }
                    next.formUnion(Self.references(in: answer.body, at: path))
                }
                #expect(seen.count > 40 && seen.contains("/client/wire/bytes.js"), "\(seen.count)")
                let places = try Repository.text("Page/app.js").matches(
                    of: /load: \(\) => import\('\.\/(\w+)\/page\.js'\)/
                )
                #expect(places.count == 5)
                for place in places {
                    #expect(seen.contains("/page/\(place.1)/page.js"))
                    #expect(try PlainHTTP.get("/\(place.1)/x", port: port).body == Repository.text("Page/index.html"))
                }
            }
        }

        @Test func thePageIsAsInTheRepository() async throws {
            try await self.withPage { port in
                let ofDevelopers = ["Page/test/", "Page/bench/", "Page/pictures/"]
                let files = try Repository.files(under: "Page").filter { name in
                    [".html", ".js", ".css", ".svg"].contains { name.hasSuffix($0) }
                        && !ofDevelopers.contains { name.hasPrefix($0) }
                }
                #expect(files.count > 10)
                for name in files {
                    let answer = try PlainHTTP.get("/page/\(name.dropFirst("Page/".count))", port: port)
                    #expect(try answer.status == 200 && answer.body == Repository.text(name), "\(name)")
                }
                for name in ["test/browser/stage.js", "bench/scroll.js", "pictures/take.js"] {
                    #expect(try PlainHTTP.get("/page/\(name)", port: port).status == 404, "\(name)")
                }
                for name in ["README.md", "node.js", "transports/tcp.js", "test/live/support.js", "index.d.ts"] {
                    #expect(try PlainHTTP.get("/client/\(name)", port: port).status == 404, "\(name)")
                }
            }
        }
    }
}
