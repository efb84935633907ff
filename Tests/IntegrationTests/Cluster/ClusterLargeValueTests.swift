import Foundation
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Large values on a cluster: their pieces are in its log.
    @Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing")) struct ClusterLargeValueTests {
        private static var hasFailpoints: Bool {
            #if DEBUG
            true
            #else
            false
            #endif
        }

        private static func begun() async throws -> (ClusterWorld, TemporaryDirectory) {
            let directory = TemporaryDirectory()
            let model = "\(directory.path)/model.json"
            try ProcessTests.LargeValueCommands.model.write(toFile: model, atomically: true, encoding: .utf8)
            return (try await ClusterWorld.begun(initial: ["--model", model]), directory)
        }

        private static func expect(_ bytes: [UInt8], at node: ServerProcess, _ what: String) async throws {
            let user = await CommandLineUser(node)
            // Through a file: a process's output is also made a text, which is slow for so many bytes.
            let file = "\(node.directory.path)/read"
            _ = try await waitFor("the value, \(what)") { () -> Bool? in
                guard try await user.run("get", "2", "scan", file, "--quiet").status == 0 else { return nil }
                return try Data(contentsOf: URL(fileURLWithPath: file)) == Data(bytes) ? true : nil
            }
        }

        /// The largest value is put at a follower, read at both nodes, undone, and there when another node leads.
        /// Prints the peak of memory.
        @Test func everyNodeHasTheValuesThatAnyOneTook() async throws {
            let (world, directory) = try await Self.begun()
            let first = try await world.started("a")
            try await world.leader()
            let second = try await world.started("b")
            let bytes = ProcessTests.LargeValueCommands.bytes(16 << 20, seed: 4)
            let file = "\(directory.path)/large"
            try Data(bytes).write(to: URL(fileURLWithPath: file))
            let user = await CommandLineUser(second)
            try await user.output("add", "Paper")
            try await user.output("put", "2", "scan", file, "--quiet")
            for node in [first, second] { try await Self.expect(bytes, at: node, "put at a follower") }
            try await user.output("set", "2", "scan:=null")
            try await user.output("undo")
            for node in [first, second] { try await Self.expect(bytes, at: node, "undone at a follower") }
            let peaks = (
                await ProcessTests.LargeValueCommands.peak(first), await ProcessTests.LargeValueCommands.peak(second)
            )
            print("peak memory in MiB: leader \(peaks.0), follower \(peaks.1)")
            try await first.killNow()
            try await world.leader(after: "a")
            try await user.output("rm", "2")
            try await user.output("undo")
            try await first.start()
            for node in [first, second] { try await Self.expect(bytes, at: node, "after the leader was killed") }
            for node in [first, second] { try await node.terminate() }
        }

        /// A leader that dies around the append has the value in the log or not; the other node serves it after
        /// another try.
        @Test(
            .enabled(if: hasFailpoints, "failpoints are in builds for debugging only"),
            arguments: ["value.written", "log.appending", "log.appended"]
        )
        func aKilledLeaderLeavesWholeValues(point: String) async throws {
            let (world, directory) = try await Self.begun()
            let first = try await world.started("a")
            try await world.leader()
            try await CommandLineUser(first).output("add", "Paper")
            try await first.killNow()
            // In the second of three parts. The leader record has passed the points of the log.
            let number = point == "value.written" ? 2 : 3
            try await first.start(environment: ["NEST_FAILPOINTS": "\(point)=\(number)"])
            try await world.leader()
            let bytes = ProcessTests.LargeValueCommands.bytes(2_500_000, seed: 5)
            let file = "\(directory.path)/file"
            try Data(bytes).write(to: URL(fileURLWithPath: file))
            let user = await CommandLineUser(first)
            _ = try await user.run("put", "2", "scan", file, "--timeout", "5")
            try await first.process?.wait(forEnd: .signal(SIGKILL))
            let second = try await world.started("b")
            try await world.leader(after: "a")
            try await CommandLineUser(second).output("put", "2", "scan", file)
            try await first.start()
            for node in [first, second] {
                try await Self.expect(bytes, at: node, "\(point)")
                try await CommandLineUser(node).output("check", "--quiet")
                try await node.terminate()
            }
        }
    }
}
