import Foundation
import NestClient
import NestTestSupport
import Testing

extension ProcessTests {
    /// A server that has few descriptors, and more who want to connect than it can have.
    @Suite struct DescriptorShortage {
        /// The processor time that a process takes for a while, as a part of what a thread gets meanwhile that does nothing
        /// else: however busy the machine is, a process that spins gets about as much.
        private static func load(of pid: pid_t) async throws -> Double {
            let before = try ProcessFigures.processorTime(of: pid)
            let spent = await Task.detached {
                let end = ContinuousClock.now + .seconds(2)
                let start = ProcessFigures.threadTime()
                while ContinuousClock.now < end {}
                return ProcessFigures.threadTime() - start
            }.value
            return (try ProcessFigures.processorTime(of: pid) - before) / spent
        }

        /// Sets the soft limit of a running process.
        private static func limit(_ pid: pid_t, to count: Int) async throws {
            let process = try ChildProcess("/usr/bin/prlimit", ["--pid", "\(pid)", "--nofile=\(count):"])
            try await process.wait(forEnd: .exit(0))
        }

        private static func server(_ arguments: String...) async throws -> (process: ChildProcess, port: Int) {
            let process = try ChildProcess(
                "/usr/bin/prlimit",
                arguments + [Program.nestd, "--port", "0", "--memory", "--log-level", "warning"]
            )
            let line = try await process.lines(atLeast: 1)[0]
            let match = try #require(line.firstMatch(of: /:([0-9]+),/))
            return (process, try #require(Int(match.1)))
        }

        private static func ping(port: Int) async throws {
            let client = NestClient(ClientConfiguration(port: port, connectTimeout: .seconds(30)))
            _ = try await client.ping()
            await client.close()
        }

        /// With 64 descriptors it serves some, stops accepting before it has none, and rests. When the others are gone it
        /// serves again.
        @Test func fewDescriptorsAreEnough() async throws {
            let (process, port) = try await Self.server("--nofile=64:64")
            try await Self.ping(port: port)
            let peers = SilentPeers(200, port: port)
            let load = try await Self.load(of: process.pid)
            #expect(load < 0.3, "it spins: \(load) of what a thread gets that does nothing else")
            #expect(try ProcessFigures.descriptorCount(of: process.pid) <= 64)
            #expect(!process.errors.contains("accept.paused"), "it ran out of descriptors")
            peers.close()
            try await Self.ping(port: port)
            await process.send(signal: SIGTERM)
            try await process.wait(forEnd: .exit(0))
        }

        /// Even when there are fewer descriptors than it was told at the start, it waits for them and does not spin.
        @Test func theServerDoesNotSpinWithoutDescriptors() async throws {
            let (process, port) = try await Self.server("--nofile=1024:1024")
            try await Self.ping(port: port)
            try await Self.limit(process.pid, to: ProcessFigures.descriptorCount(of: process.pid) + 1)
            let peers = SilentPeers(80, port: port)
            let load = try await Self.load(of: process.pid)
            #expect(load < 0.3, "it spins: \(load) of what a thread gets that does nothing else")
            #expect(process.errors.contains("accept.paused"), "\(process.errors)")
            peers.close()
            try await Self.limit(process.pid, to: 1_024)
            try await Self.ping(port: port)
            await process.send(signal: SIGTERM)
            try await process.wait(forEnd: .exit(0))
        }
    }
}
