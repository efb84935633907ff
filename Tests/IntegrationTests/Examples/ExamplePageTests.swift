import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// The pages of the examples show what really happens.
    @Suite struct ExamplePages {
        static let names = ["nested-lists", "number-facts", "phone-book", "done"]

        /// Runs every command of a page. With `NEST_WRITE_PAGES=1` the page is given what they print.
        @Test(arguments: Self.names) func commandsPrintWhatThePageShows(_ name: String) async throws {
            let example = try await Example(name)
            let isWriting = ProcessInfo.processInfo.environment["NEST_WRITE_PAGES"] == "1"
            var written: [(range: Range<Int>, lines: [String])] = []
            var live: (process: ChildProcess, count: Int)?
            for block in example.page.blocks where block.label.hasPrefix("console") {
                let (more, commands) = ExamplePage.commands(block)
                var lines: [String] = []
                if block.label == "console" {
                    #expect(more == [], "a command begins a block")
                    for command in commands {
                        let process = try Example.shell(command.text, example.user)
                        try await process.waitForEnd()
                        let output = process.lines
                        if !isWriting {
                            #expect(
                                ExamplePage.withoutTimes(output) == ExamplePage.withoutTimes(command.output),
                                "\(name): \(command.text)"
                            )
                        }
                        lines += command.source + output
                    }
                } else {
                    var expected = more
                    if let command = commands.first {
                        #expect(more == [] && commands.count == 1, "a block for each command that goes on")
                        live = (try Example.shell("exec \(command.text)", example.user), 0)
                        lines = command.source
                        expected = command.output
                    }
                    var terminal = try #require(live)
                    let output = try await terminal.process.lines(atLeast: terminal.count + expected.count)
                        .dropFirst(terminal.count).prefix(expected.count)
                    terminal.count += expected.count
                    live = terminal
                    if !isWriting {
                        #expect(
                            ExamplePage.withoutTimes(Array(output)) == ExamplePage.withoutTimes(expected),
                            "\(name): what goes on"
                        )
                    }
                    lines += output
                }
                written.append((block.range, lines))
            }
            #expect(!written.isEmpty)
            guard isWriting else { return }
            try example.page.replacing(written).write(
                to: Repository.root.appending(path: "\(example.directory)/README.md"),
                atomically: true,
                encoding: .utf8
            )
        }

        /// Quoted code and models are in the files that are compiled and served.
        @Test(arguments: Self.names) func quotationsAreInTheFiles(_ name: String) throws {
            let page = ExamplePage(try Repository.text("Examples/\(name)/README.md"))
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
            for block in page.blocks where ["swift", "json", "xml"].contains(block.label) {
                let quoted = lines(block.lines.joined(separator: "\n"))
                #expect(texts.contains { $0.contains(quoted) }, "\(name) has no such lines:\n\(quoted)")
            }
            #expect(page.blocks.contains { $0.label == "swift" })
        }
    }
}
