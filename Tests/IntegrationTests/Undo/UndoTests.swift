import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Undo and history on the command line.
    @Suite struct UndoCommands {
        private let server: ServerProcess
        private let ann: CommandLineUser
        private let bob: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.ann = await CommandLineUser(self.server, session: String(repeating: "0a", count: 16))
            self.bob = await CommandLineUser(self.server, session: String(repeating: "0b", count: 16))
        }

        @Test func undoAndRedoAcrossARestart() async throws {
            try await self.ann.output("add", "Milk", "Bread")
            try await self.ann.output("add", "Skimmed", "--parent", "2")
            try await self.ann.output("set", "2", "title=Oat milk")
            try await self.ann.output("mv", "2", "--last")
            try await self.ann.output("rm", "2")
            try await self.server.restart()
            #expect(try await self.ann.output("undo") == "undid: delete \"Oat milk\" and 1 item inside\n")
            #expect(try await self.ann.output("tree") == "Bread  #3\nOat milk  #2\n  Skimmed  #4\n")
            #expect(
                try await self.ann.output("undo", "--json")
                    == #"{"revision":7,"changed":true,"replayed":false,"ids":[],"count":0,"name":"move \"Oat milk\"","conflicts":[],"conflictCount":0}"#
                    + "\n"
            )
            #expect(try await self.ann.output("undo") == "undid: edit \"Oat milk\"\n")
            #expect(try await self.ann.output("tree") == "Milk  #2\n  Skimmed  #4\nBread  #3\n")
            try await self.server.restart()
            #expect(try await self.ann.output("redo") == "redid: edit \"Oat milk\"\n")
            #expect(try await self.ann.output("redo") == "redid: move \"Oat milk\"\n")
            #expect(try await self.ann.output("tree") == "Bread  #3\nOat milk  #2\n  Skimmed  #4\n")
            for _ in 0..<4 { try await self.ann.output("undo") }
            #expect(try await self.ann.output("tree") == "")
            let nothing = try await self.ann.run("undo")
            #expect(nothing.status == 1)
            #expect(nothing.errors.contains("[NOTHING_TO_UNDO]"), "\(nothing.report)")
        }

        @Test func sessionsUndoOnlyTheirOwn() async throws {
            try await self.ann.output("add", "Ann's")
            try await self.bob.output("add", "Bob's")
            #expect(try await self.ann.output("undo") == "undid: add item \"Ann's\"\n")
            #expect(try await self.ann.output("ls") == "3\tBob's\n")
            #expect(try await self.ann.run("undo").status == 1)
            // Bob's writes do not clear Ann's redo stack.
            try await self.bob.output("add", "Bob's second")
            #expect(try await self.ann.output("redo") == "redid: add item \"Ann's\"\n")
            #expect(try await self.bob.output("undo") == "undid: add item \"Bob's second\"\n")
            #expect(try await self.bob.output("undo") == "undid: add item \"Bob's\"\n")
            #expect(try await self.bob.run("undo").status == 1)
            #expect(try await self.bob.output("ls") == "2\tAnn's\n")
        }

        @Test func historyListsSessionsAndTransactions() async throws {
            try await self.ann.output("add", "Milk")
            try await self.bob.output("add", "line\nbreak", "--name", "two\tparts")
            try await self.ann.output("undo")
            let time = #/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z/#
            func history(_ user: CommandLineUser, _ arguments: String...) async throws -> String {
                let result = try await user.run(["history"] + arguments)
                #expect(result.status == 0, "\(result.report)")
                return result.output.replacing(time, with: "TIME")
            }
            #expect(
                try await history(self.ann, "--all") == """
                    3\tTIME\tmine\tundo of 1: add item "Milk"  <- redo
                    2\tTIME\ts2\ttwo\\tparts
                    1\tTIME\tmine\tadd item "Milk"

                    """
            )
            #expect(try await history(self.bob) == "2\tTIME\tmine\ttwo\\tparts  <- undo\n")
            #expect(
                try await history(self.ann, "--limit", "1", "--all")
                    == "3\tTIME\tmine\tundo of 1: add item \"Milk\"  <- redo\n"
            )
            #expect(
                try await history(self.ann, "--json") == """
                    {"revision":3,"time":"TIME","session":1,"mine":true,"user":null,"userClaimed":false,"kind":"undo","reverted":1,"name":"add item \\"Milk\\"","nextUndo":false,"nextRedo":true,"blocked":false,"entry":null}
                    {"revision":1,"time":"TIME","session":1,"mine":true,"user":null,"userClaimed":false,"kind":"write","reverted":null,"name":"add item \\"Milk\\"","nextUndo":false,"nextRedo":false,"blocked":false,"entry":null}

                    """
            )
        }

        /// Without NEST_SESSION, nestc stores the session in a file that only its owner can read.
        @Test func aSessionIsStoredPerUserAndServer() async throws {
            let one = await CommandLineUser(self.server)
            try await one.output("add", "one")
            let other = CommandLineUser(server: await self.server.address, directory: TemporaryDirectory())
            #expect(try await other.run("undo").status == 1)
            #expect(try await one.output("undo") == "undid: add item \"one\"\n")
            let mode = try await one.shell("stat -c %a \"$XDG_STATE_HOME\"/nest/sessions/*")
            #expect(mode.output == "600\n", "\(mode.report)")
        }
    }
}
