import NestTestSupport
import Testing

extension ProcessTests {
    /// `session` and `undo-state` on the command line.
    @Suite struct SessionCommands {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.user = await CommandLineUser(self.server)
        }

        private var kept: String {
            get async { "\(self.server.directory.path)/state/nest/sessions/127.0.0.1_\(await self.server.port)" }
        }

        @Test func undoStatePrintsTheNextUndoAndRedo() async throws {
            #expect(try await self.user.output("undo-state") == "undo: nothing\nredo: nothing\n")
            try await self.user.output("add", "Milk")
            try await self.user.output("add", "Bread")
            try await self.user.output("undo")
            #expect(
                try await self.user.output("undo-state") == """
                    undo: add item "Milk"  (revision 1)
                    redo: add item "Bread"  (revision 3)

                    """
            )
            #expect(
                try await self.user.output("undo-state", "--json")
                    == #"{"undo":{"revision":1,"transactions":1,"name":"add item \"Milk\""},"redo":{"revision":3,"transactions":1,"name":"add item \"Bread\""},"undoCount":1,"redoCount":1,"blocked":0,"dropped":0}"#
                    + "\n"
            )
        }

        @Test func undoStateIsFollowedAcrossARestart() async throws {
            let follower = try self.user.start("undo-state", "--follow")
            _ = try await follower.lines(atLeast: 2)
            try await self.user.output("add", "Milk")
            _ = try await follower.lines(atLeast: 5)
            try await self.server.restart()
            try await self.user.output("undo")
            let lines = try await follower.lines(atLeast: 8)
            #expect(
                lines == [
                    "undo: nothing", "redo: nothing", "", "undo: add item \"Milk\"  (revision 1)", "redo: nothing", "",
                    "undo: nothing", "redo: add item \"Milk\"  (revision 2)",
                ]
            )
            await follower.send(signal: 2)
            try await follower.wait(forEnd: .exit(130))
            // The command ends when its reader closes the pipe.
            let first = try await self.user.shell("nestc undo-state --follow --json | head -1")
            #expect(first.status == 0 && first.output.hasPrefix(#"{"undo":null,"#), "\(first.report)")
        }

        @Test func aSessionIsShownWithoutItsSecret() async throws {
            try await self.user.output("add", "Milk")
            let port = await self.server.port
            let path = await self.kept
            let secret = try await self.user.output("session", "show", "--secret")
            #expect(secret.wholeMatch(of: /[0-9a-f]{32}\n/) != nil, "\(secret)")
            #expect(try await self.user.shell("cat '\(path)'").output == secret)
            let shown = try await self.user.output("session")
            #expect(
                shown == """
                    session s1 of 127.0.0.1:\(port), kept in \(path)
                    undo: add item "Milk"  (revision 1)
                    redo: nothing

                    """
            )
            let json = try await self.user.output("session", "show", "--json")
            #expect(
                json.hasPrefix(#"{"session":1,"server":"127.0.0.1:\#(port)","file":"\#(path)","state":{"undo":{"#),
                "\(json)"
            )
            #expect(!json.contains(secret.dropLast()) && !shown.contains(secret.dropLast()))
            let given = await CommandLineUser(self.server, session: String(repeating: "0c", count: 16))
            #expect(
                try await given.output("session", "show").hasPrefix(
                    "session s2 of 127.0.0.1:\(port), from NEST_SESSION\n"
                )
            )
            #expect(try await given.output("session", "show", "--json").contains(#""file":null"#))
        }

        /// After `session new`, adopting the previous session restores its undo stack.
        @Test func aReplacedSessionCanBeAdoptedAgain() async throws {
            try await self.user.output("add", "Milk")
            let path = await self.kept
            let server = "127.0.0.1:\(await self.server.port)"
            let first = try await self.user.output("session", "show", "--secret")
            #expect(
                try await self.user.output("session", "new")
                    == "\(server): uses another session now; the previous session is kept in \(path).1\n"
            )
            #expect(try await self.user.run("undo").status == 1)
            #expect(
                try await self.user.output("session", "list")
                    == "\(server)\tcurrent\t\(path)\n\(server)\treplaced\t\(path).1\n"
            )
            #expect(
                try await self.user.output("session", "list", "--json") == """
                    {"server":"\(server)","current":true,"file":"\(path)","private":true}
                    {"server":"\(server)","current":false,"file":"\(path).1","private":true}

                    """
            )
            #expect(
                try await self.user.output("session", "adopt", "-", "--json", input: first)
                    == #"{"server":"\#(server)","changed":true,"file":"\#(path)","replaced":"\#(path).2"}"# + "\n"
            )
            #expect(try await self.user.output("undo") == "undid: add item \"Milk\"\n")
            let digits = String(first.dropLast())
            #expect(
                try await self.user.output("session", "adopt", digits) == "\(server): this session is already in use\n"
            )
            // The kept copy of the session now in use is removed.
            let modes = try await self.user.shell("stat -c '%n %a' '\(path)'*")
            #expect(modes.output == "\(path) 600\n\(path).2 600\n", "\(modes.report)")
            for wrong in ["", "0f0e", digits + "0", "-"] {
                #expect(try await self.user.run("session", "adopt", wrong).status == 64, "\(wrong)")
            }
        }

        /// The servers of a list have one session. A command that names one of them uses it too, and a list takes over
        /// the session that one of its servers had.
        @Test func aListOfServersHasOneSession() async throws {
            let port = await self.server.port
            try await self.user.output("add", "Milk")
            let secret = try await self.user.output("session", "show", "--secret")
            // Two names of one server. What has a session of its own keeps it, as long as no list takes it over.
            let list = "localhost:\(port),127.0.0.1:\(port)"
            #expect(
                try await self.user.output("undo", "--server", list) == "undid: add item \"Milk\"\n"
            )
            let path = "\(self.server.directory.path)/state/nest/sessions/127.0.0.1_\(port),localhost_\(port)"
            for server in [list, "127.0.0.1:\(port),localhost:\(port)", "127.0.0.1:\(port)", "localhost:\(port)"] {
                let used = try await self.user.output("session", "show", "--secret", "--server", server)
                #expect(used == secret, "\(server)")
                let shown = try await self.user.output("session", "show", "--json", "--server", server)
                #expect(shown.contains(#""file":"\#(path)""#), "\(server): \(shown)")
            }
            let listed = try await self.user.output("session", "list")
            #expect(listed == "127.0.0.1:\(port),localhost:\(port)\tcurrent\t\(path)\n")
            // A list that grows takes the session along.
            let longer = "\(list),[::ffff:127.0.0.1]:\(port)"
            #expect(try await self.user.output("session", "show", "--secret", "--server", longer) == secret)
            #expect(try await self.user.output("session", "show", "--secret", "--server", list) == secret)
            // Where two lists have the server, it has a session of its own.
            let grown = try await self.user.output("session", "list").split(separator: "\t").last.map { $0.dropLast() }
            let directory = "\(self.server.directory.path)/state/nest/sessions"
            let copied = try await self.user.shell("cp '\(try #require(grown))' '\(directory)/h_1,localhost_\(port)'")
            #expect(copied.status == 0, "\(copied.report)")
            let own = try await self.user.output("session", "show", "--secret", "--server", "localhost:\(port)")
            #expect(own != secret)
        }

        @Test func overridingEnvironmentVariablesAreReported() async throws {
            let given = await CommandLineUser(self.server, session: String(repeating: "0c", count: 16))
            let adopted = try await given.run("session", "adopt", String(repeating: "0d", count: 16))
            #expect(adopted.status == 0 && adopted.errors.contains("NEST_SESSION is set"), "\(adopted.report)")
            #expect(try await given.output("session", "show").contains("from NEST_SESSION"))
            #expect(
                try await self.user.output("session", "show", "--secret") == String(repeating: "0d", count: 16) + "\n"
            )
        }
    }
}
