import NestTestSupport
import Testing

extension ProcessTests {
    /// What nestc and nestd answer to a user who does not know their commands yet.
    @Suite struct HelpCommands {
        private let directory = TemporaryDirectory()
        private let user: CommandLineUser

        init() {
            self.user = CommandLineUser(server: "127.0.0.1:1", directory: self.directory)
        }

        @Test(arguments: [
            ("tre", "there is no command 'tre'. Did you mean 'tree'?"),
            ("--server 127.0.0.1:1 histroy", "there is no command 'histroy'. Did you mean 'history'?"),
            ("help foo", "there is no command 'foo'. 'nestc --help' lists the commands and topics."),
            ("help enviroment", "there is no command 'enviroment'. Did you mean 'environment'?"),
            ("token crate", "there is no command 'token crate'. Did you mean 'token create'?"),
            ("token --timeout 2 --json=x", "--json"),
            ("help token crate", "there is no command 'token crate'. Did you mean 'token create'?"),
            ("tree --depht 1", "Unknown option '--depht'. Did you mean '--depth'?"),
        ]) func unknownNamesAreRefusedWithTheNearest(_ line: String, _ message: String) async throws {
            let result = try await self.user.run(line.split(separator: " ").map(String.init))
            #expect(result.status == 64 && result.output == "", "\(result.report)")
            #expect(result.errors.contains(message), "\(result.report)")
        }

        @Test func farOptionsAreNotSuggested() async throws {
            let result = try await self.user.run("tree", "--foo")
            #expect(
                result.status == 64 && result.errors.hasPrefix("Error: Unknown option '--foo'\n"),
                "\(result.report)"
            )
            #expect(!result.errors.contains("--tls'"), "\(result.report)")
        }

        @Test func nestdSuggestsItsCommands() async throws {
            func run(_ arguments: String...) async throws -> CommandLineUser.Result {
                try await CommandLineUser.Result(ChildProcess(Program.nestd, arguments))
            }
            let server = try await run("tokn")
            #expect(server.status == 64)
            #expect(server.errors == "nestd: there is no command 'tokn'. Did you mean 'token'?\n")
            let token = try await run("token", "crate")
            #expect(token.status == 64)
            #expect(token.errors == "nestd: there is no command 'token crate'. Did you mean 'token create'?\n")
            for line in [["help", "token", "create"], ["token", "help", "create"], ["token", "create", "--help"]] {
                let help = try await CommandLineUser.Result(ChildProcess(Program.nestd, line))
                #expect(help.status == 0 && help.output.contains("USAGE: nestd token create"), "\(help.report)")
            }
            // The options of a command are its own, not those of the server.
            let store = self.directory.path + "/none.sqlite"
            let missing = try await run("token", "list", "--store", store)
            #expect(missing.status == 66 && missing.errors.contains(store), "\(missing.report)")
            let before = try await run("--store", store, "token", "list")
            #expect(before.status == 64, "\(before.report)")
        }

        /// Manual pages and completions are made from these.
        @Test func nestdDescribesAllItsCommands() async throws {
            let help = try await CommandLineUser.Result(ChildProcess(Program.nestd, ["help"]))
            let page = try await CommandLineUser.Result(ChildProcess(Program.nestd, ["--experimental-dump-help"]))
            for name in ["token", "migrate", "adopt", "cluster"] {
                #expect(help.output.contains("\n  \(name) "), "\(help.report)")
                #expect(page.output.contains("\"commandName\" : \"\(name)\""), "\(name)")
            }
            let script = try await CommandLineUser.Result(
                ChildProcess(Program.nestd, ["--generate-completion-script", "bash"])
            )
            #expect(script.status == 0 && script.output.contains("_nestd_cluster_init"), "\(script.report)")
        }

        @Test func helpGroupsCommandsAndListsTopics() async throws {
            let help = try await self.user.output("--help")
            let headers = help.matches(of: /(?m)^([A-Z][A-Z ]*):$/).map { String($0.1) }
            #expect(
                headers == [
                    "LOOK", "CHANGE", "UNDO", "FOLLOW", "IMPORT AND EXPORT", "CONNECT", "OPERATE", "HELP", "OPTIONS",
                ]
            )
            let topics = try #require(help.firstRange(of: "\nHELP TOPICS"))
            for topic in help[topics.upperBound...].matches(of: /(?m)^ {2}([a-z-]+) {2}/).map({ String($0.1) }) {
                #expect(try await self.user.output("help", topic).count > 100, "\(topic)")
            }
            #expect(help[topics.upperBound...].contains("\n  query  "))
        }

        /// Each command of a help page stays on one line, however narrow the terminal is, and no other line is longer
        /// than the terminal, or than 100 columns.
        @Test(arguments: [40, 80, 200]) func helpFitsTheTerminalAndKeepsExamplesWhole(_ columns: Int) async throws {
            let terminal = try Terminal(directory: self.directory.path, environment: self.user.environment)
            _ = try await terminal.run("stty cols \(columns) rows 50")
            let pages = ["--help"] + ["environment", "files", "output", "query", "addresses"].map { "help \($0)" }
            // All commands at the usual width, some at the others.
            let leaves = try await CommandTree.leaves(self.user)
            let commands = (columns == 80 ? leaves : ["add", "import", "subscribe", "tx"]).map { "help \($0)" }
            var examples = 0
            for page in pages + commands {
                let lines = try await terminal.run("nestc \(page)")
                let whole = try await terminal.run("stty cols 1000; nestc \(page); stty cols \(columns)")
                for line in whole where line.hasPrefix("  nestc ") {
                    examples += 1
                    let command = line.split(separator: "   ")[0].trimmingSuffixSpaces()
                    #expect(lines.contains { $0.hasPrefix("  \(command)") }, "\(page) at \(columns): \(line)")
                }
                #expect(whole.allSatisfy { $0.count <= 100 }, "\(page)")
                for line in lines where line.count > columns {
                    // Only what must not be broken is longer: examples and tables of the text, and single words.
                    let isKept = line.hasPrefix(" ") && columns == 40 || !line.drop { $0 == " " }.contains(" ")
                    #expect(isKept, "\(page) at \(columns): \(line)")
                }
            }
            #expect(examples > (columns == 80 ? 100 : 20))
        }
    }
}

extension Substring {
    fileprivate func trimmingSuffixSpaces() -> String {
        String(self.reversed().drop { $0 == " " }.reversed()).trimmingPrefix("  ").description
    }
}
