import NestTestSupport
import Testing

extension ProcessTests {
    /// The text of predicates and orders on the command line.
    @Suite struct PredicateCommands {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started(model: PeopleModel.json)
            self.user = await CommandLineUser(self.server)
            let script = """
                {"insert":"Person","values":{"name":"Ann","age":41,"createdAt":"2026-03-28T22:59:59Z"}}
                {"insert":"Person","values":{"name":"Ben","createdAt":"2026-03-28T23:00:00Z"}}
                {"insert":"Person","values":{"name":"Émile","age":7,"createdAt":"2026-03-29T21:59:59Z"}}
                {"insert":"Person","values":{"name":"日本","createdAt":"2026-03-29T22:00:00Z"}}
                """
            try await self.user.output("tx", "-", "--quiet", input: script)
        }

        private func names(_ predicate: String, zone: String = "UTC0") async throws -> String {
            let text = predicate.replacing("'", with: "'\\''")
            let result = try await self.user.shell(
                "TZ='\(zone)' nestc fetch --entity Person --where '\(text)' --sort createdAt --properties name | cut -f 2"
            )
            #expect(result.status == 0 && result.errors == "", "\(result.report)")
            return result.output.split(separator: "\n").joined(separator: " ")
        }

        private func condition(_ predicate: String, zone: String) async throws -> String {
            let result = try await self.user.shell(
                "TZ='\(zone)' nestc explain --entity Person --where '\(predicate)' | grep ^where"
            )
            #expect(result.status == 0 && result.errors == "", "\(result.report)")
            return String(result.output.drop { $0 != " " }.drop { $0 == " " }.dropLast())
        }

        @Test func datesWithoutAZoneAreInTheZoneOfThePerson() async throws {
            let berlin = "CET-1CEST,M3.5.0,M10.5.0/3"
            let day = "createdAt >= 2026-03-29 AND createdAt < 2026-03-30"
            #expect(try await self.names(day) == "Émile 日本")
            // The day has 23 hours.
            #expect(try await self.names(day, zone: berlin) == "Ben Émile")
            #expect(try await self.names("createdAt < \"2026-03-29\"", zone: berlin) == "Ann")
            #expect(try await self.names("createdAt < 2026-03-29T00:00Z", zone: berlin) == "Ann Ben")
            #expect(try await self.names("createdAt < yesterday AND createdAt < now()") == "Ann Ben Émile 日本")
            #expect(
                try await self.condition("createdAt > 2026-02-01 14:30", zone: berlin)
                    == "createdAt > date(\"2026-02-01T13:30:00.000000Z\")"
            )
            // Here clocks are set forward at midnight, so the day begins at one o'clock.
            #expect(
                try await self.condition("createdAt > 2026-03-29", zone: "XXX4YYY,M3.5.0/0,M10.5.0/0")
                    == "createdAt > date(\"2026-03-29T04:00:00.000000Z\")"
            )
        }

        /// What was set with a date is found by that date.
        @Test func assignedDatesAreInTheZoneOfThePersonToo() async throws {
            let set = try await self.user.shell("TZ=CET-1 nestc insert Person name=Zoe createdAt='2026-02-01 14:30'")
            #expect(set.status == 0, "\(set.report)")
            #expect(try await self.names("createdAt == 2026-02-01 14:30", zone: "CET-1") == "Zoe")
            #expect(try await self.names("createdAt == 2026-02-01T13:30Z") == "Zoe")
            let today = try await self.user.shell("TZ=CET-1 nestc insert Person name=Max createdAt=tomorrow")
            #expect(today.status == 0, "\(today.report)")
            #expect(try await self.names("createdAt >= tomorrow", zone: "CET-1") == "Max")
            let bad = try await self.user.run("insert", "Person", "name=Eve", "createdAt=2026-02-30")
            #expect(
                bad.status == 64
                    && bad.errors.contains("there is no day 30 in 2026-02: it has 28 days, not '2026-02-30'"),
                "\(bad.report)"
            )
        }

        @Test func regularExpressionsAreMatchedByTheServer() async throws {
            #expect(try await self.names("name MATCHES[c] \"[ab].*n\"") == "Ann Ben")
            #expect(try await self.names("name MATCHES[d] 'E\\w+' OR name MATCHES '\\p{Han}{2}'") == "Émile 日本")
            #expect(try await self.names("name MATCHES '(a*)*b'") == "")
            let bad = try await self.user.run("fetch", "--entity", "Person", "--where", "name MATCHES '日(?=a)'")
            let wanted =
                "look-ahead and look-behind are not supported because their time would have no limit "
                + "(character 2 of the pattern) [INVALID_PREDICATE]"
            #expect(bad.status == 1 && bad.output == "" && bad.errors.contains(wanted), "\(bad.report)")
        }

        @Test func aPredicateMayBeginWithANegativeNumber() async throws {
            #expect(try await self.names("-5 < age") == "Ann Émile")
            let equals = try await self.user.run("fetch", "--entity", "Person", "--where=-5 > age", "--count")
            #expect(equals.status == 0 && equals.output == "0\n", "\(equals.report)")
        }

        /// Characters of two columns and of none come before the mistake.
        @Test(arguments: [
            ("name == \"日本\" x", "name == \"日本\" x", 15),
            ("name == \"e\u{301}\" x", "name == \"e\u{301}\" x", 12),
            ("name == \"👩‍👩‍👧 ✔️한\" x", "name == \"👩‍👩‍👧 ✔️한\" x", 18),
            ("name == \"x\" AND\n  nam == 1\nAND age > 3", "  nam == 1", 2),
        ])
        func theCaretIsBelowTheMistake(_ predicate: String, _ line: String, _ blanks: Int) async throws {
            let result = try await self.user.run("fetch", "--entity", "Person", "--where", predicate)
            let caret = String(repeating: " ", count: blanks)
            #expect(result.status == 64 && result.errors.hasSuffix("\n  \(line)\n  \(caret)^\n"), "\(result.report)")
        }

        @Test func theCaretOfAnOrderIsBelowItsPath() async throws {
            func expect(_ sort: String, _ message: String, _ blanks: Int) async throws {
                let result = try await self.user.run("fetch", "--entity", "Person", "--sort", sort)
                let caret = String(repeating: " ", count: blanks)
                let isExpected = result.errors.contains(message) && result.errors.hasSuffix("\n  \(caret)^\n")
                #expect(result.status == 64 && isExpected, "\(result.report)")
            }
            try await expect("name,   agee", "did you mean age?", 8)
            try await expect("name, - employer", "sort by an attribute like employer.name", 8)
            try await expect("name : desc", "write -name for descending order", 7)
            try await expect(Array(repeating: "age", count: 9).joined(separator: ","), "at most 8 sort keys", 32)
        }
    }
}
