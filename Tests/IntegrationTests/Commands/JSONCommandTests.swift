import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// With `--json`, every line of every command is a JSON object, in success and in failure.
    @Suite struct JSONCommands {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.user = await CommandLineUser(self.server)
        }

        private struct Case {
            var arguments: [String]
            var input = ""
            /// Whether it prints nothing: the output is that of another command, or an error.
            var isSilent = false
            /// 1 for commands that a single node refuses.
            var status: Int32 = 0

            init(_ line: String, input: String = "", isSilent: Bool = false, status: Int32 = 0) {
                self.arguments = line.split(separator: " ").map(String.init)
                self.input = input
                self.isSilent = isSilent
                self.status = status
            }
        }

        /// A success of each command, in an order in which they work. `DIR` is a directory, `CLIENT` a connection.
        private static let successes: KeyValuePairs<String, Case> = [
            "add": Case("Milk Bread Cheese Eggs"), "ls": Case(""), "tree": Case("1"), "show": Case("2"),
            "fetch": Case("--entity Item --section firstCharacter(title)"), "explain": Case("--entity Item"),
            "insert": Case("Item title=x parent=1"), "find-or-create": Case("Item title=x"),
            "set": Case("2 title=y"), "mv": Case("3 --first"), "relate": Case("2 children 3"),
            "unrelate": Case("2 children 4"), "tx": Case("-", input: #"{"update":3,"values":{"title":"z"}}"#),
            "rm": Case("4 5"), "undo": Case(""), "redo": Case(""), "preview": Case("undo"), "history": Case(""),
            "undo-state": Case(""), "group": Case("g -- true", isSilent: true),
            "subscribe": Case("--count 1 --authors"),
            "changes": Case("--since 0 --limit 1"), "import": Case("-", input: "- a\n- b\n"), "export": Case(""),
            "put": Case("2 title -", isSilent: true, status: 64),
            "get": Case("2 title DIR/value", isSilent: true, status: 64), "cp": Case("2 3"),
            "context set": Case("here --server 127.0.0.1:1"), "context use": Case("here"),
            "context list": Case(""), "context show": Case("here"), "context delete": Case("here"),
            "session show": Case(""), "session list": Case(""), "session new": Case(""),
            "session adopt": Case("00000000000000000000000000000001"), "ping": Case(""), "stat": Case(""),
            "clients": Case(""), "kick": Case("CLIENT"), "check": Case(""), "backup": Case("DIR/copy.sqlite"),
            "cluster status": Case("", isSilent: true, status: 1),
            "cluster verify": Case("", isSilent: true, status: 1),
            "cluster move-leader": Case("a", isSilent: true, status: 1),
            "cluster drain": Case("a", isSilent: true, status: 1),
            "model show": Case(""), "model convert": Case("DIR/model.json"), "model check": Case("DIR/model.json"),
            "model generate": Case("swift DIR/model.json"), "model apply": Case("DIR/list.json"),
            "completion": Case("bash"), "exit-codes": Case(""),
            "token create": Case("me --role admin --user Ann --expires 30d -o DIR/token"),
            "token list": Case("--token-file DIR/token"), "token revoke": Case("2 --token-file DIR/token"),
        ]

        private static func lines(_ text: String) -> [Substring] { text.split(separator: "\n") }

        private static func object(_ line: Substring) -> JSONValue? {
            let value = try? JSONDecoder().decode(JSONValue.self, from: Data(line.utf8))
            guard case .object? = value else { return nil }
            return value
        }

        @Test func everyCommandPrintsJSON() async throws {
            let directory = self.server.directory.path
            let model =
                #"{"format":"nest-model","entities":[{"name":"A","attributes":[{"name":"n","type":"string"}]}]}"#
            try Data(model.utf8).write(to: URL(filePath: "\(directory)/model.json"))
            let list = try await self.user.output("model", "show", "--json")
            try Data(list.utf8).write(to: URL(filePath: "\(directory)/list.json"))
            #expect(try await Set(CommandTree.leaves(self.user)) == Set(Self.successes.map(\.key)))

            for (name, test) in Self.successes {
                var arguments = (name.split(separator: " ").map(String.init) + test.arguments).map {
                    $0.replacing("DIR", with: directory)
                }
                var follower: ChildProcess?
                if let index = arguments.firstIndex(of: "CLIENT") {
                    follower = try self.user.start("changes", "--json")
                    _ = try await follower?.lines(atLeast: 1)
                    let clients = try await Self.lines(self.user.output("clients", "--json"))
                    arguments[index] = try #require(try clients.first.flatMap(Self.object)?["id"].text)
                }
                if name == "token revoke" {
                    // The last administrator's token cannot be revoked.
                    try await self.user.output("token", "create", "you", "--token-file", "\(directory)/token", "-q")
                }
                let place = arguments.firstIndex(of: "--") ?? arguments.endIndex
                arguments.insert("--json", at: place)
                let result = try await self.user.run(arguments, input: Array(test.input.utf8))
                #expect(result.status == test.status, "\(result.report)")
                #expect(result.output.isEmpty == test.isSilent, "\(result.report)")
                for line in Self.lines(result.output) + Self.lines(result.errors) {
                    #expect(Self.object(line) != nil, "\(name): \(line)")
                }
                _ = follower
            }
        }

        /// A wrong option, a server that is not there, and `--json` before or after the command's name.
        @Test func everyFailureIsAnObjectOnStandardError() async throws {
            for (name, test) in Self.successes {
                let words = name.split(separator: " ").map(String.init)
                for arguments in [["--json"] + words + ["--no-such-option"], words + ["--no-such-option", "--json"]] {
                    let result = try await self.user.run(arguments)
                    #expect(result.status == 64 && result.output == "", "\(result.report)")
                    let lines = Self.lines(result.errors)
                    let error = try #require(lines.first.flatMap(Self.object), "\(result.report)")
                    #expect(lines.count == 1, "\(result.report)")
                    #expect(try error["error"]["exit"] == .integer(64), "\(result.report)")
                }
                var arguments = words + test.arguments.filter { $0 != "--" && $0 != "true" }
                if name == "group" { arguments += ["--json", "--server", "127.0.0.1:1", "--", "true"] }
                if name != "group" {
                    arguments += ["--json"] + (name == "context set" ? [] : ["--server", "127.0.0.1:1"])
                }
                let result = try await self.user.run(arguments, input: Array(test.input.utf8))
                for line in Self.lines(result.output) + Self.lines(result.errors) {
                    #expect(Self.object(line) != nil, "\(name): \(line)")
                }
            }
            let unknown = try await self.user.run("tre", "--json")
            #expect(unknown.status == 64 && unknown.errors.hasPrefix(#"{"error":{"code":null,"exit":64,"#))
            let format = try await self.user.run("export", "--json", "--format", "md")
            #expect(format.status == 64 && format.errors.contains("need --output"), "\(format.report)")
        }

        @Test func removingAndExtraAreReportedInOneForm() async throws {
            try await self.user.output("add", "Milk")
            try await self.user.output("add", "a", "b", "--parent", "2")
            try await self.user.output("set", "2", #"extra={"k": 1}"#)
            for command in [["ls"], ["tree", "2", "--depth", "0"], ["export", "2"]] {
                let line = try #require(try await Self.lines(self.user.run(command + ["--json"]).output).first)
                #expect(try #require(Self.object(line))["extra"] == .object(["k": .integer(1)]), "\(line)")
            }
            #expect(try await self.user.output("rm", "3") == "deleted 1 object\n")
            #expect(try await self.user.output("rm", "2") == "deleted 2 objects\n")
            let again = try await self.user.run("rm", "2", "--json")
            #expect(again.status == 1 && Self.object(Self.lines(again.errors)[0]) != nil, "\(again.report)")
        }
    }
}
