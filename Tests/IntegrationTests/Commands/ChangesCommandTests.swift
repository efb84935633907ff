import Foundation
import Glibc
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// `nestc changes`, also across a server crash.
    @Suite struct ChangesCommand {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.user = await CommandLineUser(self.server)
        }

        /// Returns a line without the values that differ between runs.
        private static func stable(_ line: String) -> String {
            line.replacing(/"time":"[^"]*"/, with: #""time":"""#)
                .replacing(/"history":"[0-9a-f]{32}"/, with: #""history":"""#)
                .replacing(/"reason":"[^"]*"/, with: #""reason":"""#)
        }

        private static func changes(
            _ revision: Int,
            _ name: String,
            _ objects: String,
            kind: String = #""write","reverted":null"#
        ) -> String {
            #"{"event":"changes","revision":\#(revision),"time":"","session":1,"mine":true,"#
                + #""user":null,"userClaimed":false,"kind":\#(kind),"#
                + #""name":"\#(name)","objects":[\#(objects)],"more":false}"#
        }

        private static func object(_ change: String, _ id: Int, _ properties: String? = nil) -> String {
            let list = properties.map { #","properties":[\#($0)]"# } ?? ""
            return #"{"change":"\#(change)","entity":"Item","id":\#(id)\#(list)}"#
        }

        /// Changes from the journal, live changes, changes across a server kill and a resumed feed list every
        /// transaction exactly once.
        @Test func changesHaveNoGapOrOverlapAfterAServerKill() async throws {
            try await self.user.output("add", "A")
            try await self.user.output("set", "2", "title=B", "done=yes")
            let follower = try self.user.start("changes", "--since", "0", "--json", "--limit", "6")
            _ = try await follower.lines(atLeast: 3)
            try await self.user.output("rm", "2")
            _ = try await follower.lines(atLeast: 4)
            try await self.server.killNow()
            _ = try await follower.lines(atLeast: 5)
            try await self.server.start()
            _ = try await follower.lines(atLeast: 6)
            try await self.user.output("undo")
            // Stop the follower while the server restarts and data changes.
            await follower.send(signal: SIGSTOP)
            try await self.server.restart()
            try await self.user.output("add", "C", "D")
            try await self.server.restart()
            await follower.send(signal: SIGCONT)
            try await self.user.output("mv", "3", "--last")
            try await follower.wait(forEnd: .exit(0))
            #expect(follower.errors == "")
            let changes = [
                Self.changes(1, #"add item \"A\""#, Self.object("inserted", 2)),
                Self.changes(2, #"edit \"B\""#, Self.object("updated", 2, #""title","done""#)),
                Self.changes(3, #"delete \"B\""#, Self.object("deleted", 2)),
                Self.changes(4, #"delete \"B\""#, Self.object("inserted", 2), kind: #""undo","reverted":3"#),
                Self.changes(5, "add 2 items", Self.object("inserted", 3) + "," + Self.object("inserted", 4)),
                Self.changes(6, #"move \"C\""#, Self.object("updated", 3, #""parent""#)),
            ]
            let lines = follower.lines.map(Self.stable)
            #expect(lines.first == #"{"event":"following","revision":0,"history":""}"#)
            #expect(lines.filter { $0.contains(#""event":"changes""#) } == changes)
            #expect(lines[4] == #"{"event":"disconnected","reason":""}"#)
            #expect(lines[5] == #"{"event":"resumed","revision":3}"#)

            // Another process resumes from a revision of this feed.
            let following = try #require(follower.lines.first)
            let history = try #require(following.firstMatch(of: /"history":"([0-9a-f]{32})"/))
            let rest = try await self.user.output(
                "changes",
                "--since",
                "4",
                "--history",
                String(history.1),
                "--json",
                "--until-revision",
                "6"
            )
            #expect(rest.split(separator: "\n").map { Self.stable(String($0)) }.dropFirst() == changes[4...])
            let other = try await self.user.run(
                "changes",
                "--since",
                "4",
                "--history",
                String(repeating: "0", count: 32),
                "--json"
            )
            #expect(other.status == 1, "\(other.report)")
            #expect(other.output.contains(#"{"event":"end","code":"CONFLICT""#), "\(other.report)")
        }

        @Test func eachTransactionAndEachObjectIsOneLine() async throws {
            try await self.user.output("add", "A", "B")
            try await self.user.output("set", "2", "note=n")
            try await self.user.output("rm", "3")
            let output = try await self.user.output("changes", "--since", "0", "--limit", "3", "--entity", "Item")
            let lines = output.split(separator: "\n").map { $0.replacing(/\t[^\t]*Z\t/, with: "\t\t") }
            #expect(
                lines == [
                    "after revision 0", "1\t\tmine\tadd 2 items", "  + Item #2", "  + Item #3",
                    "2\t\tmine\tedit \"A\"", "  ~ Item #2  note", "3\t\tmine\tdelete \"B\"", "  - Item #3",
                ]
            )
            let wrong = try await self.user.run("changes", "--entity", "Nothing")
            #expect(wrong.status == 64, "\(wrong.report)")
        }

        @Test func interruptionSetsTheExitStatus() async throws {
            let follower = try self.user.start("changes", "--json")
            _ = try await follower.lines(atLeast: 1)
            await follower.send(signal: SIGINT)
            try await follower.wait(forEnd: .exit(130))
            #expect(follower.errors == "")
        }

        @Test func endsQuietlyWhenTheReaderCloses() async throws {
            try await self.user.output("add", "A")
            let result = try await self.user.shell("nestc changes --since 0 --json | head -2")
            #expect(result.status == 0, "\(result.report)")
            #expect(result.errors == "", "\(result.report)")
            #expect(result.output.contains(#""event":"changes","revision":1,"#), "\(result.report)")
        }
    }
}
