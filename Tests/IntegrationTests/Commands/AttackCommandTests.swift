import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// `nestbench attack` with servers that it starts.
    @Suite struct AttackCommand {
        private struct Line: Decodable {
            struct Waits: Decodable {
                var p50: Int
                var p99: Int
                var max: Int
            }

            struct Bystander: Decodable {
                var aloneMicroseconds: Waits?
                var attackedMicroseconds: Waits?
                var times: Double?
            }

            struct Memory: Decodable {
                var before: Int
                var peak: Int
                var after: Int?
            }

            var workload: String
            var attack: String
            var bystanders: [String: Bystander]
            var memoryBytes: Memory
            var answered: Int
            var sent: Int
            var refused: [String: Int]
            var ended: Int
            var failure: String?
            var died: String?
            var terminationSeconds: Double?
        }

        private static let small = [
            "--seconds", "1", "--bystanders", "1", "--settle", "0", "--connections", "2", "--chunks", "1", "--patterns",
            "2", "--levels", "100", "--objects", "1000", "--rows", "1000", "--guessers", "2",
        ]

        private let directory = TemporaryDirectory()

        private func lines(_ arguments: [String], status: Int32 = 0) async throws -> [Line] {
            let command = try ChildProcess(
                Program.nestbench,
                ["attack", "--json", "--directory", self.directory.path] + Self.small + arguments
            )
            try await command.wait(forEnd: .exit(status))
            return try command.lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        }

        @Test(arguments: [
            "held-replies", "row-bombs", "predicate-mass", "predicates-left", "deep-scope", "dear-undo", "bulk",
            "guesses", "pings", "connections",
        ])
        func anAttackIsRunAndMeasured(_ attack: String) async throws {
            let lines = try await self.lines([attack])
            #expect(lines.map(\.attack) == [attack])
            for line in lines {
                #expect(line.workload == "attack" && line.died == nil && line.failure == nil, "\(line)")
                #expect(line.answered + line.sent + line.ended + line.refused.values.reduce(0, +) > 0, "\(line)")
                #expect(Set(line.bystanders.keys) == ["commit", "ping", "get", "connect"])
                for (name, bystander) in line.bystanders {
                    let (alone, attacked) = (bystander.aloneMicroseconds, bystander.attackedMicroseconds)
                    for waits in [alone, attacked] {
                        #expect(
                            waits.map { 0 < $0.p50 && $0.p50 <= $0.p99 && $0.p99 <= $0.max } == true,
                            "\(name): \(line)"
                        )
                    }
                    #expect(bystander.times != nil)
                }
                let memory = line.memoryBytes
                #expect(memory.before > 0 && memory.peak >= memory.before / 2 && memory.after ?? 0 > 0, "\(line)")
                #expect(line.terminationSeconds != nil, "\(line)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: self.directory.path).isEmpty)
        }

        @Test func sigtermDuringAnAttackEndsTheServer() async throws {
            let line = try #require(try await self.lines(["--terminate", "pings"]).first)
            #expect(line.terminationSeconds != nil && line.died == nil && line.memoryBytes.after == nil, "\(line)")
        }

        /// A server that dies during an attack is reported, and the next attack runs.
        @Test func aServerThatDiesIsReported() async throws {
            let program = "\(self.directory.path)/nestd"
            // The server dies when the clients have connected: a slow machine starts it late.
            let log = "\(self.directory.path)/log"
            let text = """
                #!/bin/sh
                : > "\(log)"
                "\(Program.nestd)" "$@" --log-level info 2> "\(log)" &
                while kill -0 $! && [ "$(grep -c connection.opened "\(log)")" -lt 3 ]; do sleep 0.1; done
                kill -9 $!
                exit 3
                """
            try text.write(toFile: program, atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
            let lines = try await self.lines(["--settle", "2", "--nestd", program, "pings", "silence"], status: 1)
            #expect(lines.map(\.attack) == ["pings", "silence"])
            for line in lines { #expect(line.died == "exit status 3" && line.terminationSeconds == nil, "\(line)") }
        }

        @Test func impossibleAttacksAreRefused() async throws {
            for arguments in [["nothing"], ["--seconds", "0"], ["--markdown"]] {
                _ = try await self.lines(arguments, status: 64)
            }
            #expect(try await self.lines(["--nestd", "/nowhere/nestd", "crash"], status: 1).isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: self.directory.path).isEmpty)
        }
    }
}
