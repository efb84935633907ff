import Foundation
import NestClient
import NestTestSupport
import Testing

extension ProcessTests {
    /// A server with fewer descriptors than there are connecting peers.
    @Suite struct DescriptorShortage {
        /// Returns the processor time of a process over two seconds, divided by that of a spinning thread in the same
        /// time. On a busy machine too, a spinning process gets about as much as that thread.
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

        private static func ping(_ process: ChildProcess, port: Int) async throws {
            let client = NestClient(ClientConfiguration(port: port, session: .fresh, connectTimeout: .seconds(30)))
            do { _ = try await client.ping() } catch { throw ProcessFailure("\(error)\(await process.report)") }
            await client.close()
        }

        /// With 64 descriptors the server serves some clients, stops accepting before descriptors run out, and does not
        /// spin. After the other peers leave, it accepts again.
        @Test func fewDescriptorsAreEnough() async throws {
            let (process, port) = try await Self.server("--nofile=64:64")
            try await Self.ping(process, port: port)
            let peers = SilentPeers(200, port: port)
            let load = try await Self.load(of: process.pid)
            #expect(load < 0.3, "the server spins: \(load) of a spinning thread's processor time")
            #expect(try ProcessFigures.descriptorCount(of: process.pid) <= 64)
            #expect(!process.errors.contains("accept.paused"), "the server ran out of descriptors")
            peers.close()
            try await Self.ping(process, port: port)
            await process.send(signal: SIGTERM)
            try await process.wait(forEnd: .exit(0))
        }

        /// If the descriptor limit is lowered after the start, the server waits for descriptors and does not spin.
        @Test func theServerDoesNotSpinWithoutDescriptors() async throws {
            let (process, port) = try await Self.server("--nofile=1024:1024")
            try await Self.ping(process, port: port)
            let limit = try ProcessFigures.descriptorCount(of: process.pid) + 1
            try await Self.limit(process.pid, to: limit)
            let peers = SilentPeers(80, port: port)
            let load = try await Self.load(of: process.pid)
            #expect(load < 0.3, "the server spins: \(load) of a spinning thread's processor time")
            #expect(process.errors.contains("accept.paused"), "\(process.errors)")
            // A connection that is accepted and closed at once may have it for a moment.
            let counts = try (0..<50).map { _ in try ProcessFigures.descriptorCount(of: process.pid) }
            #expect(counts.contains { $0 < limit }, "libdispatch ends a process without a free descriptor")
            peers.close()
            try await Self.limit(process.pid, to: 1_024)
            try await Self.ping(process, port: port)
            await process.send(signal: SIGTERM)
            try await process.wait(forEnd: .exit(0))
        }
    }
}
