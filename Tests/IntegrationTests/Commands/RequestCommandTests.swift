import Foundation
import Glibc
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Sections, property paths and windows in `fetch`, `subscribe` and `explain`.
    @Suite struct RequestCommands {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started(model: PeopleModel.json)
            self.user = await CommandLineUser(self.server)
            let script = """
                {"insert":"Company","values":{"name":"Acme"},"as":"acme"}
                {"insert":"Company","values":{"name":"Bolt"},"as":"bolt"}
                {"insert":"Tag","values":{"name":"red"},"as":"red"}
                {"insert":"Tag","values":{"name":"blue"},"as":"blue"}
                {"insert":"Person","values":{"name":"bob","age":41,"employer":"bolt"},"as":"bob"}
                {"insert":"Person","values":{"name":"Ann","employer":"bolt"},"as":"ann"}
                {"insert":"Person","values":{"name":"adam","age":7,"employer":"acme"}}
                {"insert":"Person","values":{"name":"Zoe","age":7}}
                {"relate":"bob","relationship":"tags","objects":"red"}
                {"relate":"ann","relationship":"tags","objects":["red","blue"]}
                """
            try await self.user.output("tx", "-", "--quiet", input: script)
        }

        private func fetch(_ arguments: String...) async throws -> String {
            let result = try await self.user.run(["fetch", "--entity", "Person"] + arguments)
            #expect(result.status == 0 && result.errors == "", "\(result.report)")
            return result.output
        }

        // MARK: Fetches

        @Test func fetchPrintsRowsBySection() async throws {
            let byName = ["--section", "firstCharacter(name)", "--sort", "name:ci", "--properties", "name"]
            let fetched = try await self.user.output(["fetch", "--entity", "Person"] + byName)
            #expect(fetched == "A\t7\tadam\nA\t6\tAnn\nB\t5\tbob\nZ\t8\tZoe\n")
            // Without --sort, rows are sorted by the section's property; rows without a value come first.
            #expect(
                try await self.fetch("--section", "age", "--properties", "name", "--json") == """
                    {"id":6,"section":null,"name":"Ann"}
                    {"id":7,"section":"7","name":"adam"}
                    {"id":8,"section":"7","name":"Zoe"}
                    {"id":5,"section":"41","name":"bob"}

                    """
            )
            let byEmployer = ["--section", "employer.name", "--sort", "-employer.name,-name", "--properties", "name"]
            #expect(
                try await self.user.output(["fetch", "--entity", "Person"] + byEmployer)
                    == "Bolt\t5\tbob\nBolt\t6\tAnn\nAcme\t7\tadam\n\t8\tZoe\n"
            )
        }

        @Test func totalsComeAfterTheRows() async throws {
            let byName = ["--section", "firstCharacter(name)", "--sort", "name:ci", "--properties", "name"]
            let totals = ["--totals", "count, sum(age), avg(age)", "--limit", "3"]
            #expect(
                try await self.user.output(["fetch", "--entity", "Person"] + byName + totals) == """
                    A\t7\tadam
                    A\t6\tAnn
                    B\t5\tbob
                    A\ttotals\tcount 2  sum(age) 7  avg(age) 7
                    B\ttotals\tcount 1  sum(age) 41  avg(age) 41
                    totals\tcount 4  sum(age) 55  avg(age) 18.333333333333333333

                    """
            )
            #expect(
                try await self.fetch(
                    "--totals",
                    "count,max(tags.@count)",
                    "--where",
                    "age == 41",
                    "--json",
                    "--limit",
                    "0"
                )
                    == #"{"totals":{"count":1,"max(tags.@count)":1}}"# + "\n"
            )
            let subscribed = try await self.user.output(
                ["subscribe", "--entity", "Person", "--json", "--count", "1", "--totals", "min(age)"] + byName
            )
            #expect(
                subscribed.contains(#""totals":{"min(age)":7},"sections":[{"name":"A","totals":{"min(age)":7},"rows""#)
            )
        }

        @Test func valuesOfRelatedObjectsAreColumns() async throws {
            #expect(
                try await self.fetch("--properties", "employer.name,name,tags.@count", "--sort", "-tags.@count,name")
                    == "6\tBolt\tAnn\t2\n5\tBolt\tbob\t1\n8\t\tZoe\t0\n7\tAcme\tadam\t0\n"
            )
            let both = "name,employer.name"
            #expect(
                try await self.fetch("--properties", both, "--where", "employer.name == 'Acme'", "--json")
                    == #"{"id":7,"name":"adam","employer.name":"Acme"}"# + "\n"
            )
            #expect(try await self.fetch("--where", "ANY tags.name == 'blue'", "--properties", "name") == "6\tAnn\n")
            #expect(
                try await self.fetch("--where", "employer == 2", "--sort", "order", "--properties", "name")
                    == "5\tbob\n6\tAnn\n"
            )
        }

        @Test func fetchPrintsOnlyTheWindow() async throws {
            let byName = ["--sort", "name:ci", "--properties", "name"]
            func page(_ arguments: String...) async throws -> String {
                try await self.user.output(["fetch", "--entity", "Person"] + byName + arguments)
            }
            #expect(try await page("--window", "1..3") == "6\tAnn\n5\tbob\n")
            #expect(try await page("--limit", "1", "--offset", "3") == "8\tZoe\n")
            #expect(try await page("--offset", "2") == "5\tbob\n8\tZoe\n")
            #expect(try await page("--window", "9..12") == "")
            #expect(
                try await page("--window", "1..3", "--section", "firstCharacter(name)") == "A\t6\tAnn\nB\t5\tbob\n"
            )
            #expect(try await self.fetch("--count") == "4\n")
            #expect(try await self.fetch("--count", "--where", "age == 7", "--json") == "{\"count\":2}\n")
            for wrong in [["--window", "3..1"], ["--count", "--limit", "1"], ["--window", "1..2", "--offset", "1"]] {
                let result = try await self.user.run(["fetch", "--entity", "Person"] + wrong)
                #expect(result.status == 64, "\(result.report)")
            }
        }

        @Test func invalidRequestsAreRefusedWithTheReason() async throws {
            func expect(
                _ arguments: [String],
                _ status: Int32,
                _ messages: String...,
                sourceLocation: SourceLocation = #_sourceLocation
            ) async throws {
                for command in ["fetch", "explain"] {
                    let result = try await self.user.run([command, "--entity", "Person"] + arguments)
                    let isExpected = result.status == status && result.output == ""
                    #expect(isExpected, "\(result.report)", sourceLocation: sourceLocation)
                    for message in messages {
                        #expect(result.errors.contains(message), "\(result.report)", sourceLocation: sourceLocation)
                    }
                }
            }
            try await expect(
                ["--section", "firstCharacter(name)", "--sort", "age"],
                1,
                "need rows sorted by name first, not by age",
                "[INVALID]"
            )
            try await expect(["--section", "firstCharacter(age)"], 1, "there are no sections by firstCharacter(age)")
            try await expect(["--section", "first(name)"], 64, "firstCharacter(…), year(…)", "  first(name)\n  ^")
            try await expect(["--section", "day(nam)"], 64, "no property 'nam'", "  day(nam)\n      ^")
            try await expect(
                ["--totals", "count,sum(name)"],
                64,
                "sum is for numbers",
                "  count,sum(name)\n            ^"
            )
            try await expect(["--sort", "name:x"], 64, "after a colon", "  name:x\n      ^")
            try await expect(["--sort", "name, employer"], 64, "is a relationship", "  name, employer\n        ^")
            try await expect(["--sort", "order"], 1, "order needs one ordered list", "[INVALID]")
            try await expect(["--properties", "name,tags"], 64, "tags is a to-many relationship", "tags.@count")
            try await expect(["--properties", "name, employer.nam"], 64, "Company has no property 'nam'", "^")
        }

        // MARK: Subscriptions

        private static let sectioned = [
            "--entity", "Person", "--section", "firstCharacter(name)", "--sort", "name:ci", "--properties",
            "name,employer.name,tags.@count",
        ]

        @Test func sectionsAppearAndDisappear() async throws {
            let arguments = ["subscribe", "--json", "--apply-check", "--count", "5"] + Self.sectioned
            let subscriber = try self.user.start(arguments)
            _ = try await subscriber.lines(atLeast: 1)
            // Section B becomes C; a new first section; an update of a related object; the last row of a section is
            // deleted.
            let edits = [
                ["set", "5", "name=Carl"], ["insert", "Person", "name=", "-q"], ["insert", "Person", "name=1"],
                ["set", "2", "name=Bolts"], ["rm", "8"],
            ]
            var seen = 1
            for edit in edits {
                let result = try await self.user.run(edit)
                if result.status == 0 { seen += 1 }
                _ = try await subscriber.lines(atLeast: seen)
            }
            try await subscriber.wait(forEnd: .exit(0))
            let digest = /,"digest":"[0-9a-f]{16}"\}/
            let events = try subscriber.lines.map { line in
                _ = try #require(line.firstMatch(of: digest), "\(line)")
                return line.replacing(digest, with: "")
            }
            let head = #""first":0,"sectionsTotal":"#
            let start = #""firstSection":0,"firstInSection":0,"#
            #expect(
                events == [
                    #"{"event":"snapshot","revision":1,"total":4,\#(head)3,\#(start)"sections":[{"name":"A","rows":["#
                        + #"{"id":7,"name":"adam","employer.name":"Acme","tags.@count":0},"#
                        + #"{"id":6,"name":"Ann","employer.name":"Bolt","tags.@count":2}]},"#
                        + #"{"name":"B","rows":[{"id":5,"name":"bob","employer.name":"Bolt","tags.@count":1}]},"#
                        + #"{"name":"Z","rows":[{"id":8,"name":"Zoe","employer.name":null,"tags.@count":0}]}]"#,
                    #"{"event":"diff","from":1,"to":2,"total":4,\#(head)3,\#(start)"deletedSections":[1],"#
                        + #""insertedSections":[{"at":1,"name":"C"}],"deletedRows":[],"#
                        + #""moves":[{"from":[1,0],"to":[1,0]}],"insertedRows":[],"#
                        + #""updates":[{"at":[1,0],"id":5,"values":{"name":"Carl"}}],"left":[]"#,
                    #"{"event":"diff","from":2,"to":3,"total":5,\#(head)4,\#(start)"deletedSections":[],"#
                        + #""insertedSections":[{"at":0,"name":"1"}],"deletedRows":[],"moves":[],"#
                        + #""insertedRows":[{"at":[0,0],"row":{"id":12,"name":"1","employer.name":null,"tags.@count":0}}],"#
                        + #""updates":[],"left":[]"#,
                    #"{"event":"diff","from":3,"to":4,"total":5,\#(head)4,\#(start)"deletedSections":[],"insertedSections":[],"#
                        + #""deletedRows":[],"moves":[],"insertedRows":[],"#
                        + #""updates":[{"at":[1,1],"id":6,"values":{"employer.name":"Bolts"}},"#
                        + #"{"at":[2,0],"id":5,"values":{"employer.name":"Bolts"}}],"left":[]"#,
                    #"{"event":"diff","from":4,"to":5,"total":4,\#(head)3,\#(start)"deletedSections":[3],"insertedSections":[],"#
                        + #""deletedRows":[[3,0]],"moves":[],"insertedRows":[],"updates":[],"#
                        + #""left":[{"id":8,"reason":"deleted"}]"#,
                ]
            )
        }

        /// While another process writes as fast as it can, the subscriber compares every state with its digest and some
        /// states with a fetch.
        @Test func aSubscriptionFollowsTheWritesOfAnotherProcess() async throws {
            let arguments = ["subscribe", "--json", "--apply-check"] + Self.sectioned
            let subscriber = try self.user.start(arguments)
            _ = try await subscriber.lines(atLeast: 1)
            let other = await CommandLineUser(self.server, session: "00000000000000000000000000000009")
            let written = try await other.shell(
                """
                for n in {1..15}; do
                  nestc insert Person name="$(printf '%b' "\\\\x$((41 + n % 7))")x$n" employer=$((1 + n % 2)) -q
                  nestc set 2 name=Bolt$n
                  nestc relate 3 contacts 5 -q; nestc set $((5 + n % 4)) name="${n}p" tags=$((3 + n % 2))
                done
                """
            )
            #expect(written.status == 0, "\(written.report)")
            try await self.user.output("set", "5", "name=the last")
            try await subscriber.waitForOutput("the last")
            await subscriber.send(signal: SIGTERM)
            try await subscriber.wait(forEnd: .exit(143))
            #expect(subscriber.errors == "")
            var replay = EventReplay()
            for line in subscriber.lines { try replay.take(line) }
            #expect(replay.diffCount > 10)
            let fetched = try await self.user.output(["fetch", "--json"] + Self.sectioned)
            let rows = try fetched.split(separator: "\n").map {
                try JSONDecoder().decode(JSONValue.self, from: Data($0.utf8))
            }
            var expected: [EventReplay.Section] = []
            for row in rows {
                guard case .object(var values) = row, let name = values.removeValue(forKey: "section") else {
                    Issue.record("\(row)")
                    continue
                }
                if expected.last?.name != name { expected.append(.init(name: name, rows: [])) }
                expected[expected.count - 1].rows.append(.object(values))
            }
            #expect(replay.sections == expected)
        }

        /// On a terminal, sections have headings and the rows that changed last have marks. `script` provides the
        /// terminal.
        @Test func aTerminalShowsHeadingsAndMarks() async throws {
            let command = ([Program.nestc, "subscribe", "--plain", "--until-revision", "3"] + Self.sectioned).map {
                "'\($0)'"
            }
            var environment = self.user.environment
            environment["NO_COLOR"] = "1"
            let screen = try ChildProcess(
                "/usr/bin/script",
                ["-qfec", command.joined(separator: " "), "/dev/null"],
                environment: environment
            )
            // The end of a line as the terminal receives it.
            let end = "\r\n"
            try await screen.waitForOutput("\(end)A\(end)   adam  employer.name=Acme  tags.@count=0  #7\(end)   Ann ")
            try await self.user.output("set", "5", "name=Carl")
            try await screen.waitForOutput("\(end)C\(end)>~ Carl  employer.name=Bolt  tags.@count=1  #5\(end)")
            try await self.user.output("rm", "8")
            try await screen.wait(forEnd: .exit(0))
        }

        // MARK: Explain

        @Test func explainPrintsHowARequestIsRouted() async throws {
            let arguments = Self.sectioned + ["--where", "employer == 2"]
            func live() async throws -> JSONValue {
                let output = try await self.user.output(["explain", "--json"] + arguments)
                let json = try JSONDecoder().decode(JSONValue.self, from: Data(output.utf8))
                #expect(try json["routing"] == ["kind": "value", "by": "employer == 2"])
                #expect(try json["request"]["section"] == "firstCharacter(name)")
                #expect(try json["paths"].elements.map { try $0["path"] } == ["employer.name", "tags.@count"])
                #expect(try json["inJournal"] == false)
                return try json["live"]
            }
            #expect(try await live() == .null)
            let subscriber = try self.user.start(["subscribe", "--json", "--count", "2"] + arguments)
            _ = try await subscriber.lines(atLeast: 1)
            let found = try await live()
            #expect(try found["rows"] == 2 && found["sections"] == 2 && found["subscriptions"] == 1)
            let text = try await self.user.output(["explain"] + arguments)
            #expect(text.contains("where       employer == 2\n"), "\(text)")
            let routing = "changes     only objects with employer == 2 before or after the change are evaluated\n"
            #expect(text.contains(routing), "\(text)")
            #expect(text.contains("shared by   1 subscription in 1 view\n"), "\(text)")
            try await self.user.output("set", "5", "name=Carl")
            try await subscriber.wait(forEnd: .exit(0))
        }
    }
}
