import Foundation
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// `nestc import` and `export` of OPML that other programs wrote.
    @Suite struct OPMLCommands {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.user = await CommandLineUser(self.server)
        }

        private static let folder = Repository.root.appending(path: "Tests/Fixtures/outlines/faulty")

        /// The files that `--lenient` repairs. The others have faults that only their author can repair.
        private static let repairable: Set<String> = [
            "bare-ampersands", "html-references", "missing-semicolons", "less-than", "blank-first", "blank-first-latin",
            "unknown-reference", "no-character", "declaration",
        ]

        /// Each faulty file is refused with its location, and stores nothing. If `--lenient` repairs it, the error
        /// names the option.
        @Test func faultyFilesAreRefusedOrRepaired() async throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path()).sorted()
            #expect(names.count > 30)
            for name in names {
                let path = Self.folder.appending(path: name).path()
                let isRepairable = Self.repairable.contains(String(name.dropLast(".opml".count)))
                let strict = try await self.user.run("import", path)
                #expect(strict.status == 65 && strict.output == "", "\(name): \(strict.report)")
                #expect(strict.errors.hasPrefix("nestc: line "), "\(name): \(strict.report)")
                if name != "declaration.opml" {
                    let hasHint = strict.errors.hasSuffix(" (--lenient repairs such faults)\n")
                    #expect(hasHint == isRepairable, "\(name): \(strict.report)")
                }
                #expect(try await self.user.output("ls") == "", "\(name)")
                let lenient = try await self.user.run("import", path, "--lenient", "--dry-run")
                #expect((lenient.status == 0) == isRepairable, "\(name): \(lenient.report)")
                if !isRepairable { #expect(lenient.errors == strict.errors, "\(name)") }
            }
        }

        /// An import counts what it repaired and left out; a dry run counts the same.
        @Test func repairsAndLossesAreReported() async throws {
            let text = """
                <opml version="1.0" xmlns:x="u"><head><title>T</title><ownerEmail>a@b</ownerEmail><window/></head>
                <?p?><!-- c --><body><outline text="R&D&nbsp;&#38 more" x:url="?a=1&b=2" _note="1 < 2"/></body></opml>
                """
            let lines = [
                "repaired: & that begins no reference, read as &amp;: 2",
                "repaired: < that begins no tag, read as &lt;: 1",
                "repaired: references without their ;: 1",
                "repaired: HTML's references such as &nbsp;, read as their characters: 1",
                "attributes of opml, head and body left out (xmlns:x): 1", "comments left out: 1",
                "elements of the head left out (title, ownerEmail, window): 3", "processing instructions left out: 1",
            ]
            let arguments = ["import", "-", "--format", "opml", "--lenient"]
            #expect(
                try await self.user.output(arguments + ["--dry-run"], input: text)
                    == (["1 item in 1 level, 1 with a note"] + lines).map { "\($0)\n" }.joined()
            )
            let stored = try await self.user.run(arguments, input: Array(text.utf8))
            #expect(stored.output == "imported 1 item, id 2, revision 1\n")
            #expect(stored.errors == lines.map { "nestc: \($0)\n" }.joined())
            let repairs =
                #""repairs":{"ampersands":2,"lessThanSigns":1,"semicolons":1,"entities":1,"spaces":0}}"# + "\n"
            #expect(
                try await self.user.output(arguments + ["--dry-run", "--json"], input: text).hasSuffix("],\(repairs)")
            )
            #expect(try await self.user.output(arguments + ["--json"], input: text).hasSuffix("],\(repairs)"))
            #expect(
                try await self.user.output("export", "2", "--format", "jsonl")
                    == "{\"depth\":0,\"id\":2,\"parent\":null,\"title\":\"R&D\u{a0}& more\",\"note\":\"1 < 2\","
                    + "\"extra\":{\"attribute order\":\"text x:url _note\",\"x:url\":\"?a=1&b=2\"}}\n"
            )
            // The prefix x is declared outside of the element. The export can be imported all the same.
            let again = try await self.user.shell("nestc export 2 --format opml | nestc import - --format opml --quiet")
            #expect(again.output.hasPrefix("imported 1 item"), "\(again.report)")
        }

        /// The title of a document is that of the exported item, and never empty.
        @Test func exportedDocumentsHaveATitle() async throws {
            func title(_ arguments: String...) async throws -> String {
                let text = try await self.user.output(["export", "--format", "opml"] + arguments)
                return String(text.firstMatch(of: /<title>(.*)<\/title>/)?.1 ?? "")
            }
            #expect(try await title() == "nest")
            try await self.user.output("add", "Salt & Pepper")
            try await self.user.output("add", "")
            #expect(try await title() == "nest")
            #expect(try await title("2") == "Salt &amp; Pepper")
            #expect(try await title("2", "--below") == "Salt &amp; Pepper")
            #expect(try await title("3") == "nest")
        }

        /// A file name with an extension that is none of the formats needs --format.
        @Test func unknownExtensionsOfExportsAreRefused() async throws {
            try await self.user.output("add", "Milk")
            let directory = self.server.directory.path
            for name in ["x.docx", "x.tar.gz", "notes.2026"] {
                let refused = try await self.user.run("export", "-o", "\(directory)/\(name)")
                #expect(refused.status == 64 && refused.output == "", "\(refused.report)")
                #expect(
                    refused.errors.contains(
                        "is the extension of no format; use .opml .md .markdown .mdown .mkd .org .taskpaper .txt .text "
                            + ".outline .json .jsonl .ndjson .csv .tsv .tab, or specify --format"
                    ),
                    "\(refused.report)"
                )
                #expect(!FileManager.default.fileExists(atPath: "\(directory)/\(name)"))
                #expect(try await self.user.output("export", "-o", "\(directory)/\(name)", "--format", "md") == "")
                #expect(try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8) == "- Milk\n")
            }
            for name in ["notes", ".hidden", "end."] {
                #expect(try await self.user.output("export", "-o", "\(directory)/\(name)") == "")
                #expect(try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8) == "Milk\n")
            }
        }

        /// With --json, the outline is JSON lines, and the description is a line of JSON on standard error; or, with a
        /// file, on standard output.
        @Test func exportsToStandardOutputAreDescribedInJSON() async throws {
            try await self.user.output("add", "Milk")
            let plain = try await self.user.run("export", "--json")
            #expect(plain.output == #"{"depth":0,"id":2,"parent":null,"title":"Milk"}"# + "\n")
            #expect(
                plain.errors
                    == #"{"revision":1,"format":"jsonl","rows":1,"bytes":\#(plain.output.utf8.count),"warnings":[]}"#
                    + "\n"
            )
            try await self.user.output("set", "2", "note=n")
            // Another format would make standard output something else than JSON.
            let text = try await self.user.run("export", "--json", "--format", "text")
            #expect(text.status == 64 && text.output.isEmpty, "\(text.report)")
            let file = self.server.directory.path + "/milk.txt"
            let written = try await self.user.output("export", "--json", "--format", "text", "-o", file)
            #expect(written.contains(#""format":"text","rows":1,"bytes":5,"#), "\(written)")
            #expect(written.contains(#""warnings":["notes left out (text holds titles): 1"]"#), "\(written)")
        }
    }
}
