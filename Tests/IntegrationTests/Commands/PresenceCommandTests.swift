import NestTestSupport
import Testing

extension ProcessTests {
    /// Clients that are here, in lines, in JSON and on screens of `nestc`. Only screens show where their users are.
    @Suite(.enabled(if: Screen.isAvailable, "tmux is missing")) struct PresenceCommand {
        private let server: ServerProcess
        private let user: CommandLineUser
        private let directories = [TemporaryDirectory(), TemporaryDirectory()]

        init() async throws {
            self.server = try await ServerProcess.started()
            self.user = await CommandLineUser(self.server)
            try await self.user.output("import", "-", "--quiet", input: "Milk\nBread\n")
        }

        /// `place`: of two screens.
        private func screen(_ name: String, _ place: Int) async throws -> Screen {
            var environment = self.user.environment
            environment.merge(["LANG": "C.UTF-8", "NO_COLOR": "1", "TERM": "xterm-256color"]) { $1 }
            return try await Screen(
                "nestc subscribe --outline --user \(name)",
                columns: 80,
                rows: 12,
                directory: self.directories[place].path,
                environment: environment
            )
        }

        private func wait(_ screen: Screen, for text: String, _ isThere: ([String]) -> Bool) async throws {
            try await waitUntil(text) { isThere(try await screen.lines()) }
        }

        private func follower(_ options: String...) async throws -> ChildProcess {
            let process = try self.user.start(["subscribe", "--user", "Ann"] + options)
            try await process.waitForOutput("Milk")
            return process
        }

        /// One line, or one event, for each change; nothing without the option. Lines and events are not seen.
        @Test func linesAndEventsSayWhoComesAndGoes() async throws {
            let lines = try await self.follower("--plain", "--presence")
            let events = try await self.follower("--json", "--presence")
            let others = try await [self.follower("--plain"), self.follower("--json")]
            let bo = try await self.screen("Bo", 0)
            try await lines.waitForOutput("present: ~Bo at #2\n")
            try await events.waitForOutput(#""user":"Bo""#)
            #expect(
                events.output.contains(#"{"event":"presence","scope":1,"live":true,"people":[]}"#),
                "\(events.output)"
            )
            try await self.wait(bo, for: "the list") { $0.contains { $0.contains("Milk") } }
            #expect(try await !bo.lines().contains { $0.contains("Ann") })
            try await bo.press(["Down"])
            try await lines.waitForOutput("present: ~Bo at #3\n")
            try await bo.press(["q"])
            try await lines.waitForOutput("present: no others\n")
            for process in [lines, events] + others { try await process.killNow() }
            for process in others { #expect(!process.output.contains("present"), "\(process.output)") }
        }

        /// The header names the others, and a mark stands beside the row that one is on.
        @Test func aScreenMarksTheRowsOfOthers() async throws {
            let ann = try await self.screen("Ann", 0)
            try await self.wait(ann, for: "the list") { $0.contains { $0.contains("Milk") } }
            let bo = try await self.screen("Bo", 1)
            try await self.wait(ann, for: "Bo in the header") { $0[0].contains("with ~Bo") }
            try await self.wait(bo, for: "Ann in the header") { $0[0].contains("with ~Ann") }
            try await bo.press(["Down"])
            try await self.wait(ann, for: "Bo beside Bread") {
                $0.contains { $0.contains("Bread") && $0.contains("◂ ~Bo") }
            }
            try await bo.press(["q"])
            try await self.wait(ann, for: "no others") { !$0.contains { $0.contains("Bo") } }
            try await ann.press(["q"])
        }
    }
}
