import Glibc
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// `nestc subscribe` with windows: during writes and across a server crash.
    @Suite struct WindowCommands {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.user = await CommandLineUser(self.server)
            // The items get the ids 2 to 41.
            let titles = (0..<40).map { "item \($0)" }.joined(separator: "\n")
            try await self.user.output("add", "-", "--quiet", input: titles)
        }

        /// Returns the replayed state of a subscriber's events.
        private func replay(_ subscriber: ChildProcess) throws -> EventReplay {
            var replay = EventReplay(hasWindow: true)
            for line in subscriber.lines { try replay.take(line) }
            return replay
        }

        /// Returns the ids of the root's children from a fetch.
        private func ids() async throws -> [Int] {
            try await self.user.output("fetch", "--of", "1", "--properties", "title").split(separator: "\n").map {
                try #require(Int($0.split(separator: "\t")[0]))
            }
        }

        private func edit(_ random: inout SeededRandom) async throws {
            let ids = try await self.ids()
            let id = try #require(ids.dropFirst(8).randomElement(using: &random))
            switch random.below(4) {
            case 0: try await self.user.output("rm", "\(id)")
            case 1: try await self.user.output("add", "new", "--at", "\(random.below(ids.count))")
            case 2: try await self.user.output("mv", "\(id)", "--at", "\(random.below(ids.count))")
            default: try await self.user.output("set", "\(id)", "title=edited \(random.below(100))")
            }
        }

        @Test func windowsAreExactUnderWrites() async throws {
            let range = try self.user.start(
                "subscribe",
                "--json",
                "--apply-check",
                "--window",
                "5..12",
                "--until-revision",
                "14"
            )
            let around = try self.user.start(
                "subscribe",
                "--json",
                "--apply-check",
                "--around",
                "20:3,4",
                "--until-revision",
                "14"
            )
            _ = try await range.lines(atLeast: 1)
            _ = try await around.lines(atLeast: 1)
            var random = SeededRandom(seed: 1)
            while try await self.revision() < 14 { try await self.edit(&random) }
            try await range.wait(forEnd: .exit(0))
            try await around.wait(forEnd: .exit(0))
            #expect(range.errors == "" && around.errors == "")
            let ids = try await self.ids()
            let replayed = try self.replay(range)
            #expect(try replayed.ids == Array(ids[5..<12]))
            let followed = try self.replay(around)
            let anchor = try #require(followed.position["anchor"])
            let index = try #require(ids.firstIndex(of: anchor))
            #expect(try followed.ids == Array(ids[max(index - 3, 0)..<min(index + 5, ids.count)]))
        }

        private func revision() async throws -> Int {
            let text = try await self.user.output("stat", "--json")
            let match = try #require(text.firstMatch(of: /"revision":(\d+)/), "\(text)")
            return try #require(Int(match.1))
        }

        @Test func aWindowsPositionIsPrintedWhenItsRowsStay() async throws {
            let subscriber = try self.user.start("subscribe", "--json", "--window", "0..3")
            let first = try await subscriber.lines(atLeast: 1)[0]
            #expect(
                first.contains(
                    #""total":40,"first":0,"sectionsTotal":1,"firstSection":0,"firstInSection":0,"sections""#
                )
            )
            try await self.user.output("add", "at the end")
            var lines = try await subscriber.lines(atLeast: 2)
            while lines.last?.contains("position") == false {
                lines = try await subscriber.lines(atLeast: lines.count + 1)
            }
            let replay = try self.replay(subscriber)
            #expect(replay.position["total"] == 41 && replay.position["first"] == 0)
            await subscriber.send(signal: SIGINT)
            try await subscriber.wait(forEnd: .exit(130))
        }

        /// After a restart of the server both windows resume from their state. The anchor of one was deleted while the
        /// subscriber was stopped.
        @Test(arguments: [["--window", "10..15"], ["--around", "14:2"]])
        func aSubscriptionResumesAfterAServerKill(_ window: [String]) async throws {
            let arguments = ["subscribe", "--json", "--apply-check", "--count", "3"] + window
            let subscriber = try self.user.start(arguments)
            #expect(try await subscriber.lines(atLeast: 1)[0].contains(#""first":10,"#))
            try await self.server.killNow()
            _ = try await subscriber.lines(atLeast: 2)
            await subscriber.send(signal: SIGSTOP)
            try await self.server.start()
            try await self.user.output("rm", "14")
            try await self.user.output("add", "first of all", "--first")
            await subscriber.send(signal: SIGCONT)
            var lines = try await subscriber.lines(atLeast: 4)
            #expect(lines[2] == #"{"event":"resumed","revision":1}"#)
            while lines.last?.contains(#""to":3"#) == false {
                lines = try await subscriber.lines(atLeast: lines.count + 1)
            }
            try await self.user.output("set", "15", "title=seen")
            try await subscriber.wait(forEnd: .exit(0))
            let ids = try await self.ids()
            let replay = try self.replay(subscriber)
            if window[0] == "--window" {
                #expect(try replay.ids == Array(ids[10..<15]))
            } else {
                #expect(replay.position["anchor"] == 15)
                let index = try #require(ids.firstIndex(of: 15))
                #expect(try replay.ids == Array(ids[index - 2...index + 2]))
            }
        }

        @Test func rowsAroundAnObjectAreFetched() async throws {
            let output = try await self.user.output("fetch", "--of", "1", "--properties", "title", "--around", "20:1")
            #expect(output == "19\titem 17\n20\titem 18\n21\titem 19\n")
            let refused = try await self.user.run("fetch", "--of", "1", "--around", "4000:1")
            #expect(refused.status == 1 && refused.errors.contains("is not a row of the result"), "\(refused.report)")
            let usage = try await self.user.run("subscribe", "--around", "20", "--limit", "3")
            #expect(usage.status == 64, "\(usage.report)")
        }
    }
}
