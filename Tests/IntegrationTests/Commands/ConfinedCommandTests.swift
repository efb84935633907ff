import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// Every command of nestc with a token that is confined to a sub-tree: it starts at the sub-tree's root.
    @Suite struct ConfinedCommands {
        private let server: ServerProcess
        private let admin: String
        private let guest: String
        private let user: CommandLineUser

        /// The items are 1 ── 2 Shared ── 3 Milk, and 4 Secret.
        init() async throws {
            self.server = try await ServerProcess.started()
            let path = self.server.directory.path
            (self.admin, self.guest) = ("\(path)/admin.token", "\(path)/guest.token")
            self.user = await CommandLineUser(self.server)
            for arguments in [
                ["add", "Shared"], ["add", "Milk", "--parent", "2"], ["add", "Secret"],
                ["token", "create", "me", "--role", "admin", "-o", self.admin, "--quiet"],
                ["token", "create", "guest", "--root", "2", "-o", self.guest, "--quiet", "--token-file", self.admin],
            ] { try await self.user.output(arguments) }
        }

        private func guest(_ arguments: String..., input: String = "") async throws -> CommandLineUser.Result {
            try await self.user.run(arguments + ["--token-file", self.guest], input: Array(input.utf8))
        }

        /// The result of a command: all or some of what it prints, or the code of its refusal.
        private enum Outcome {
            case prints(String)
            case contains(String)
            case refuses(String)
        }

        /// What the guest may do, by command, without an object where one can be left out.
        private static let uses: [String: (arguments: [String], input: String, outcome: Outcome)] = [
            "add": (["Bread"], "", .prints("5\n")),
            "ls": ([], "", .prints("3\tMilk\n")),
            "tree": ([], "", .prints("Shared  #2\n  Milk  #3\n")),
            "mv": (["3", "--first"], "", .contains("")),
            "insert": (["Item", "title=Bread"], "", .prints("5\n")),
            "find-or-create": (["Item", "title=Bread"], "", .refuses("NOT_PERMITTED")),
            "show": (["2"], "", .contains("Shared")),
            "fetch": (["--entity", "Item", "--properties", "title"], "", .contains("Milk")),
            "set": (["3", "title=Oat milk"], "", .contains("")),
            "relate": (["2", "children", "3"], "", .contains("")),
            "unrelate": (["2", "children", "3"], "", .refuses("NOT_PERMITTED")),
            "rm": (["3"], "", .contains("")),
            "tx": (["-"], #"{"insert":"Item","values":{"title":"Bread"}}"#, .contains("5")),
            "subscribe": (["--count", "1", "--authors"], "", .contains("\"Milk\"")),
            "changes": ([], "", .refuses("NOT_PERMITTED")),
            "explain": ([], "", .refuses("NOT_PERMITTED")),
            "undo": ([], "", .refuses("NOTHING_TO_UNDO")),
            "redo": ([], "", .refuses("NOTHING_TO_REDO")),
            "preview": (["undo"], "", .refuses("NOTHING_TO_UNDO")),
            "history": ([], "", .prints("")),
            "undo-state": ([], "", .contains("undo: nothing")),
            "group": (["all", "--", "true"], "", .prints("")),
            "session show": ([], "", .contains("_token2\n")),
            "session list": ([], "", .contains("")),
            "session adopt": (["-"], String(repeating: "0a", count: 16), .contains("another session")),
            "session new": ([], "", .contains("another session")),
            "import": (["-", "--format", "text"], "Bread\n", .contains("imported 1 item, id 5")),
            "export": ([], "", .prints("Shared\n\tMilk\n")),
            "put": (["4", "title", "-"], "x", .refuses("NOT_FOUND")),
            "get": (["4", "title", "-"], "", .refuses("NOT_FOUND")),
            "cp": (["3", "2"], "", .contains("copied 1 item, id 5")),
            "backup": (["copy"], "", .refuses("NOT_PERMITTED")),
            "check": ([], "", .refuses("NOT_PERMITTED")),
            "stat": ([], "", .refuses("NOT_PERMITTED")),
            "clients": ([], "", .refuses("NOT_PERMITTED")),
            "kick": (["1"], "", .refuses("NOT_PERMITTED")),
            "cluster status": ([], "", .refuses("NOT_PERMITTED")),
            "cluster verify": ([], "", .refuses("NOT_PERMITTED")),
            "cluster move-leader": (["a"], "", .refuses("NOT_PERMITTED")),
            "cluster drain": (["a"], "", .refuses("NOT_PERMITTED")),
            "ping": ([], "", .contains("pong")),
            "model show": ([], "", .contains("Item")),
            "model apply": (["-"], #"{"entities": [{"name": "Item"}]}"#, .refuses("NOT_PERMITTED")),
            "token create": (["x"], "", .refuses("NOT_PERMITTED")),
            "token list": ([], "", .refuses("NOT_PERMITTED")),
            "token revoke": (["1"], "", .refuses("NOT_PERMITTED")),
        ]

        /// Commands that change the store or the session: each gets a fresh one.
        private static let writes: Set<String> = [
            "add", "mv", "insert", "set", "relate", "rm", "tx", "import", "cp", "session adopt", "session new",
        ]

        /// Commands that talk to no server.
        private static let offline: Set<String> = [
            "context set", "context use", "context list", "context show", "context delete", "model convert",
            "model check", "model generate", "exit-codes", "completion",
        ]

        /// The commands of nestc, from its own description of itself. A command that others add has to be added here.
        private func commands() async throws -> Set<String> {
            struct Tool: Decodable { var command: Command }
            struct Command: Decodable {
                var commandName: String
                var subcommands: [Command]?

                func leaves(_ path: [String]) -> [String] {
                    let inner = self.subcommands ?? []
                    guard !inner.isEmpty else { return [(path + [self.commandName]).joined(separator: " ")] }
                    return inner.flatMap { $0.leaves(path + [self.commandName]) }
                }
            }
            let text = try await self.user.output("--experimental-dump-help")
            let tool = try JSONDecoder().decode(Tool.self, from: Data(text.utf8))
            let leaves = (tool.command.subcommands ?? []).filter { $0.commandName != "help" }.flatMap { $0.leaves([]) }
            return Set(leaves)
        }

        @Test func everyCommandStartsAtTheRootOfTheToken() async throws {
            let commands = try await self.commands()
            let unknown = commands.subtracting(Self.uses.keys).subtracting(Self.offline).filter {
                !$0.hasPrefix("help")
            }
            #expect(unknown.isEmpty, "say here what a confined token may do with these commands")
            for (command, use) in Self.uses.sorted(by: { $0.key < $1.key }) {
                #expect(commands.contains(command), "\(command)")
                let isWrite = Self.writes.contains(command)
                let other = isWrite ? try await ConfinedCommands() : self
                let arguments = command.split(separator: " ").map(String.init) + ["--token-file", other.guest]
                let result = try await other.user.run(arguments + use.arguments, input: Array(use.input.utf8))
                switch use.outcome {
                case .prints(let text): #expect(result.status == 0 && result.output == text, "\(result.report)")
                case .contains(let text):
                    #expect(result.status == 0, "\(result.report)")
                    #expect(text.isEmpty || result.output.contains(text), "\(result.report)")
                case .refuses(let code):
                    #expect(result.status != 0 && result.errors.contains("[\(code)]"), "\(result.report)")
                }
                // Nothing mentions the object above the root.
                let words = (result.output + result.errors).split { !$0.isLetter && !$0.isNumber && $0 != "#" }
                #expect(!result.errors.contains("id 1 ") && !words.contains("Secret"), "\(result.report)")
                if isWrite { try await other.server.killNow() }
            }
        }

        /// What the guest adds is below its root, not above it, and export and import of the guest fit together.
        @Test func whatAConfinedTokenAddsIsBelowItsRoot() async throws {
            #expect(try await self.guest("import", "-", "--format", "text", input: "a\n\tb\n").status == 0)
            #expect(try await self.guest("insert", "Item", "title=c", "--first").output == "7\n")
            let lines = "{\"title\":\"d\"}\n{\"title\":\"e\",\"parent\":3}\n"
            #expect(try await self.guest("insert", "Item", "-", input: lines).output == "8\n9\n")
            let all = "Shared\n\tc\n\tMilk\n\t\te\n\ta\n\t\tb\n\td\n"
            #expect(try await self.guest("export").output == all)
            #expect(
                try await self.guest("export", "--below").output
                    == all.split(separator: "\n").dropFirst().map {
                        "\($0.dropFirst())\n"
                    }.joined()
            )
            #expect(
                try await self.user.output("export", "--token-file", self.admin) == all + "Secret\n"
            )
        }

        /// The token reaches a hierarchy of another entity: commands for items say so, and do not name object 1.
        @Test func aTokenOfAnotherEntityStartsAtItsRoot() async throws {
            let model = """
                {"format": "nest-model", "entities": [
                 {"name": "Folder", "attributes": [{"name": "name", "type": "string"}],
                 "relationships": [
                  {"name": "up", "destination": "Folder", "inverse": "down", "optional": true},
                  {"name": "down", "destination": "Folder", "inverse": "up", "toMany": true, "ordered": true,
                   "deleteRule": "cascade"}]},
                 {"name": "Item", "attributes": [{"name": "title", "type": "string"}],
                 "relationships": [
                  {"name": "parent", "destination": "Item", "inverse": "children", "optional": true},
                  {"name": "children", "destination": "Item", "inverse": "parent", "toMany": true, "ordered": true,
                   "deleteRule": "cascade"}]}]}
                """
            let other = try await ServerProcess.started(model: model)
            let user = await CommandLineUser(other)
            #expect(try await user.output("insert", "Item", "title=x") == "1\n")
            #expect(try await user.output("insert", "Folder", "name=top") == "2\n")
            #expect(try await user.output("insert", "Folder", "name=mine", "up=2") == "3\n")
            let admin = "\(other.directory.path)/admin.token"
            let guest = "\(other.directory.path)/guest.token"
            try await user.output("token", "create", "me", "--role", "admin", "-o", admin, "--quiet")
            try await user.output(
                ["token", "create", "guest", "--root", "3", "-o", guest, "--quiet", "--token-file", admin]
            )
            func run(_ arguments: String..., input: String = "") async throws -> CommandLineUser.Result {
                try await user.run(arguments + ["--token-file", guest], input: Array(input.utf8))
            }
            #expect(try await run("insert", "Folder", "name=inner").output == "4\n")
            let imported = try await run("import", "-", "--entity", "Folder", "--format", "csv", input: "name\nnew\n")
            #expect(imported.status == 0 && imported.output.contains("id 5"), "\(imported.report)")
            let exported = try await run("export", "--entity", "Folder")
            #expect(exported.output == "mine\n\tinner\n\tnew\n", "\(exported.report)")
            #expect(try await run("subscribe", "--count", "1").output.contains("\"inner\""))
            for arguments in [["ls"], ["add", "x"], ["export"]] {
                let result = try await user.run(arguments + ["--token-file", guest])
                #expect(result.status == 1, "\(result.report)")
                #expect(result.errors.contains("the token reaches only the object 3"), "\(result.report)")
            }
        }

        // MARK: Sessions

        /// What one token wrote is not listed with another, and cannot be undone with it.
        @Test func eachTokenHasItsOwnSession() async throws {
            try await self.user.output("set", "4", "title=Top secret", "--token-file", self.admin)
            try await self.user.output("rm", "4", "--token-file", self.admin)
            try await self.user.output("set", "3", "title=Oat milk", "--token-file", self.guest)
            let history = try await self.guest("history")
            #expect(history.status == 0 && history.output.contains("edit \"Oat milk\""), "\(history.report)")
            #expect(!history.output.contains("ecret") && !history.output.contains("another token"), "\(history.report)")
            #expect(try await self.guest("undo").output == "undid: edit \"Oat milk\"\n")
            #expect(try await self.guest("undo").status == 1)
            let undone = try await self.user.output("undo", "--token-file", self.admin)
            #expect(undone.contains("Top secret"))
            let list = try await self.user.output("session", "list").split(separator: "\n")
            #expect(list.count == 3 && list[1].contains("current, token 1") && list[2].contains("current, token 2"))
            let json = try await self.user.output("session", "list", "--json").split(separator: "\n")
            #expect(json[2].contains("\"token\":2"))
        }

        /// A command that 'nestc group' runs has the token of the group, whatever the environment says.
        @Test func commandsOfAGroupHaveItsToken() async throws {
            let line = "NEST_TOKEN_FILE='\(self.admin)' nestc --token-file '\(self.guest)' group all -- nestc add Bread"
            let result = try await self.user.shell(line)
            #expect(result.status == 0 && result.output == "5\n", "\(result.report)")
            #expect(try await self.guest("ls").output == "3\tMilk\n5\tBread\n")
            #expect(try await self.guest("undo").output == "undid: all\n")
        }

        /// With one session for both tokens, the server shows the confined one no names from outside.
        @Test func aSharedSessionHidesNamesFromTheConfinedToken() async throws {
            let shared = await CommandLineUser(self.server, session: String(repeating: "0e", count: 16))
            try await shared.output("set", "4", "title=Top secret", "--token-file", self.admin)
            try await shared.output("rm", "4", "--token-file", self.admin)
            for arguments in [
                ["history"], ["history", "--json"], ["undo"], ["undo", "--force"], ["undo-state"], ["preview", "undo"],
                ["session", "show"],
            ] {
                let result = try await shared.run(arguments + ["--token-file", self.guest])
                #expect(!(result.output + result.errors).contains("ecret"), "\(result.report)")
            }
            let history = try await shared.output("history", "--token-file", self.guest)
            #expect(history.contains("a change made with another token"))
        }

        /// A new token takes over the work of an old one, as the help says.
        @Test func aNewTokenCanAdoptTheSessionOfAnOldOne() async throws {
            try await self.user.output("add", "Bread", "--token-file", self.guest)
            let renewed = "\(self.server.directory.path)/renewed.token"
            try await self.user.output(
                ["token", "create", "renewed", "--root", "2", "-o", renewed, "--quiet", "--token-file", self.admin]
            )
            try await self.user.output("token", "revoke", "2", "--token-file", self.admin)
            let file = try #require(
                try await self.user.output("session", "list").split(separator: "\n").first { $0.contains("token 2") }?
                    .split(separator: "\t").last
            )
            let adopted = try await self.user.shell(
                "nestc --token-file '\(renewed)' session adopt - < '\(file)'"
            )
            #expect(adopted.status == 0, "\(adopted.report)")
            #expect(try await self.user.output("undo", "--token-file", renewed) == "undid: add item \"Bread\"\n")
        }
    }
}
