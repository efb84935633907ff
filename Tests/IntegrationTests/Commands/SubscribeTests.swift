import Glibc
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// `nestc subscribe` during edits and across a server crash.
    @Suite struct SubscribeCommand {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.user = await CommandLineUser(self.server)
        }

        /// Returns the JSON of a diff without its digest.
        private static func diff(
            _ from: Int,
            _ to: Int,
            total: Int,
            deleted: String = "",
            moves: String = "",
            inserted: String = "",
            updates: String = "",
            left: String = ""
        ) -> String {
            #"{"event":"diff","from":\#(from),"to":\#(to),"total":\#(total),"first":0,"sectionsTotal":1,"firstSection":0,"firstInSection":0,"#
                + #""deletedSections":[],"insertedSections":[],"deletedRows":[\#(deleted)],"moves":[\#(moves)],"#
                + #""insertedRows":[\#(inserted)],"updates":[\#(updates)],"left":[\#(left)]"#
        }

        private static func row(_ id: Int, _ title: String, done: Bool = false) -> String {
            #"{"id":\#(id),"title":"\#(title)","note":null,"done":\#(done),"extra":null,"parent":1}"#
        }

        /// Returns a line without its digest, which must be present.
        private static func withoutDigest(_ line: String) throws -> String {
            let match = try #require(line.wholeMatch(of: /(.*),"digest":"[0-9a-f]{16}"\}/), "\(line)")
            return String(match.1)
        }

        @Test func everyEditIsOneEvent() async throws {
            try await self.user.output("add", "A", "B", "C")
            let subscriber = try self.user.start("subscribe", "--json", "--count", "9", "--apply-check")
            var events = try await subscriber.lines(atLeast: 1)
            let edits = [
                ["add", "D", "E", "--at", "1"], ["set", "2", "title=AA", "done=yes"], ["mv", "2", "--last"],
                ["rm", "3", "4"],
                ["undo"], ["mv", "5", "--parent", "6"], ["mv", "5", "--parent", "1", "--first"],
                ["set", "2", "title=A"],
            ]
            for edit in edits {
                let result = try await self.user.run(edit)
                #expect(result.status == 0, "\(result.report)")
                events = try await subscriber.lines(atLeast: events.count + 1)
            }
            try await subscriber.wait(forEnd: .exit(0))
            #expect(subscriber.errors == "")
            let rows = (a: Self.row(2, "A"), b: Self.row(3, "B"), c: Self.row(4, "C"))
            let expected = [
                #"{"event":"snapshot","revision":1,"total":3,"first":0,"sectionsTotal":1,"firstSection":0,"firstInSection":0,"#
                    + #""sections":[{"name":"","rows":[\#(rows.a),\#(rows.b),\#(rows.c)]}]"#,
                Self.diff(
                    1,
                    2,
                    total: 5,
                    inserted: #"{"at":[0,1],"row":\#(Self.row(5, "D"))},{"at":[0,2],"row":\#(Self.row(6, "E"))}"#
                ),
                Self.diff(2, 3, total: 5, updates: #"{"at":[0,0],"id":2,"values":{"title":"AA","done":true}}"#),
                Self.diff(3, 4, total: 5, moves: #"{"from":[0,0],"to":[0,4]}"#),
                Self.diff(
                    4,
                    5,
                    total: 3,
                    deleted: "[0,2],[0,3]",
                    left: #"{"id":3,"reason":"deleted"},{"id":4,"reason":"deleted"}"#
                ),
                Self.diff(
                    5,
                    6,
                    total: 5,
                    inserted: #"{"at":[0,2],"row":\#(rows.b)},{"at":[0,3],"row":\#(rows.c)}"#
                ),
                Self.diff(6, 7, total: 4, deleted: "[0,0]", left: #"{"id":5,"reason":"unmatched"}"#),
                Self.diff(7, 8, total: 5, inserted: #"{"at":[0,0],"row":\#(Self.row(5, "D"))}"#),
                Self.diff(8, 9, total: 5, updates: #"{"at":[0,4],"id":2,"values":{"title":"A"}}"#),
            ]
            #expect(try events.map(Self.withoutDigest) == expected)
            // Events 4 and 6 have the same row order, as have events 2 and 3, so their digests are equal.
            let digests = events.map { $0.suffix(19) }
            #expect(digests[3] == digests[5] && digests[1] == digests[2] && digests[3] != digests[4])
        }

        @Test func aSubscriptionEndsAtTheGivenRevision() async throws {
            let subscriber = try self.user.start("subscribe", "--json", "--until-revision", "2")
            _ = try await subscriber.lines(atLeast: 1)
            try await self.user.output("add", "A")
            try await self.user.output("add", "B")
            try await subscriber.wait(forEnd: .exit(0))
            #expect(try #require(subscriber.lines.last).contains(#""to":2,"#))
        }

        /// When the reader closes the pipe, the command ends without a message and without waiting for another change.
        @Test func endsQuietlyWhenTheReaderCloses() async throws {
            try await self.user.output("add", "A")
            let result = try await self.user.shell("nestc subscribe --json | head -1")
            #expect(result.status == 0, "\(result.report)")
            #expect(result.errors == "", "\(result.report)")
            #expect(result.output.hasPrefix(#"{"event":"snapshot","revision":1,"#), "\(result.report)")
            let tree = try await self.user.shell(
                "for n in {1..40}; do echo $n; done | nestc add - > /dev/null; nestc tree | head -1"
            )
            #expect(tree.status == 0, "\(tree.report)")
            #expect(tree.output == "A  #2\n" && tree.errors == "", "\(tree.report)")
        }

        @Test func interruptionSetsTheExitStatus() async throws {
            for (signal, status) in [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)] {
                let subscriber = try self.user.start("subscribe", "--json")
                _ = try await subscriber.lines(atLeast: 1)
                await subscriber.send(signal: signal)
                try await subscriber.wait(forEnd: .exit(status))
                #expect(subscriber.errors == "")
            }
        }

        @Test func aSubscriptionResumesAfterAServerKill() async throws {
            try await self.user.output("add", "A")
            let subscriber = try self.user.start("subscribe", "--json", "--apply-check", "--count", "2")
            _ = try await subscriber.lines(atLeast: 1)
            try await self.server.killNow()
            let lost = try await subscriber.lines(atLeast: 2)
            #expect(lost[1] == #"{"event":"disconnected","reason":"the server closed the connection"}"#)
            try await self.server.start()
            let back = try await subscriber.lines(atLeast: 3)
            #expect(back[2] == #"{"event":"resumed","revision":1}"#)
            try await self.user.output("add", "B")
            try await subscriber.wait(forEnd: .exit(0))
            #expect(
                try Self.withoutDigest(try #require(subscriber.lines.last))
                    == Self.diff(1, 2, total: 2, inserted: #"{"at":[0,1],"row":\#(Self.row(3, "B"))}"#)
            )
        }

        /// A reconnected subscriber gets the missed changes as one difference.
        @Test func missedChangesArriveAsOneDifference() async throws {
            try await self.user.output("add", "A", "B")
            let subscriber = try self.user.start("subscribe", "--json", "--apply-check", "--count", "2")
            _ = try await subscriber.lines(atLeast: 1)
            await subscriber.send(signal: SIGSTOP)
            try await self.server.restart()
            try await self.user.output("set", "2", "title=first")
            try await self.user.output("set", "2", "title=second")
            try await self.user.output("add", "C", "--first")
            try await self.user.output("rm", "3")
            await subscriber.send(signal: SIGCONT)
            try await subscriber.wait(forEnd: .exit(0))
            #expect(
                try Self.withoutDigest(try #require(subscriber.lines.last))
                    == Self.diff(
                        1,
                        5,
                        total: 2,
                        deleted: "[0,1]",
                        inserted: #"{"at":[0,0],"row":\#(Self.row(4, "C"))}"#,
                        updates: #"{"at":[0,1],"id":2,"values":{"title":"second"}}"#,
                        left: #"{"id":3,"reason":"deleted"}"#
                    )
            )
        }

        @Test func aMissingServerIsReportedWithAdvice() async throws {
            try await self.server.killNow()
            for command in ["ls", "ping", "subscribe", "export"] {
                let result = try await self.user.run([command])
                #expect(result.status == 69, "\(result.report)")
                #expect(result.output == "", "\(result.report)")
                #expect(result.errors.contains("nothing listens there; is nestd running?"), "\(result.report)")
                let port = await self.server.port
                #expect(result.errors.contains("Start it with 'nestd --port \(port)'"), "\(result.report)")
            }
            let written = try await self.user.run("add", "never")
            #expect(written.status == 69, "\(written.report)")
            try await self.server.start()
            #expect(try await self.user.output("ls") == "")
        }
    }
}
