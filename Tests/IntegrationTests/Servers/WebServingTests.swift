import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// The port for browsers of a nestd: its settings, and what nestd prints.
    @Suite struct WebServingTests {
        private func faults(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> [String] {
            let process = try ChildProcess(
                Program.nestd,
                ["--memory", "--check-config"] + arguments,
                environment: environment
            )
            let end = try await process.waitForEnd()
            #expect(end == (process.errors.isEmpty ? .exit(0) : .exit(78)), "\(process.errors)")
            return process.errors.split(separator: "\n").map(String.init)
        }

        @Test func faultsOfTheSettingsSayWhatToDo() async throws {
            let web = ["--web", "127.0.0.1:7080"]
            #expect(try await self.faults(web + ["--web-name", "a.example", "--web-name", "b.example"]).isEmpty)
            #expect(try await self.faults(web + ["--web-origin", "http://localhost:3000"]).isEmpty)
            #expect(try await self.faults([], ["NESTD_WEB_ADDRESS": "[::1]:0", "NESTD_WEB_ROOT": "/"]).isEmpty)
            #expect(try await self.faults(web + ["--no-web-page"], ["NESTD_WEB_PAGE": "true"]).isEmpty)
            for (arguments, part) in [
                (["--web", "7080"], "--web must be a host and a port"),
                (["--web", "::1:7080"], "--web must be a host"),
                (["--web", "127.0.0.1:70000"], "--web must be a host"),
                (["--web-root", "/"], "--web-root needs --web"),
                (["--web-name", "a"], "--web-name needs --web"), (["--web-origin", "a"], "--web-origin needs --web"),
                (["--web-page"], "--web-page needs --web"), (["--no-web-page"], "--web-page needs --web"),
                (web + ["--web-name", "a:1"], "--web-name must be a name without a port"),
                (web + ["--web-origin", "localhost:3000"], "--web-origin must be a scheme, a host"),
                (web + ["--web-origin", "http://a/b"], "--web-origin must be a scheme, a host"),
                (web + ["--web-root", "/nowhere"], "--web-root: there is no directory /nowhere"),
                (["--web", "0.0.0.0:7080"], "Or use --web 127.0.0.1:7080, or add --insecure"),
            ] {
                let faults = try await self.faults(arguments)
                #expect(faults.count == 1 && faults.first?.contains(part) == true, "\(arguments): \(faults)")
            }
            let named = try await self.faults([], ["NESTD_WEB_NAMES": "a"])
            #expect(named.first?.contains("NESTD_WEB_NAMES needs NESTD_WEB_ADDRESS") == true, "\(named)")
        }

        /// The page is served without a directory, or with `--web-page`; a directory alone takes its place.
        @Test(
            arguments: [
                ([], true, true), (["--no-web-page"], false, false), (["--web-root", "."], false, false),
                (["--web-root", ".", "--web-page"], true, true),
            ]
        ) func theDirectoryTakesThePlaceOfThePage(_ options: [String], _ isPrinted: Bool, _ isServed: Bool) async throws
        {
            let directory = TemporaryDirectory()
            let options = options.map { $0 == "." ? directory.path : $0 }
            let process = try ChildProcess(
                Program.nestd,
                ["--memory", "--port", "0", "--web", "127.0.0.1:0"] + options
            )
            let line = try await process.lines(atLeast: 2)[1]
            #expect(line.contains("nestd serves its page to browsers at ") == isPrinted, "\(line)")
            let port = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\/$/)).1
            for path in ["/", "/explore/Item", "/page/app.js", "/client/index.js"] {
                let answer = try PlainHTTP.get(path, port: try #require(Int(port)))
                #expect(answer.status == (isServed ? 200 : 404), "\(path)")
            }
            await process.send(signal: SIGTERM)
            #expect(try await process.waitForEnd() == .exit(0))
        }

        /// nestd prints the URL, and a port in use names the option that chooses another.
        @Test func theURLIsPrinted() async throws {
            let process = try ChildProcess(Program.nestd, ["--memory", "--port", "0", "--web", "127.0.0.1:0"])
            let lines = try await process.lines(atLeast: 2)
            let port = try #require(lines[1].firstMatch(of: /browsers at http:\/\/127\.0\.0\.1:(\d+)\//)).1
            let page = try PlainHTTP.get("/", port: try #require(Int(port)))
            #expect(page.status == 200 && page.headers["x-content-type-options"] == "nosniff")
            let other = try ChildProcess(Program.nestd, ["--memory", "--port", "0", "--web", "127.0.0.1:\(port)"])
            #expect(try await other.waitForEnd() == .exit(69))
            #expect(other.errors.contains("specify another --web"), "\(other.errors)")
            await process.send(signal: SIGTERM)
            #expect(try await process.waitForEnd() == .exit(0))
        }
    }
}
