import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// The pages of the examples show what really happens.
    @Suite struct ExamplePages {
        static let names = ["nested-lists", "number-facts", "phone-book", "done"]

        /// With `NEST_WRITE_PAGES=1` the page is given what the commands print.
        @Test(arguments: Self.names) func commandsPrintWhatThePageShows(_ name: String) async throws {
            let example = try await Example(name)
            try await PageReader.check(
                "\(example.directory)/README.md",
                PageReader(environment: example.user.environment)
            )
        }

        /// The program of the example does its work on the server of the example.
        @Test(arguments: Self.names + ["client-page"]) func theSwiftProgramRuns(_ name: String) async throws {
            let server = Self.names.contains(name) ? try await Example(name).server : try await ServerProcess.started()
            let user = await CommandLineUser(server)
            let program = try ChildProcess(Program.nestexamples, [name], environment: user.environment)
            try await program.wait(forEnd: .exit(0))
        }

        /// A program without configuration keeps its session, and what it has written can be undone with it.
        @Test func theProgramKeepsItsSession() async throws {
            let example = try await Example("done")
            for _ in 0..<2 {
                let program = try ChildProcess(Program.nestexamples, ["done"], environment: example.user.environment)
                try await program.wait(forEnd: .exit(0))
                #expect(program.errors == "")
            }
            let directory = "\(try #require(example.user.environment["XDG_STATE_HOME"]))/nest/clients/nestexamples"
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(names == ["127.0.0.1_\(await example.server.port)"])
            let session = try String(contentsOfFile: "\(directory)/\(names[0])", encoding: .utf8).prefix(32)
            for _ in 0..<2 {
                let undone = try await example.user.run("undo", "--session", String(session))
                #expect(undone.output.contains("tick off, and one more"), "\(undone.report)")
                _ = try await example.user.run("undo", "--session", String(session))
            }
        }

        /// Without a home directory a program does the same, and logs one line.
        @Test(arguments: ["", "/nonexistent", "/proc", "relative"])
        func aProgramWithoutAHomeDirectoryRuns(_ home: String) async throws {
            let server = try await Example("done").server
            let program = try ChildProcess(
                Program.nestexamples,
                ["done"],
                environment: ["NEST_SERVER": await server.address, "XDG_STATE_HOME": "", "HOME": home]
            )
            try await program.wait(forEnd: .exit(0))
            #expect(program.errors.split(separator: "\n").count == 1, "\(program.errors)")
            #expect(program.errors.contains("the session ends with this client"), "\(program.errors)")
        }

        /// The program of docs/clients.md for a shell. The programs in other languages have tests with their clients.
        @Test func theProgramForAShellPrintsWhatThePageShows() async throws {
            let page = Page(try Repository.text("docs/clients.md"))
            let path = "Examples/clients/groceries.sh"
            let source = try Repository.text(path).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            #expect(page.blocks.contains { $0.label == "sh" && $0.lines == source.map(String.init) })
            let shown = try #require(page.blocks.first { $0.label == "text" })
            let server = try await ServerProcess.started()
            let result = try await CommandLineUser.Result(Example.shell(path, await CommandLineUser(server)))
            #expect(result.output.split(separator: "\n").map(String.init) == shown.lines, "\(result.report)")
        }

        /// Quoted code and models are in the files that are compiled and served.
        @Test(arguments: Self.names) func quotationsAreInTheFiles(_ name: String) throws {
            let page = Page(try Repository.text("Examples/\(name)/README.md"))
            let directory = Repository.root.appending(path: "Examples/\(name)")
            let files = try FileManager.default.subpathsOfDirectory(atPath: directory.path()).filter {
                !$0.hasSuffix("README.md")
            }
            // Without indentation: a page begins at the margin.
            func lines(_ text: String) -> String {
                text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { $0 != "" }
                    .joined(separator: "\n")
            }
            let texts = files.compactMap { try? String(contentsOf: directory.appending(path: $0), encoding: .utf8) }
                .map(lines)
            for block in page.blocks where ["swift", "json", "xml", "python", "js", "html"].contains(block.label) {
                let quoted = lines(block.lines.joined(separator: "\n"))
                #expect(texts.contains { $0.contains(quoted) }, "\(name) has no such lines:\n\(quoted)")
            }
            #expect(page.blocks.contains { $0.label == "swift" })
        }
    }
}
