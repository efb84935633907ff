import NestTestSupport
import Testing

extension ProcessTests {
    /// Undo coalescing across server crashes.
    @Suite struct TypingCrashes {
        @Test func coalescedEditsAreOneEntryAcrossKill9() async throws {
            let server = try await ServerProcess.started()
            let ann = await CommandLineUser(server, session: String(repeating: "0a", count: 16))
            try await ann.output("add", "Milk")
            for title in ["M", "Ma", "Malt"] {
                try await ann.output("set", "2", "title=\(title)", "--coalesce", "2:60000")
                try await server.restart()
            }
            #expect(try await ann.output("undo") == "undid: edit \"Malt\"\n")
            #expect(try await ann.output("ls") == "2\tMilk\n")
        }
    }
}
