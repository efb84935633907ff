import Foundation
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Import and export on the command line.
    @Suite struct TransferCommands {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.user = await CommandLineUser(self.server)
        }

        @Test func importAndExportPrintTheirResults() async throws {
            try await self.user.output("add", "List")
            let text = "Groceries\n    Milk\n        Oat\n    Bread\n\nTools\n"
            #expect(
                try await self.user.output("import", "-", "--parent", "2", input: text)
                    == "imported 5 items, ids 3 to 7, revision 2\n"
            )
            #expect(
                try await self.user.output("export", "2")
                    == "List\n\tGroceries\n\t\tMilk\n\t\t\tOat\n\t\tBread\n\tTools\n"
            )
            #expect(try await self.user.output("export", "2", "--below").hasPrefix("Groceries\n\tMilk\n"))
            #expect(try await self.user.output("export", "5") == "Oat\n")
            #expect(
                try await self.user.output("import", "-", "--first", "--name", "tea!", "--json", input: "Tea")
                    == #"{"revision":3,"changed":true,"replayed":false,"first":8,"count":1,"name":"tea!","warnings":[]}"#
                    + "\n"
            )
            #expect(
                try await self.user.output("import", "-", input: "\n \n")
                    == "imported nothing: the input has no items\n"
            )
            let empty = try await self.user.shell("nestc export 5 --below | nestc import - --json")
            #expect(empty.status == 0, "\(empty.report)")
            #expect(
                empty.output
                    == #"{"revision":3,"changed":false,"replayed":false,"first":null,"count":0,"name":"","warnings":[]}"#
                    + "\n"
            )
            #expect(try await self.user.output("import", "-", "--dry-run", input: text) == "5 items in 3 levels\n")
            #expect(
                try await self.user.output("import", "-", "--dry-run", "--json", input: text)
                    == #"{"format":"text","rows":5,"depth":3,"done":0,"notes":0,"warnings":[]}"# + "\n"
            )
            #expect(try await self.user.output("ls") == "8\tTea\n2\tList\n")
            let missing = try await self.user.run("export", "99")
            #expect(missing.status == 1)
            #expect(missing.errors.contains("[NOT_FOUND]"), "\(missing.report)")
            // The whole import is one undo entry.
            #expect(try await self.user.output("undo") == "undid: tea!\n")
            #expect(try await self.user.output("undo") == "undid: add item \"Groceries\" and 4 more items\n")
            #expect(try await self.user.output("tree") == "List  #2\n")
        }

        @Test func anExportFileAppearsOnlyWhenComplete() async throws {
            try await self.user.output("add", "Milk")
            let path = "\(self.server.directory.path)/out.txt"
            #expect(try await self.user.output("export", "--output", path) == "")
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "Milk\n")
            #expect(try await self.user.run("export", "99", "--output", path).status == 1)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "Milk\n")
            #expect(try await self.user.output("import", path) == "imported 1 item, id 3, revision 2\n")
        }

        /// Exporting, importing elsewhere and exporting again gives the same bytes, whatever the titles.
        @Test func anExportedOutlineRoundTrips() async throws {
            var random = SeededRandom(seed: 11)
            let outline = Self.outline(3_000, &random)
            let stored = try await self.user.run(["import", "-", "--quiet"], input: Array(outline.text.utf8))
            #expect(stored.status == 0, "\(stored.report)")
            let first = try await self.user.run("export")
            #expect(first.outputBytes == Array(outline.text.utf8))

            try await self.user.output("add", "copy")
            let piped = try await self.user.shell("nestc export | nestc import - --parent \(3_000 + 2) --quiet")
            #expect(piped.status == 0, "\(piped.report)")
            let second = try await self.user.run("export", "3002", "--below")
            // The export included the empty item "copy", into which the import went.
            #expect(second.outputBytes == first.outputBytes + Array("copy\n".utf8))

            // In JSON the titles are exactly the original ones.
            let tree = try await self.user.output("tree", "--json")
            let rows = tree.split(separator: "\n").prefix(3_000)
            let titles = try rows.map { try JSONDecoder().decode(JSONValue.self, from: Data($0.utf8))["title"].text }
            #expect(titles.count == 3_000)
            #expect(titles.elementsEqual(outline.titles) { Array($0.utf8) == Array($1.utf8) })
        }

        /// Returns the titles of a random tree, which are hard to write on one line, and the tree's text form.
        private static func outline(_ count: Int, _ random: inout SeededRandom) -> (titles: [String], text: String) {
            let pieces = [
                "a", " ", "\t", "\n", "\r", "\r\n", "\\", "\\n", "é", "e\u{301}", "👩‍👩‍👧", "\u{feff}", "\u{2028}", "-",
                "\"", "漢字", "\u{7f}",
            ]
            var titles: [String] = []
            var text = ""
            var depth = -1
            for _ in 0..<count {
                depth = random.below(depth + 2)
                let title = (0..<random.below(6)).map { _ in pieces[random.below(pieces.count)] }.joined()
                titles.append(title)
                text += String(repeating: "\t", count: depth) + Self.line(title) + "\n"
            }
            return (titles, text)
        }

        /// Returns the line of a title, as documented by `nestc help import`.
        private static func line(_ title: String) -> String {
            func isEscaped(_ title: String) -> Bool {
                let scalars = title.unicodeScalars
                guard let first = scalars.first else { return true }
                if [" ", "\t", "\u{feff}"].contains(first) { return true }
                if scalars.contains("\n") || scalars.contains("\r") { return true }
                return Self.unescaped(title).map(isEscaped) ?? false
            }
            guard isEscaped(title) else { return title }
            var line = "\\"
            for scalar in title.unicodeScalars {
                switch scalar {
                case "\\": line += "\\\\"
                case "\n": line += "\\n"
                case "\r": line += "\\r"
                default: line.unicodeScalars.append(scalar)
                }
            }
            return line
        }

        /// Returns the title of an escaped line, which begins with a backslash, or `nil` if the line is not escaped.
        private static func unescaped(_ line: String) -> String? {
            var scalars = line.unicodeScalars[...]
            guard scalars.popFirst() == "\\" else { return nil }
            var title = String.UnicodeScalarView()
            while let scalar = scalars.popFirst() {
                guard scalar == "\\" else {
                    title.append(scalar)
                    continue
                }
                switch scalars.popFirst() {
                case "\\": title.append("\\")
                case "n": title.append("\n")
                case "r": title.append("\r")
                default: return nil
                }
            }
            return String(title)
        }
    }
}
