import Foundation
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// `nestc import` and `nestc export` in each format.
    @Suite struct FormatCommands {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.user = await CommandLineUser(self.server)
        }

        private func fixture(_ name: String) -> String {
            Repository.root.appending(path: "Tests/Fixtures/outlines/\(name).opml").path
        }

        /// Importing OPML, exporting and importing it in a lossless format and exporting it as OPML again gives the
        /// same OPML.
        @Test(arguments: ["opml", "json", "jsonl", "csv", "tsv"])
        func everyFormatPreservesAnImportedOutline(_ format: String) async throws {
            for name in ["workflowy", "dynalist", "omnioutliner"] {
                #expect(try await self.user.run("import", self.fixture(name)).status == 0)
            }
            let opml = try await self.user.output("export", "--format", "opml")
            let path = "\(self.server.directory.path)/out.\(format)"
            #expect(try await self.user.output("export", "-o", path) == "")
            let other = try await ServerProcess.started()
            let otherUser = await CommandLineUser(other)
            let imported = try await otherUser.output("import", path)
            #expect(imported == "imported 19 items, ids 2 to 20, revision 1\n")
            #expect(try await otherUser.output("export", "--format", "opml") == opml)
            // From a pipe, nestc detects the format by the first bytes and reports it.
            let piped = try await otherUser.shell("cat '\(path)' | nestc import -")
            #expect(piped.output == "imported 19 items, ids 21 to 39, revision 2\n", "\(piped.report)")
            #expect(piped.errors == "nestc: read as \(format); specify another format with --format\n")
        }

        /// The same in formats that are not recognised by their first bytes.
        @Test(arguments: ["org", "taskpaper"])
        func formatsWithMarksPreserveAnImportedOutline(_ format: String) async throws {
            for name in ["workflowy", "dynalist", "omnioutliner"] {
                #expect(try await self.user.run("import", self.fixture(name)).status == 0)
            }
            let opml = try await self.user.output("export", "--format", "opml")
            let path = "\(self.server.directory.path)/out.\(format)"
            #expect(try await self.user.output("export", "-o", path) == "")
            #expect(
                try await self.user.output("import", path, "--dry-run", "--json").hasPrefix(#"{"format":"\#(format)""#)
            )
            let other = try await ServerProcess.started()
            let otherUser = await CommandLineUser(other)
            let imported = try await otherUser.output("import", path)
            #expect(imported == "imported 19 items, ids 2 to 20, revision 1\n")
            #expect(try await otherUser.output("export", "--format", "opml") == opml)
            #expect(
                try await otherUser.output("export", "--format", format)
                    == String(contentsOfFile: path, encoding: .utf8)
            )
        }

        @Test func plainTextsOfOutlinersNeedTheirFormat() async throws {
            let text = "- a\n  \"b\"\n  - [COMPLETE] c\n"
            let imported = try await self.user.output("import", "-", "--format", "workflowy", input: text)
            #expect(imported == "imported 2 items, ids 2 to 3, revision 1\n")
            #expect(try await self.user.output("tree") == "a  #2\n  [x] c  #3\n")
            #expect(try await self.user.output("export", "--format", "workflowy") == text)
            #expect(try await self.user.output("export", "--format", "dynalist") == "- a\n    b\n    - [x] c\n")
        }

        @Test func dryRunsReportContentsAndLosses() async throws {
            #expect(
                try await self.user.output("import", self.fixture("omnioutliner"), "--dry-run")
                    == "6 items in 2 levels, 1 done, 1 with a note\n"
                    + "elements of the head left out (title, dateCreated, expansionState): 3\n"
            )
            #expect(
                try await self.user.output("import", self.fixture("dynalist"), "--dry-run", "--json")
                    == #"{"format":"opml","rows":5,"depth":2,"done":1,"notes":1,"warnings":["elements of the head left out (title, flavor, source): 3"]}"#
                    + "\n"
            )
            #expect(
                try await self.user.output("import", "-", "--dry-run", input: "# A\n1. b\n   - [x] c\n")
                    == "3 items in 3 levels, 1 done, read as md\nnumbers of numbered items left out: 1\n"
            )
            #expect(try await self.user.output("ls") == "")
        }

        @Test func lossesAreReported() async throws {
            let imported = try await self.user.run("import", self.fixture("dynalist"))
            #expect(imported.errors == "nestc: elements of the head left out (title, flavor, source): 3\n")
            let json = try await self.user.output("import", self.fixture("dynalist"), "--json")
            #expect(json.hasSuffix(#""warnings":["elements of the head left out (title, flavor, source): 3"]}"# + "\n"))
            #expect(try await self.user.output("import", self.fixture("dynalist"), "--quiet").hasPrefix("imported 5"))
            let text = try await self.user.run("export", "2")
            #expect(text.output == "**Groceries** <today>\n\tMilk\n\tBread\n\t[link](https://example.org)\n")
            #expect(
                text.errors
                    == """
                    nestc: done marks left out (text holds titles): 1
                    nestc: items whose extra was left out (text holds titles): 4
                    nestc: notes left out (text holds titles): 1

                    """
            )
            let markdown = try await self.user.run("export", "2", "--format", "md", "--tasks", "--below")
            #expect(markdown.output == "- [x] Milk\n- [ ] Bread\n  dark\n  or rye\n- [ ] [link](https://example.org)\n")
            let path = "\(self.server.directory.path)/out.md"
            #expect(
                try await self.user.output("export", "3", "-o", path, "--json")
                    == #"{"revision":3,"format":"md","rows":1,"bytes":11,"warnings":["items whose extra was left out (Markdown cannot hold it): 1"]}"#
                    + "\n"
            )
        }

        /// A fault far in the file is reported with its source location, and nothing is stored.
        @Test(arguments: [
            ("opml", "<opml><body>\n<outline text='a'/>\n", "<outline text='b & c'/></body></opml>", 20_002),
            ("json", "[", "{\"title\":}]", 20_000), ("jsonl", "", "{\"title\":\n", 20_001),
            ("csv", "title,done\n", "b,maybe\n", 20_002),
            ("md", "", "- \u{0}\n", 20_001), ("org", "", "* \u{0}\n", 20_001), ("taskpaper", "", "- \u{0}\n", 20_001),
            ("workflowy", "", "- \u{0}\n", 20_001), ("text", "", "\u{0}\n", 20_001),
        ])
        func aFaultyImportStoresNothing(_ format: String, _ head: String, _ tail: String, _ line: Int) async throws {
            let rows = [
                "opml": "<outline text='x'/>", "json": "{\"title\":\"x\"},", "jsonl": "{\"title\":\"x\"}", "csv": "x,",
            ]
            let row = rows[format] ?? "- x"
            let text =
                head
                + String(repeating: row + "\n", count: format == "opml" ? 19_999 : format == "json" ? 19_999 : 20_000)
                + tail
            let result = try await self.user.run("import", "-", "--format", format, "--json", input: text)
            #expect(result.status == 65 && result.output == "", "\(result.report)")
            #expect(result.errors.contains("\"message\":\"line \(line), column "), "\(result.report)")
            #expect(try await self.user.output("ls") == "")
            let stat = try await self.user.output("history", "--all")
            #expect(stat == "", "expected no transaction: \(stat)")
        }

        @Test func directoriesAreImported() async throws {
            let top = "\(self.server.directory.path)/files"
            let made = try await self.user.shell(
                """
                mkdir -p '\(top)/b/c' '\(top)/empty' && printf hello > '\(top)/b/hello.txt' && ln -s ../b '\(top)/b/loop' &&
                printf x > '\(top)/'$'bad\\xff' && touch -d '2026-11-21T09:30:43.5Z' '\(top)/b/hello.txt'
                """
            )
            #expect(made.status == 0, "\(made.report)")
            let result = try await self.user.run("import", top)
            #expect(result.output == "imported 7 items, ids 2 to 8, revision 1\n", "\(result.report)")
            #expect(result.errors == "nestc: names that are not UTF-8, repaired: 1\n")
            #expect(
                try await self.user.output("export", "--quiet")
                    == "files\n\tb\n\t\tc\n\t\thello.txt\n\t\tloop\n\tbad\u{fffd}\n\tempty\n"
            )
            let rows = try await self.user.output("export", "--format", "jsonl")
            #expect(
                rows.contains(
                    #""title":"hello.txt","extra":{"kind":"file","modified":"2026-11-21T09:30:43.500000Z","size":5}}"#
                ),
                "\(rows)"
            )
            #expect(rows.contains(#""kind":"link""#) && rows.contains(#""target":"../b"}"#), "\(rows)")
            let json = try await self.user.output("import", "\(top)/b", "--format", "dir", "--dry-run", "--json")
            #expect(json == #"{"format":"dir","rows":4,"depth":2,"done":0,"notes":0,"warnings":[]}"# + "\n")
            let none = try await self.user.run("import", "\(top)/b/hello.txt", "--format", "dir")
            #expect(none.status == 66 && none.errors.contains("Not a directory"), "\(none.report)")
        }

        /// Directories with paths longer than PATH_MAX.
        @Test func directoriesOfAnyDepthAreImported() async throws {
            let top = "\(self.server.directory.path)/deep"
            let levels = 3_000
            #expect(mkdir(top, 0o755) == 0)
            var directory = open(top, O_RDONLY | O_DIRECTORY)
            for _ in 0..<levels {
                #expect(mkdirat(directory, "dir", 0o755) == 0)
                let inner = openat(directory, "dir", O_RDONLY | O_DIRECTORY)
                close(directory)
                directory = inner
            }
            close(directory)
            let summary = try await self.user.output("import", top, "--dry-run")
            #expect(summary == "\(levels + 1) items in \(levels + 1) levels\n")
            #expect(try await self.user.shell("rm -rf '\(top)'").status == 0)
        }

        @Test func unreadableDirectoriesAreReported() async throws {
            let top = "\(self.server.directory.path)/some"
            #expect(try await self.user.shell("mkdir -p '\(top)/no/x' '\(top)/yes' && chmod 0 '\(top)/no'").status == 0)
            // Root can read everything, so run the command as another user.
            let prefix =
                geteuid() == 0 ? "chmod 755 '\(self.server.directory.path)'; setpriv --reuid 65534 --clear-groups " : ""
            let line = "\(prefix)'\(Program.nestc)' import '\(top)' --dry-run"
            let result = try await self.user.shell(line)
            #expect(result.status == 0, "\(result.report)")
            #expect(
                result.output
                    == "3 items in 2 levels\ndirectories that could not be read: 1, first some/no: Permission denied\n"
            )
            #expect(try await self.user.shell("chmod 755 '\(top)/no'").status == 0)
        }
    }
}
