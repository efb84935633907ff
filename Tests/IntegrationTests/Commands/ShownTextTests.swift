import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// The forms of texts, times and numbers on a terminal and in a pipe.
    @Suite struct ShownTexts {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started(model: PeopleModel.json)
            self.user = await CommandLineUser(self.server)
        }

        private func terminal(zone: String) throws -> Terminal {
            let variables = self.user.environment.merging(["TZ": zone, "NO_COLOR": "1"]) { $1 }
            return try Terminal(directory: self.server.directory.path, environment: variables)
        }

        @Test func pipedTextReadsBack() async throws {
            try await self.user.output("insert", "Tag", #"name=a\nb"#)
            try await self.user.output("insert", "Tag", "name=a\nb")
            try await self.user.output("insert", "Tag", "name=\u{1b}[31m\u{7}\u{202e}")
            let names = ["a\\\\nb", "a\\nb", "\\u{1b}[31m\\u{7}\\u{202e}"]
            let rows = zip(1..., names).map { "\($0)\t\($1)\n" }.joined()
            #expect(try await self.user.output("fetch", "--entity", "Tag") == rows)
            #expect(try await self.user.output("show", "3").contains("name      \(names[2])\n"))
            #expect(try await self.user.output("history").contains("\\\\u{1b}") == false)
            let terminal = try await self.terminal(zone: "UTC").run("nestc fetch --entity Tag")
            #expect(terminal.dropFirst() == zip(1..., names).map { "\($0)   \($1)" }[...], "\(terminal)")
        }

        /// Times are local on a terminal, with the offset at that time, and UTC for programs.
        @Test func timesAreLocalOnATerminalOnly() async throws {
            for date in ["2026-01-15T12:00:00.5Z", "2026-07-15T12:00:00Z"] {
                try await self.user.output("insert", "Company", "name=\(date.prefix(7))", "createdAt=\(date)")
            }
            let fetch = "nestc fetch --entity Company --sort name --properties createdAt"
            let berlin = try self.terminal(zone: "Europe/Berlin")
            #expect(
                try await berlin.run(fetch).dropFirst()
                    == ["1   2026-01-15 13:00:00+01:00", "2   2026-07-15 14:00:00+02:00"]
            )
            #expect(try await berlin.run("nestc show 1").contains("createdAt  2026-01-15 13:00:00+01:00"))
            #expect(try await berlin.run("\(fetch) | cat")[0] == "1\t2026-01-15T12:00:00.500000Z")
            #expect(try await berlin.run("\(fetch) --json")[0].contains("2026-01-15T12:00:00.500000Z"))
            let kolkata = try self.terminal(zone: "Asia/Kolkata")
            #expect(try await kolkata.run(fetch)[1] == "1   2026-01-15 17:30:00+05:30")
            let newYork = try self.terminal(zone: "America/New_York")
            #expect(try await newYork.run(fetch)[1] == "1   2026-01-15 07:00:00-05:00")
            // What a terminal shows can be typed.
            #expect(
                try await newYork.run("nestc set 1 'createdAt=2026-01-15 07:00:00-05:00'; \(fetch) | head -1")
                    == ["1\t2026-01-15T12:00:00.000000Z"]
            )
            // One format in every command.
            let time = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+05:30/
            for command in ["nestc history", "nestc clients", "nestc changes --since 0 --limit 1"] {
                #expect(try await kolkata.run(command).contains { $0.contains(time) }, "\(command)")
            }
            _ = try await kolkata.run("nestc token create me --role admin -o me.token")
            #expect(try await kolkata.run("nestc --token-file me.token token list")[1].contains(time))
        }

        @Test func countsAndNounsAgree() async throws {
            let lines = (0..<1_001).map { #"{"name":"tag \#($0)"}"# }.joined(separator: "\n")
            _ = try await self.user.run("insert", "Tag", "-", input: lines)
            try await self.user.output("insert", "Company", "name=A")
            let terminal = try self.terminal(zone: "UTC")
            #expect(try await terminal.run("nestc fetch --entity Tag --window 0..1").last == "row 1 of 1,001")
            #expect(try await terminal.run("nestc rm 1") == ["deleted 1 object"])
            let check = try await terminal.run("nestc check 2>&1 | tail -1")
            #expect(check == ["nestc: checked 1001 objects at revision 3: all is well"])
            #expect(try await terminal.run("nestc check 2>/dev/tty").last?.contains("checked 1,001 objects") == true)
        }
    }
}
