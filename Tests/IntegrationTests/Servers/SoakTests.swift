import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Clients, and peers that do not speak the protocol, connect and leave again and again: the server keeps none of
    /// their resources.
    ///
    /// `NEST_SOAK` and `NEST_CHAOS_SECONDS` (`make soak`) make the test long; it then checks the memory too.
    @Suite struct Soak {
        private static func visit(port: Int, number: Int) async throws {
            let client = NestClient(ClientConfiguration(port: port, session: .fresh, connectTimeout: .seconds(30)))
            let receipt = try await client.transaction(
                WriteTransaction(mutations: [Item.insert("visitor \(number)", under: Item.root)])
            )
            let id = try #require(receipt.firstInserted)
            try await client.withFetchedResults(Item.childrenOf(Item.root)) { results in
                for try await _ in results { break }
            }
            _ = try await client.transaction(WriteTransaction(mutations: [.delete(.object(id))]))
            await client.close()
        }

        private static func figures(_ client: NestClient) async throws -> [String: UInt64] {
            let names: Set = ["connections", "subscriptions", "change_subscriptions", "views", "requests_waiting"]
            let all = try await client.statistics()
            return Dictionary(uniqueKeysWithValues: all.filter { names.contains($0.name) }.map { ($0.name, $0.value) })
        }

        @Test func memoryAndDescriptorsDoNotGrow() async throws {
            let environment = ProcessInfo.processInfo.environment
            let isLong = environment["NEST_SOAK"] != nil
            let seconds = isLong ? environment["NEST_CHAOS_SECONDS"].flatMap(Int.init) ?? 60 : 0
            let server = try await ServerProcess.started()
            let (port, pid) = (await server.port, try #require(await server.process?.pid))
            let observer = NestClient(await server.configuration())
            _ = try await observer.ping()
            let figures = try await Self.figures(observer)
            let sockets = try ProcessFigures.socketCount(of: pid)
            let clock = ContinuousClock()
            let (start, end) = (clock.now, clock.now + .seconds(seconds))
            var memory: Int?
            var round = 0
            repeat {
                round += 1
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<20 { group.addTask { try await Self.visit(port: port, number: number) } }
                    let peers = [
                        SilentPeers(20, port: port), SilentPeers(20, port: port, saying: "GET / HTTP/1.1\r\n\r\n"),
                        SilentPeers(20, port: port, saying: "NEST\u{1}\u{1}\0\0and nothing of nest"),
                    ]
                    try await group.waitForAll()
                    for peer in peers { peer.close() }
                }
                // The first third allocates long-lived buffers, caches and statements.
                if memory == nil, clock.now - start > .seconds(seconds / 3) {
                    memory = try ProcessFigures.memory(of: pid)
                }
            } while clock.now < end
            // The server notices disconnections some time later.
            try await waitUntil("the server's figures to return to their first values") {
                try await Self.figures(observer) == figures
            }
            try await waitUntil("the visitors' sockets to be closed") {
                try ProcessFigures.socketCount(of: pid) <= sockets
            }
            if isLong, let memory {
                let now = try ProcessFigures.memory(of: pid)
                print("soak: \(round) rounds, memory \(memory) kB after a third, \(now) kB at the end")
                // The in-memory journal index grows by less than 2 kB per transaction.
                #expect(now - memory < memory / 4 + round * 40 * 2)
            }
            await observer.close()
            try await server.terminate()
        }
    }
}
