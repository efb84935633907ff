import Foundation
import NestTestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ProcessTests {
    /// `nestc subscribe` on a terminal, drawn by tmux.
    @Suite(.enabled(if: Screen.isAvailable, "tmux is missing"))
    struct Browser {
        private let server: ServerProcess
        private let user: CommandLineUser
        private let directory = TemporaryDirectory()

        init() async throws {
            self.server = try await ServerProcess.started()
            self.user = await CommandLineUser(self.server)
        }

        private static let titles = [
            "日本語のタイトルはとても長いので切られる", "👩‍👩‍👧 family and more", "e\u{301}te\u{301} combining",
            "🇩🇪 flag, ❤️ heart", "esc \u{1b}[31m and \u{7} bell", "a title that is much longer than a narrow screen",
            "plain",
        ]

        /// Adds items with the ids from 2 on: those with special titles, then `count` with numbers.
        private func fill(_ count: Int) async throws {
            let lines = Self.titles + (1...count).map { "item \($0)" }
            try await self.user.output(
                "import",
                "-",
                "--format",
                "text",
                "--quiet",
                input: lines.joined(separator: "\n")
            )
        }

        private func screen(_ command: String, columns: Int = 80, rows: Int = 12) async throws -> Screen {
            var environment = self.user.environment
            environment.merge(["LANG": "C.UTF-8", "NO_COLOR": "1", "TERM": "xterm-256color"]) { $1 }
            return try await Screen(
                command,
                columns: columns,
                rows: rows,
                directory: self.directory.path,
                environment: environment
            )
        }

        /// A terminal with a shell.
        private func shell(columns: Int = 80, rows: Int = 12) async throws -> Screen {
            let screen = try await self.screen(
                "exec env 'PS1=$ ' bash --norc --noprofile",
                columns: columns,
                rows: rows
            )
            // Text typed earlier would be shown twice.
            try await self.wait(screen, for: "$")
            return screen
        }

        private static let shellModes = Screen.Modes(isAlternate: false, hasCursor: true, wraps: true)
        private static let browserModes = Screen.Modes(isAlternate: true, hasCursor: false, wraps: false)

        private func wait(_ screen: Screen, for text: String) async throws {
            try await waitUntil("'\(text)' on the screen") {
                try await screen.lines().contains { $0.contains(text) }
            }
        }

        // MARK: Keys

        /// Every key, and the changes of another client, on a narrow, a usual and a wide terminal.
        @Test(arguments: [40, 80, 200]) func keysAndChangesShowTheList(_ columns: Int) async throws {
            try await self.fill(300)
            let screen = try await self.screen("nestc subscribe", columns: columns)
            let pictures = try Pictures("browser-\(columns)", screen)
            try await pictures.expect("start")
            for (title, keys) in [
                ("one row down", ["Down"]), ("one row down with j", ["j"]), ("one row up with k", ["k"]),
                ("one page down", ["NPage"]), ("another page down", ["NPage"]), ("one page up", ["PPage"]),
                ("the end", ["End"]), ("one row up", ["Up"]), ("the start", ["Home"]), ("the end with G", ["G"]),
                ("the start with g", ["g"]), ("help", ["?"]), ("the list again", ["q"]), ("a text to find", ["/"]),
            ] {
                try await screen.press(keys)
                try await pictures.expect(title)
            }
            try await screen.type("ITEM 22x")
            try await screen.press(["BSpace"])
            try await pictures.expect("a typed text")
            for (title, key) in [
                ("found", "Enter"), ("the next", "n"), ("the next again", "n"), ("the previous", "N"),
                ("no row followed", "Escape"), ("the start again", "Home"), ("paused", "Space"),
            ] {
                try await screen.press([key])
                try await pictures.expect(title)
            }
            try await self.user.output("add", "new", "--first", "--quiet")
            try await screen.press(["p"])
            try await pictures.expect("not paused, a row was inserted")
            try await self.user.output("set", "8", "title=another", "done=yes")
            try await pictures.expect("a row was updated")
            try await self.user.output("mv", "8", "--at", "1")
            try await pictures.expect("a row was moved")
            try await self.user.output("rm", "4")
            try await pictures.expect("a row was deleted")
            try await self.user.output("rm", "300")
            try await pictures.expect("a row outside the window was deleted")
            try await screen.type("/nowhere")
            try await screen.press(["Enter"])
            try await pictures.expect("not found")
            try await screen.press(["Escape"])
            try await screen.resize(columns: columns, rows: 20)
            try await pictures.expect("a higher terminal")
            try await screen.press(["End"])
            // A smaller screen keeps its first row, so that the end must be there before.
            try await self.wait(screen, for: "item 298")
            try await screen.resize(columns: 30, rows: 6)
            try await pictures.expect("a small terminal")
            try await pictures.end()
        }

        @Test func anEmptyListGetsItsFirstRow() async throws {
            let screen = try await self.screen("nestc subscribe", rows: 6)
            let pictures = try Pictures("browser-first-row", screen)
            try await pictures.expect("no row")
            try await screen.press(["Down", "NPage", "End", "Up", "Home"])
            try await self.user.output("add", "Milk", "--quiet")
            try await pictures.expect("one row")
            try await self.user.output("set", "2", "note=fresh")
            try await pictures.expect("a value in another column")
            try await self.user.output("rm", "2")
            try await pictures.expect("no row again")
            try await pictures.end()
        }

        @Test func theLastOfAHundredThousandRowsAreReached() async throws {
            try await self.fill(100_000)
            let screen = try await self.screen("nestc subscribe")
            let pictures = try Pictures("browser-100000", screen)
            try await pictures.expect("start", containing: "live")
            try await screen.press(["End"])
            try await pictures.expect("the end", containing: "100008")
            try await screen.press(["PPage", "PPage", "PPage"])
            try await pictures.expect("three pages before the end", containing: "item 99967")
            try await screen.type("/item 54321")
            try await screen.press(["Enter"])
            try await pictures.expect("found in the middle", containing: "*")
            try await pictures.end()
        }

        @Test func aFollowedRowIsMarkedAndStaysOnTheScreen() async throws {
            try await self.fill(300)
            let screen = try await self.screen("nestc subscribe --around 150:3,20")
            let pictures = try Pictures("browser-around", screen)
            try await pictures.expect("start")
            try await self.user.output("mv", "150", "--at", "2")
            try await pictures.expect("moved to the start")
            try await self.user.output("rm", "150")
            try await pictures.expect("deleted")
            try await screen.press(["End"])
            try await pictures.expect("the end of the list")
            try await pictures.end()
        }

        @Test func aWindowIsWhereTheBrowserStarts() async throws {
            try await self.fill(300)
            let screen = try await self.screen("nestc subscribe --window 100..105 --properties done,title")
            let pictures = try Pictures("browser-window", screen)
            try await pictures.expect("start")
            try await pictures.end()
        }

        /// The server goes away and comes back.
        @Test(arguments: [40, 80]) func theStateOfTheConnectionIsVisible(_ columns: Int) async throws {
            try await self.fill(300)
            let screen = try await self.screen("nestc subscribe", columns: columns, rows: 8)
            try await self.wait(screen, for: "live")
            try await self.server.killNow()
            try await self.wait(screen, for: "reconnecting")
            // Some rows are held, and others come when the connection is back.
            try await screen.press(["NPage"])
            try await self.wait(screen, for: "item 1")
            try await screen.press(["End"])
            try await self.wait(screen, for: "no connection: other rows")
            try await self.server.start()
            try await self.wait(screen, for: "item 300")
            #expect(try await screen.lines()[0].contains("live"))
        }

        // MARK: The terminal

        /// Ctrl-Z gives the terminal back to the shell, and `fg` shows the list again and reads keys at once.
        @Test func ctrlZRestoresTheTerminal() async throws {
            try await self.fill(300)
            let screen = try await self.shell()
            try await screen.type("stty -a > before; nestc subscribe\n")
            let pictures = try Pictures("browser-suspended", screen)
            try await pictures.expect("start")
            #expect(try await screen.modes() == Self.browserModes)
            try await screen.press(["C-z"])
            try await pictures.expect("stopped")
            #expect(try await screen.modes() == Self.shellModes)
            try await screen.type("stty -a > stopped\n")
            try await self.user.output("add", "new", "--first", "--quiet")
            try await screen.type("fg\n")
            try await pictures.expect("continued")
            #expect(try await screen.modes() == Self.browserModes)
            try await screen.press(["Down"])
            try await pictures.expect("a key after that")
            try await screen.press(["q"])
            try await pictures.expect("quit")
            try await screen.type("clear; stty -a > after; cmp before stopped && cmp before after && echo same\n")
            try await self.wait(screen, for: "same")
            #expect(try await screen.modes() == Self.shellModes)
            try await pictures.end()
        }

        /// However the browser ends, the terminal is as before.
        @Test(arguments: ["q", "C-c", "TERM"]) func everyEndRestoresTheTerminal(_ end: String) async throws {
            try await self.fill(30)
            let screen = try await self.shell()
            try await screen.type("stty -a > before; nestc subscribe; echo \"exit $?\"\n")
            try await self.wait(screen, for: "item 2")
            if end == "TERM" {
                try await self.endBrowser(of: screen)
            } else {
                try await screen.press([end])
            }
            let status = ["q": 0, "C-c": 130, "TERM": 143][end]!
            try await self.wait(screen, for: "exit \(status)")
            #expect(try await screen.modes() == Self.shellModes)
            try await screen.type("clear; stty -a | cmp - before && echo same\n")
            try await self.wait(screen, for: "same")
        }

        /// Sends SIGTERM to the browser of a screen: the process whose parent is the shell in tmux.
        private func endBrowser(of screen: Screen) async throws {
            let shell = try await self.user.shell("ps -o pid= --ppid \(screen.pid)")
            let parent = shell.output.trimmingCharacters(in: .whitespacesAndNewlines)
            let found = try await self.user.shell("ps -o pid= --ppid \(parent)")
            let pid = try #require(pid_t(found.output.trimmingCharacters(in: .whitespacesAndNewlines)))
            kill(pid, SIGTERM)
        }

        @Test func anErrorStaysVisible() async throws {
            try await self.fill(3)
            let screen = try await self.shell()
            try await screen.type("nestc subscribe --around 4000; echo \"exit $?\"\n")
            try await self.wait(screen, for: "exit 1")
            try await self.wait(screen, for: "NOT_FOUND")
            #expect(try await screen.modes() == Self.shellModes)
        }

        // MARK: Lines instead of a screen

        /// A terminal that obeys no control sequences, or is too small, gets lines.
        @Test(arguments: ["TERM=dumb nestc subscribe", "env -u TERM nestc subscribe", "nestc subscribe --plain"])
        func linesNeedNoScreen(_ command: String) async throws {
            try await self.user.output("add", "Milk", "Bread", "--quiet")
            let screen = try await self.shell(columns: 60, rows: 16)
            try await screen.type("\(command)\n")
            try await self.wait(screen, for: "Bread")
            try await self.user.output("mv", "3", "--first")
            try await self.wait(screen, for: ">  Bread")
            #expect(try await screen.modes() == Self.shellModes)
            let lines = try await screen.lines()
            let shown = lines.firstIndex { $0.contains("revision 1") } ?? 0
            #expect(
                lines[shown...] == [
                    "children of 1  2 rows  revision 1  live", "   Milk  #2", "   Bread  #3", "",
                    "children of 1  2 rows  revision 2  live  >1", ">  Bread  #3", "   Milk  #2",
                ]
            )
        }

        @Test func aTinyTerminalGetsLines() async throws {
            try await self.user.output("add", "Milk", "--quiet")
            let screen = try await self.screen("nestc subscribe", columns: 60, rows: 3)
            try await self.wait(screen, for: "Milk  #2")
            #expect(try await !screen.modes().isAlternate)
        }

        /// In a pipe, the lines of `--plain` are all rows of the list.
        @Test func linesCanBePiped() async throws {
            try await self.fill(100)
            let output = try await self.user.output("subscribe", "--plain", "--count", "1").split(separator: "\n")
            #expect(output.count == 108 && output[0] == "children of 1  107 rows  revision 1  live")
            #expect(output[107] == "   item 100  #108")
            let refused = try await self.user.run("subscribe", "--plain", "--json")
            #expect(refused.status == 64 && refused.errors.contains("not both"), "\(refused.report)")
        }

        // MARK: Tables

        /// `nestc fetch` pads and cuts by the terminal's columns.
        @Test(arguments: [40, 80]) func tablesFitTheTerminal(_ columns: Int) async throws {
            try await self.fill(3)
            let command = "nestc fetch --of 1 --properties title,done; sleep 100"
            let pictures = try Pictures("fetch-\(columns)", try await self.screen(command, columns: columns))
            try await pictures.expect("table")
            try await pictures.end()
        }
    }

    /// Sections in the browser.
    @Suite(.enabled(if: Screen.isAvailable, "tmux is missing"))
    struct BrowserSections {
        @Test(arguments: [40, 80]) func sectionsHaveHeadings(_ columns: Int) async throws {
            let server = try await ServerProcess.started(model: PeopleModel.json)
            let user = await CommandLineUser(server)
            let directory = TemporaryDirectory()
            let names = ["adam", "Ann", "Bea", "bob", "Carl", "日本", "Zoe"]
            let lines = names.flatMap { name in
                (1...4).map { #"{"insert":"Person","values":{"name":"\#(name) \#($0)"}}"# }
            }
            try await user.output("tx", "-", "--quiet", input: lines.joined(separator: "\n"))
            var environment = user.environment
            environment.merge(["LANG": "C.UTF-8", "NO_COLOR": "1"]) { $1 }
            let command =
                "nestc subscribe --entity Person --section 'firstCharacter(name)' --sort name:ci"
                + " --properties name,tags.@count"
            let screen = try await Screen(
                command,
                columns: columns,
                rows: 12,
                directory: directory.path,
                environment: environment
            )
            let pictures = try Pictures("browser-sections-\(columns)", screen)
            try await pictures.expect("start")
            for (title, key) in [("one page down", "NPage"), ("one row down", "Down"), ("the end", "End")] {
                try await screen.press([key])
                try await pictures.expect(title)
            }
            try await user.output("set", "25", "name=Dora")
            try await screen.press(["Home"])
            try await pictures.expect("a row was moved to a new section")
            try await screen.press(["NPage"])
            try await pictures.expect("the new section")
            try await pictures.end()
        }
    }
}
