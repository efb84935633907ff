import NestTestSupport
import Testing

extension ProcessTests {
    /// Undo conflicts between users on the command line: kept, overwritten and refused changes.
    @Suite struct UndoConflictCommands {
        private let server: ServerProcess
        private let ann: CommandLineUser
        private let bob: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.ann = await CommandLineUser(self.server, session: String(repeating: "0a", count: 16))
            self.bob = await CommandLineUser(self.server, session: String(repeating: "0b", count: 16))
        }

        /// Ann adds Milk (id 2) and Bread (id 3) and changes title and done of Milk; then Bob changes the title.
        private func changeBoth() async throws {
            try await self.ann.output("add", "Milk", "Bread")
            try await self.ann.output("set", "2", "title=Oat milk", "done=yes")
            try await self.bob.output("set", "2", "title=Soy milk")
        }

        private static let overwrote = "nestc: overwrote: \"Soy milk\".title, changed since by s2 in revision 3\n"
        private static let kept = #""Soy milk".title, edited since by s2 in revision 3"#
        private static let conflict =
            #"{"reason":"edited","entity":"Item","id":2,"property":"title","revision":3,"session":2,"#
            + #""user":null,"userClaimed":false,"label":"Soy milk"}"#

        @Test func undoKeepsChangesOfOtherSessions() async throws {
            try await self.changeBoth()
            let undone = try await self.ann.run("undo")
            #expect(undone.status == 0, "\(undone.report)")
            #expect(undone.output == "undid: edit \"Oat milk\"\n")
            #expect(undone.errors == "nestc: kept: \(Self.kept)\n")
            #expect(try await self.ann.output("tree") == "Soy milk  #2\nBread  #3\n")
            // The entry was undone, so it can be redone.
            #expect(try await self.ann.output("redo") == "redid: edit \"Oat milk\"\n")
            #expect(try await self.ann.output("tree") == "[x] Soy milk  #2\nBread  #3\n")
            #expect(
                try await self.ann.output("undo", "--json")
                    == #"{"revision":6,"changed":true,"replayed":false,"ids":[],"count":0,"name":"edit \"Oat milk\"","conflicts":[],"conflictCount":0}"#
                    + "\n"
            )
        }

        @Test func conflictsAreInTheJSON() async throws {
            try await self.changeBoth()
            #expect(
                try await self.ann.output("undo", "--json")
                    == #"{"revision":4,"changed":true,"replayed":false,"ids":[],"count":0,"name":"edit \"Oat milk\"","conflicts":["#
                    + Self.conflict + "],\"conflictCount\":1}\n"
            )
        }

        @Test func strictRefusesAndForceOverwrites() async throws {
            try await self.changeBoth()
            let refused = try await self.ann.run("undo", "--strict")
            #expect(refused.status == 1 && refused.output == "", "\(refused.report)")
            #expect(refused.errors.contains("[UNDO_CONFLICT]"), "\(refused.report)")
            let json = try await self.ann.run("undo", "--strict", "--json")
            #expect(json.errors.hasPrefix(#"{"error":{"code":"UNDO_CONFLICT","exit":1,"#), "\(json.report)")
            #expect(try await self.ann.output("tree") == "[x] Soy milk  #2\nBread  #3\n")
            let forced = try await self.ann.run("undo", "--force")
            #expect(forced.status == 0 && forced.output == "undid: edit \"Oat milk\"\n", "\(forced.report)")
            #expect(forced.errors == Self.overwrote, "\(forced.report)")
            #expect(try await self.ann.output("ls") == "2\tMilk\n3\tBread\n")
            for arguments in [
                ["undo", "--strict", "--force"], ["undo", "--anyone"], ["undo", "--revision", "1", "--expect", "1"],
            ] {
                #expect(try await self.ann.run(arguments).status == 64)
            }
        }

        @Test func forcedUndoListsDeletedObjectsOfOthers() async throws {
            try await self.ann.output("add", "List")
            try await self.bob.output("add", "Milk", "--parent", "2")
            let forced = try await self.ann.run("undo", "--force")
            #expect(forced.status == 0 && forced.output == "undid: add item \"List\"\n", "\(forced.report)")
            #expect(forced.errors == "nestc: deleted: \"Milk\", last changed by s2 in revision 2\n", "\(forced.report)")
        }

        /// If nothing in an entry can be undone, nestc reports it, skips the entry and exits with 80. `--revision` can
        /// still undo it.
        @Test func anUndoThatChangesNothingHasItsOwnExitCode() async throws {
            try await self.ann.output("add", "Milk")
            try await self.ann.output("set", "2", "title=Oat milk")
            try await self.bob.output("set", "2", "title=Soy milk")
            let blocked = try await self.ann.run("undo")
            #expect(blocked.status == 80 && blocked.output == "", "\(blocked.report)")
            #expect(blocked.errors.contains("kept: \(Self.kept)"), "\(blocked.report)")
            #expect(blocked.errors.contains("nothing was undone"), "\(blocked.report)")
            #expect(try await self.ann.output("help", "exit-codes").contains("\n 80  "))
            let history = try await self.ann.output("history")
            #expect(history.contains("edit \"Oat milk\"  (blocked)\n"), "\(history)")
            #expect(
                try await self.ann.output("history", "--json", "--limit", "1").contains(
                    #""blocked":true,"entry":null}"#
                )
            )
            let revert = try await self.ann.run("undo", "--revision", "2", "--json")
            #expect(revert.status == 80, "\(revert.report)")
            #expect(revert.output.contains(#""changed":false"#) && revert.output.contains(Self.conflict))
            #expect(revert.errors.contains(#"{"error":{"code":null,"exit":80,"#), "\(revert.report)")
            let forced = try await self.ann.run("undo", "--revision", "2", "--force")
            #expect(forced.status == 0 && forced.output == "undid: edit \"Oat milk\"\n", "\(forced.report)")
            #expect(forced.errors == Self.overwrote, "\(forced.report)")
            #expect(try await self.ann.output("ls") == "2\tMilk\n")
            // The revert is an undo entry like any other.
            #expect(
                try await self.ann.output("history", "--limit", "1").contains("revert of 2: edit \"Oat milk\"  <- undo")
            )
            #expect(try await self.ann.output("undo") == "undid: edit \"Oat milk\"\n")
            #expect(try await self.ann.output("ls") == "2\tSoy milk\n")
        }

        @Test func undoingTransactionsOfOthersNeedsAnyone() async throws {
            try await self.ann.output("add", "Milk")
            try await self.bob.output("set", "2", "title=Soy milk")
            let forbidden = try await self.ann.run("undo", "--revision", "2")
            #expect(forbidden.status == 77, "\(forbidden.report)")
            #expect(forbidden.errors.contains("--anyone"), "\(forbidden.report)")
            #expect(!forbidden.errors.contains("ofAnyone"), "\(forbidden.report)")
            #expect(try await self.ann.run("undo", "--revision", "9", "--anyone").status == 1)
            #expect(try await self.ann.output("undo", "--revision", "2", "--anyone") == "undid: edit \"Soy milk\"\n")
            #expect(try await self.ann.output("ls") == "2\tMilk\n")
            #expect(try await self.bob.output("undo-state").hasPrefix("undo: edit \"Soy milk\""))
        }

        @Test func undoWithExpectUndoesOnlyThatEntry() async throws {
            try await self.ann.output("add", "Milk")
            try await self.ann.output("add", "Bread")
            let other = try await self.ann.run("undo", "--expect", "1")
            #expect(other.status == 1 && other.errors.contains("[CONFLICT]"), "\(other.report)")
            #expect(try await self.ann.output("undo", "--expect", "2") == "undid: add item \"Bread\"\n")
            #expect(try await self.ann.run("redo", "--expect", "2").status == 1)
            #expect(try await self.ann.output("redo", "--expect", "3") == "redid: add item \"Bread\"\n")
        }

        @Test func objectsThatLostTheirOwnerAreRehomed() async throws {
            try await self.ann.output("add", "List")
            try await self.ann.output("add", "Milk", "--parent", "2")
            try await self.ann.output("rm", "3")
            try await self.bob.output("rm", "2")
            let refused = try await self.ann.run("undo")
            #expect(refused.status == 1, "\(refused.report)")
            #expect(refused.errors.contains("[OWNER_GONE]") && refused.errors.contains("--rehome"), "\(refused.report)")
            let undone = try await self.ann.run("undo", "--rehome")
            #expect(undone.output == "undid: delete \"Milk\"\n", "\(undone.report)")
            #expect(undone.errors.contains("rehomed: \"Milk\""), "\(undone.report)")
            #expect(try await self.ann.output("ls") == "3\tMilk\n")
        }

        /// A preview changes nothing, and the undo makes exactly the shown changes.
        @Test func aPreviewShowsWhatAnUndoWouldChange() async throws {
            try await self.changeBoth()
            let preview = try await self.ann.run("preview", "undo")
            #expect(preview.status == 0, "\(preview.report)")
            #expect(
                preview.output == """
                    would undo: edit "Oat milk"
                    ~ Item #2 "Soy milk"
                        done: yes -> no
                    1 changed

                    """
            )
            #expect(preview.errors == "nestc: kept: \(Self.kept)\n")
            let forced = try await self.ann.run("preview", "--force")
            #expect(forced.output.contains("    title: \"Soy milk\" -> \"Milk\"\n"), "\(forced.report)")
            #expect(forced.errors == Self.overwrote, "\(forced.report)")
            #expect(
                try await self.ann.output("preview", "undo", "--json")
                    == #"{"name":"edit \"Oat milk\"","inserted":0,"updated":1,"deleted":0,"changes":[{"change":"updated","entity":"Item","id":2,"label":"Soy milk","properties":["done"],"values":[{"property":"done","before":true,"after":false}]}],"conflicts":["#
                    + Self.conflict + "],\"conflictCount\":1}\n"
            )
            #expect(try await self.ann.run("preview", "undo", "--strict").status == 1)
            #expect(try await self.ann.run("preview", "redo").errors.contains("[NOTHING_TO_REDO]"))
            try await self.ann.output("rm", "3")
            #expect(
                try await self.bob.output("preview", "--revision", "4", "--anyone") == """
                    would undo: delete "Bread"
                    + Item #3 "Bread"
                    1 restored

                    """
            )
            #expect(try await self.ann.output("undo") == "undid: delete \"Bread\"\n")
            #expect(
                try await self.ann.output("preview", "redo") == """
                    would redo: delete "Bread"
                    - Item #3 "Bread"
                    1 deleted

                    """
            )
            for arguments in [["preview", "other"], ["preview", "redo", "--revision", "1"], ["preview", "--anyone"]] {
                #expect(try await self.ann.run(arguments).status == 64)
            }
            #expect(try await self.ann.output("history", "--json").split(separator: "\n").count == 4)
        }
    }
}
