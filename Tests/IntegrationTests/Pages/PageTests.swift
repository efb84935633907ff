import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// Runs every console block of the documents from top to bottom and compares the output.
    @Suite struct Pages {
        /// All pages with console blocks, except the examples' pages, for which `ExamplePages` starts servers.
        static let paths: [String] = {
            let documents = (try? Repository.files(under: "docs").filter { $0.hasSuffix(".md") }) ?? []
            return (["README.md", "CONTRIBUTING.md", "protocol.md"] + documents).filter { path in
                guard let text = try? Repository.text(path) else { return false }
                return Page(text).blocks.contains { $0.label.hasPrefix("console") || $0.label == "screen" }
            }
        }()

        /// With `NEST_WRITE_PAGES=1` the test writes the printed output into the page.
        @Test(arguments: Self.paths) func commandsPrintWhatThePageShows(_ path: String) async throws {
            guard path != "docs/cluster.md" || PostgresServer.isInstalled else {
                return print("skipped: PostgreSQL is missing, so no test runs the commands of \(path)")
            }
            try await PageReader.check(path, PageReader())
        }

        @Test func documentsThatMustExistHaveConsoleBlocks() {
            #expect(Self.paths.contains("README.md") && Self.paths.contains("docs/tour.md"))
        }

        /// The reader finds a page with wrong output.
        @Test func aPageWithWrongOutputIsReported() async throws {
            let page = Page("```console\n$ echo one; echo two\none\nthree\n$ cat <<END\n> a\n> END\na\n```\n")
            let reader = try PageReader()
            let (lines, faults) = try await reader.run(page.blocks[0])
            #expect(faults.count == 1)
            #expect(lines == ["$ echo one; echo two", "one", "two", "$ cat <<END", "> a", "> END", "a"])
        }

        @Test func aTerminalKeepsDirectoryAndVariables() async throws {
            let page = Page(
                "```console\n$ mkdir d && cd d && X=1\n$ basename $PWD; echo $X\nd\n1\nann$ echo $X\n\n$ test -t 1\n```\n"
            )
            #expect(try await PageReader().run(page.blocks[0]).faults == [])
        }

        @Test func aLastLineWithoutAnEndIsShown() async throws {
            let page = Page("```console\n$ printf 'one\\ntwo'\none\ntwo\n```\n")
            #expect(try await PageReader().run(page.blocks[0]).faults == [])
        }

        @Test(.enabled(if: Screen.isAvailable, "tmux is missing")) func aScreenEndsItsProgram() async throws {
            let directory = TemporaryDirectory()
            var screen: Screen? = try await Screen("sleep 100", rows: 2, directory: directory.path, environment: [:])
            let pid = try #require(screen?.pid)
            #expect(kill(pid, 0) == 0)
            screen = nil
            try await waitUntil("the end of tmux") { kill(pid, 0) != 0 }
        }

        @Test(.enabled(if: Screen.isAvailable, "tmux is missing")) func keysChangeTheScreen() async throws {
            let text = """
                ```screen
                $ printf 'a\\n'; read -rsn1 key; clear; echo "key $key"; sleep 100
                a

                ```
                ```screen keys=x
                key x
                ```
                """
            let page = Page(text)
            let reader = try PageReader()
            for block in page.blocks { #expect(try await reader.run(block).faults == []) }
        }

        @Test func ellipsesMatchAnyText() {
            #expect(Shown.matches(["id …, two", "…", "end"], ["id 17, two", "x", "y", "end"]))
            #expect(Shown.matches(["…"], []))
            #expect(!Shown.matches(["id …, two"], ["id 17, three"]))
            #expect(!Shown.matches(["a"], ["a", "b"]))
            #expect(Shown.matches(["at 2026-11-21T09:30:43.362245Z"], ["at 2027-01-01T00:30:43.000001Z"]))
        }
    }
}

extension PageReader {
    /// Runs the blocks of a page of the repository and expects the shown output.
    static func check(_ path: String, _ reader: PageReader) async throws {
        let page = Page(try Repository.text(path))
        var written: [(range: Range<Int>, lines: [String])] = []
        let isWriting = ProcessInfo.processInfo.environment["NEST_WRITE_PAGES"] == "1"
        for block in page.blocks {
            let (lines, faults) = try await reader.run(block)
            written.append((block.range, lines))
            guard !isWriting else { continue }
            for fault in faults { Issue.record("\(path), line \(block.range.lowerBound):\n\(fault)") }
        }
        guard isWriting else { return }
        try page.replacing(written).write(
            to: Repository.root.appending(path: path),
            atomically: true,
            encoding: .utf8
        )
    }
}
