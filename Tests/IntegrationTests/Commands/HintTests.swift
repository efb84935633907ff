import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// What nestc says when it refuses, and how Ctrl-C ends it.
    @Suite struct Hints {
        private let server: ServerProcess
        private let ann: CommandLineUser
        private let bob: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.ann = await CommandLineUser(self.server)
            self.bob = await CommandLineUser(self.server, session: String(repeating: "b", count: 32))
        }

        /// The hint previews the very undo or redo that was refused.
        @Test func aRefusedUndoNamesItsOwnPreview() async throws {
            try await self.ann.output("add", "Milk")
            try await self.ann.output("set", "2", "title=Oat milk")
            try await self.bob.output("set", "2", "title=Soy milk")
            try await self.ann.output("add", "Bread")
            func hint(_ arguments: String...) async throws -> String {
                let result = try await self.ann.run(arguments)
                #expect(result.status == 1 && result.errors.contains("[UNDO_CONFLICT]"), "\(result.report)")
                return result.errors
            }
            for command in ["undo", "preview"] {
                let own = try await hint(command, "--revision", "2", "--strict")
                #expect(own.contains("'nestc preview --revision 2 --force'"), "\(own)")
                let anyone = try await hint(command, "--revision", "2", "--anyone", "--strict")
                #expect(anyone.contains("'nestc preview --revision 2 --anyone --force'"), "\(anyone)")
            }
            try await self.ann.output("undo")
            _ = try await self.ann.run("undo", "--force")
            try await self.bob.output("set", "2", "title=Rice milk")
            let redo = try await hint("redo", "--strict")
            #expect(redo.contains("'nestc preview redo --force'"), "\(redo)")
        }

        @Test func aStrayFieldOfAStepIsRefusedInWords() async throws {
            let result = try await self.ann.run("tx", "-", input: #"{"update":2,"valeus":{}}"#)
            #expect(result.errors == "nestc: line 1: \"update\" takes the fields \"values\", not \"valeus\"\n")
            let delete = try await self.ann.run("tx", "-", input: #"{"delete":2,"x":1}"#)
            #expect(delete.errors == "nestc: line 1: \"delete\" takes no other fields, not \"x\"\n")
        }

        /// Ctrl-C while a command waits for standard input leaves what the user types next to the shell.
        @Test func interruptedInputIsLeftToTheShell() async throws {
            guard Screen.isAvailable else { return print("skipped: tmux is missing, so no test presses Ctrl-C") }
            let screen = try await Screen(
                "bash --norc --noprofile",
                rows: 24,
                directory: self.server.directory.path,
                environment: self.ann.environment.merging(["PS1": "> "]) { $1 }
            )
            for command in ["tx -", "add -", "import - --format json", "insert Item -"] {
                // A busy machine may be too slow to end nestc before the user types. Once must be enough.
                var isKept = false
                for _ in 0..<10 where !isKept { isKept = try await self.keepsTyping(after: command, screen) }
                #expect(isKept, "\(command)")
            }
        }

        /// Interrupts a command that waits for input, types a line a moment later, and returns whether the shell got
        /// the line.
        private func keepsTyping(after command: String, _ screen: Screen) async throws -> Bool {
            try await screen.press(["clear; nestc \(command); echo status=$?", "Enter"])
            _ = try await waitFor("nestc \(command) to connect") {
                let clients = try await self.ann.output("clients", "--json").split(separator: "\n")
                return clients.count == 2 ? true : nil
            }
            try await screen.press(["C-c"])
            try await Task.sleep(for: .milliseconds(200))
            try await screen.press(["echo typed-$((6*7))", "Enter"])
            _ = try await waitFor("the end of nestc \(command)") {
                try await screen.lines().contains { $0.hasSuffix("status=130") } ? true : nil
            }
            try await screen.press(["echo last-$((6*7))", "Enter"])
            let lines = try await waitFor("the shell") {
                let lines = try await screen.lines()
                return lines.contains("last-42") ? lines : nil
            }
            return lines.contains("typed-42")
        }
    }
}
