import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Idle connections. `NEST_IDLE=10000` takes minutes and 20,000 descriptors.
    @Suite struct IdleConnections {
        @Test func anIdleConnectionTakesLittleMemory() async throws {
            let count = ProcessInfo.processInfo.environment["NEST_IDLE"].flatMap(Int.init) ?? 300
            let server = try await ServerProcess.started()
            let (configuration, pid) = (await server.configuration(), try #require(await server.process?.pid))
            let observer = NestClient(configuration)
            let connections = {
                Int(try await observer.statistics().first { $0.name == "connections" }?.value ?? 0)
            }
            #expect(try await connections() == 1)
            let (memory, descriptors) = (
                try ProcessFigures.memory(of: pid), try ProcessFigures.descriptorCount(of: pid)
            )
            let clients = (0..<count).map { _ in NestClient(configuration) }
            for some in stride(from: 0, to: count, by: 50) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for client in clients[some..<min(some + 50, count)] {
                        group.addTask { try await client.connect() }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(try await connections() == 1 + count)
            let each = (try ProcessFigures.memory(of: pid) - memory) / count
            print("idle: \(count) connections, \(each) KiB each")
            #expect(each < 64)
            for client in clients { await client.close() }
            // Closing ten thousand connections takes longer than closing three hundred.
            let limit = Duration.testPatience + .milliseconds(20 * count)
            try await waitUntil("the end of the connections", within: limit) { try await connections() == 1 }
            try await waitUntil("their descriptors to be closed", within: limit) {
                try ProcessFigures.descriptorCount(of: pid) <= descriptors
            }
            await observer.close()
            try await server.terminate()
        }
    }
}
