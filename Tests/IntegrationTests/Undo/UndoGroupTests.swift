import NestTestSupport
import Testing

extension ProcessTests {
    /// Undo groups and undo coalescing on the command line.
    @Suite struct UndoGroupCommands {
        private let server: ServerProcess
        private let ann: CommandLineUser
        private let bob: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.ann = await CommandLineUser(self.server, session: String(repeating: "0a", count: 16))
            self.bob = await CommandLineUser(self.server, session: String(repeating: "0b", count: 16))
            try await self.ann.output("add", "Milk", "Bread")
        }

        private func history(_ arguments: String...) async throws -> String {
            let time = #/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+\.[0-9]{6}Z/#
            return try await self.ann.output(["history"] + arguments).replacing(time, with: "TIME")
        }

        @Test func allWritesOfACommandAreOneEntry() async throws {
            let run = try await self.ann.run(
                [
                    "group", "tidy up", "--", "sh", "-c",
                    "nestc add Cheese && cat && nestc rm 2 && nestc import - && nestc mv 3 --last",
                ],
                input: Array("Eggs\n".utf8)
            )
            // `cat` has read the input, so the import gets none.
            #expect(run.status == 0, "\(run.report)")
            #expect(run.output == "4\nEggs\ndeleted 1 object\nimported nothing: the input has no items\n")
            try await self.bob.output("add", "Bob's")
            #expect(try await self.ann.output("ls") == "4\tCheese\n3\tBread\n5\tBob's\n")
            #expect(
                try await self.history() == """
                    4\tTIME\tmine\ttidy up  (3 transactions from 2)  <- undo
                    1\tTIME\tmine\tadd 2 items

                    """
            )
            let lines = try await self.ann.output("history", "--json").split(separator: "\n")
            #expect(lines.map { $0.hasSuffix(#""entry":2}"#) } == [true, true, false, false])
            #expect(try await self.ann.output("undo") == "undid: tidy up\n")
            #expect(try await self.ann.output("ls") == "2\tMilk\n3\tBread\n5\tBob's\n")
            #expect(try await self.ann.output("redo") == "redid: tidy up\n")
            #expect(try await self.ann.output("ls") == "4\tCheese\n3\tBread\n5\tBob's\n")
        }

        /// Every writing command belongs to the group. A nested group joins the outer one.
        @Test func everyWriteBelongsToTheGroup() async throws {
            let script = """
                set -e
                nestc insert Item title=inserted
                nestc find-or-create Item title=found
                nestc set 2 title=Oat
                nestc relate 2 children 3
                nestc mv 3 --parent 1
                nestc group inner -- nestc add nested
                echo '{"delete":3}' | nestc tx -
                printf 'imported\\n' | nestc import -
                """
            let run = try await self.ann.run("group", "all", "--", "sh", "-c", script)
            #expect(run.status == 0, "\(run.report)")
            let state = try await self.ann.output("undo-state", "--json")
            #expect(state.contains(#""transactions":8,"name":"all"}"#), "\(state)")
            #expect(try await self.ann.output("undo") == "undid: all\n")
            #expect(try await self.ann.output("ls") == "2\tMilk\n3\tBread\n")
        }

        @Test func groupExitsWithTheStatusOfItsCommand() async throws {
            for (command, status) in [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)] as [(String, Int32)] {
                #expect(try await self.ann.run("group", "g", "--", "sh", "-c", command).status == status)
            }
            let missing = try await self.ann.run("group", "g", "--", "no-such-command")
            #expect(missing.status == 127 && missing.errors.contains("no-such-command"), "\(missing.report)")
            #expect(try await self.ann.run("group", "g").status == 64)
            // The writes before a failure stay, as one entry.
            let failed = try await self.ann.run("group", "g", "--", "sh", "-c", "nestc add a; nestc add b; nestc rm 99")
            #expect(failed.status == 1, "\(failed.report)")
            #expect(try await self.ann.output("undo-state", "--json").contains(#""transactions":2,"name":"g"}"#))
        }

        /// When the group's connection ends, the group ends, and later writes of the command are refused.
        @Test func writesAfterTheGroupEndedAreRefused() async throws {
            let process = try self.ann.start(
                "group",
                "g",
                "--",
                "sh",
                "-c",
                "nestc add one; echo ready; while ! nestc ls | grep -q go; do sleep 0.1; done; nestc add two"
            )
            _ = try await process.lines(atLeast: 2)
            try await self.server.restart()
            try await self.bob.output("add", "go")
            let result = try await CommandLineUser.Result(process)
            #expect(result.status == 1, "\(result.report)")
            #expect(result.errors.contains("(NEST_GROUP) has ended"), "\(result.report)")
            #expect(result.errors.contains("the group ended before the command did"), "\(result.report)")
            #expect(try await self.ann.output("ls") == "2\tMilk\n3\tBread\n4\tone\n5\tgo\n")
            let outside = try await self.ann.shell("NEST_GROUP=77 nestc add x; NEST_GROUP=x nestc add x")
            #expect(outside.status == 64, "\(outside.report)")
            #expect(try await self.ann.output("ls").contains("x") == false)
        }

        /// The group ends when the process that opened it is killed, because the command does not inherit its
        /// connection.
        @Test func aGroupWhoseOwnerIsKilledEnds() async throws {
            let done = "\(self.server.directory.path)/done"
            let script =
                "echo started; while [ ! -e \(done).1 ]; do sleep 0.05; done; nestc add late; echo $? >\(done).2"
            let process = try self.ann.start("group", "g", "--", "sh", "-c", script)
            _ = try await process.lines(atLeast: 1)
            try await process.killNow()
            let late = try await self.ann.shell(
                "touch \(done).1; while [ ! -s \(done).2 ]; do sleep 0.05; done; cat \(done).2"
            )
            #expect(late.output == "1\n", "\(late.report)")
            #expect(try await self.ann.output("ls") == "2\tMilk\n3\tBread\n")
        }

        /// nestc leaves SIGINT to the command and forwards SIGTERM to it.
        @Test func signalsReachTheCommand() async throws {
            let process = try self.ann.start(
                "group",
                "g",
                "--",
                "sh",
                "-c",
                "trap 'echo stopped; exit 5' TERM; echo ready; while true; do sleep 0.05; done"
            )
            _ = try await process.lines(atLeast: 1)
            await process.send(signal: 2)
            #expect(await process.poll() == nil)
            await process.send(signal: 15)
            let result = try await CommandLineUser.Result(process)
            #expect(result.status == 143, "\(result.report)")
            let ended = try await self.ann.shell("while pgrep -f 'echo [s]topped' >/dev/null; do sleep 0.05; done")
            #expect(ended.status == 0)
            #expect(process.lines == ["ready", "stopped"])
        }

        @Test func coalescedEditsAreOneEntry() async throws {
            for title in ["M", "Ma", "Malt"] {
                try await self.ann.output("set", "2", "title=\(title)", "--coalesce", "2:60000")
            }
            #expect(
                try await self.history() == """
                    4\tTIME\tmine\tedit "Malt"  (3 transactions from 2)  <- undo
                    1\tTIME\tmine\tadd 2 items

                    """
            )
            try await self.ann.output("set", "2", "title=Malted", "--coalesce", "other:60000")
            try await self.ann.output("set", "2", "title=Malted milk", "--coalesce", "other:0")
            try await self.ann.output("undo")
            try await self.ann.output("undo")
            #expect(try await self.ann.output("ls") == "2\tMalt\n3\tBread\n")
            #expect(try await self.ann.output("undo") == "undid: edit \"Malt\"\n")
            #expect(try await self.ann.output("ls") == "2\tMilk\n3\tBread\n")
            for key in ["", ":5", "k:60001", String(repeating: "k", count: 65)] {
                #expect(try await self.ann.run("set", "2", "title=x", "--coalesce", key).status == 64, "\(key)")
            }
        }

        @Test func aTransactionFromStandardInputIsOneEntry() async throws {
            let steps = #"{"insert":"Item","values":{"title":"a"},"as":"a"}"# + "\n" + #"{"delete":3}"# + "\n"
            try await self.ann.output("tx", "-", "--name", "two steps", input: steps)
            #expect(try await self.ann.output("undo") == "undid: two steps\n")
            #expect(try await self.ann.output("ls") == "2\tMilk\n3\tBread\n")
        }

        /// Pages of the history contain every entry once, with and without folded groups.
        @Test func theHistoryIsPaged() async throws {
            try await self.ann.output(
                "group",
                "g",
                "--",
                "sh",
                "-c",
                "for i in 1 2 3 4 5; do nestc set 2 title=$i; done"
            )
            for title in ["a", "b"] { try await self.ann.output("add", title) }
            #expect(
                try await self.history("--limit", "3") == """
                    8\tTIME\tmine\tadd item "b"  <- undo
                    7\tTIME\tmine\tadd item "a"
                    6\tTIME\tmine\tg  (5 transactions from 2)

                    """
            )
            #expect(
                try await self.history("--limit", "1", "--before", "7") == "6\tTIME\tmine\tg  (5 transactions from 2)\n"
            )
            #expect(try await self.history("--before", "2") == "1\tTIME\tmine\tadd 2 items\n")
            let revisions = try await self.ann.output("history", "--json", "--limit", "3", "--before", "7")
                .split(separator: "\n").map { $0.prefix(14) }
            #expect(revisions == [#"{"revision":6,"#, #"{"revision":5,"#, #"{"revision":4,"#])
            #expect(try await self.ann.run("history", "--before", "0").status == 64)
        }
    }
}
