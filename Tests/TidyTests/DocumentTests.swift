import Foundation
import NestTestSupport
import Testing

/// Rules for the documents: links, quoted code and quoted make targets exist.
@Suite struct DocumentTests {
    private struct Page {
        let path: String
        let text: String

        /// The text without fenced blocks.
        var prose: String { self.text.replacing(/(?m)^```[^\n]*\n(?s:.*?)^```$/, with: "") }
    }

    private static let readmeLinesMax = 150

    private static func pages() throws -> [Page] {
        let top = try FileManager.default.contentsOfDirectory(atPath: Repository.root.path())
        let directories = ["docs", "deploy", "bench", "Clients", "Examples", "Tests/Fixtures"]
        let below = try directories.flatMap(Repository.files(under:))
        return try (top + below).filter { $0.hasSuffix(".md") }.sorted().map {
            Page(path: $0, text: try Repository.text($0))
        }
    }

    /// The anchors of a page's headings, as GitHub makes them.
    private static func anchors(_ page: Page) -> Set<String> {
        Set(
            page.prose.split(separator: "\n").filter { $0.hasPrefix("#") }.map { line in
                let heading = line.drop { $0 == "#" }.dropFirst().lowercased()
                return String(
                    heading.filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }.map { $0 == " " ? "-" : $0 }
                )
            }
        )
    }

    @Test func linksLeadToFilesAndHeadings() throws {
        let pages = try Self.pages()
        var count = 0
        for page in pages {
            let directory = URL(filePath: "/\(page.path)").deletingLastPathComponent()
            let links = page.prose.matches(of: /\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)/.anchorsMatchLineEndings())
            for link in links.map({ String($0.1 ?? $0.2 ?? "") }) where !link.contains(":") {
                count += 1
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let path =
                    parts[0] == ""
                    ? page.path : String(directory.appending(path: String(parts[0])).standardized.path().dropFirst())
                let exists = FileManager.default.fileExists(atPath: Repository.root.appending(path: path).path())
                #expect(exists, "\(page.path) links to \(link)")
                guard parts.count == 2, let target = pages.first(where: { $0.path == path }) else { continue }
                #expect(Self.anchors(target).contains(String(parts[1])), "\(page.path) links to \(link)")
            }
        }
        #expect(count > 50)
    }

    @Test func quotedMakeTargetsExist() throws {
        let makefile = try Repository.text("Makefile")
        let targets = Set(makefile.matches(of: /(?m)^([a-z][a-z-]*):/).map { String($0.1) })
        var count = 0
        for page in try Self.pages() {
            for match in page.text.matches(of: /(?m)(?:`|^ {4}|^\$ )make ([a-z][a-z-]*)/) {
                count += 1
                #expect(targets.contains(String(match.1)), "\(page.path): \(match.0)")
            }
        }
        #expect(count > 10)
    }

    /// The lines of each `swift` block of README and docs are in a file of Examples, in this order. A block with
    /// another word, such as `swift manifest`, is not checked.
    @Test(arguments: ["README.md", "docs/client-swift.md", "docs/clients.md"])
    func quotedSwiftIsCompiled(_ path: String) throws {
        func lines(_ text: String) -> String {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { $0 != "" }
                .joined(separator: "\n")
        }
        let sources = try Repository.sources(under: "Examples").map { lines($0.text) }
        let blocks = MarkdownDocument(try Repository.text(path)).blocks.filter { $0.label == "swift" }
        #expect(!blocks.isEmpty)
        for block in blocks {
            let quoted = lines(block.lines.joined(separator: "\n"))
            #expect(sources.contains { $0.contains(quoted) }, "\(path): no file of Examples has\n\(quoted)")
        }
    }

    @Test func theReadmeIsShort() throws {
        let count = try Repository.text("README.md").split(separator: "\n", omittingEmptySubsequences: false).count - 1
        #expect(count <= Self.readmeLinesMax)
    }

    /// No page contains a block of an unknown kind, which would not be run. The tests of the clients compare `ts` and
    /// `py` with programs that they run.
    @Test func blocksHaveAKnownKind() throws {
        let kinds: Set = [
            "", "console", "screen", "sh", "swift", "json", "xml", "text", "python", "ebnf", "hex", "vector", "diff",
            "make", "sql", "toml", "yaml", "html", "js", "ts", "py",
        ]
        for page in try Self.pages() {
            for block in MarkdownDocument(page.text).blocks {
                let kind = String(block.label.prefix { $0 != " " })
                #expect(kinds.contains(kind), "\(page.path): ```\(block.label)")
            }
        }
    }
}
