import NestModel
import NestProtocol

/// Measures nestd's memory for an idle connection, and for its subscription to a list that all connections share: the
/// growth of the process's resident memory, without the kernel's memory for sockets.
struct ConnectionMemory {
    let report: Report
    let options: BenchOptions

    private static let connections = 4_000

    func run() async throws {
        let target = try BenchTarget(self.options)
        guard let server = target.child else { return }
        var connections: [BenchConnection] = []
        func connect(_ count: Int) async throws {
            for _ in 0..<count { connections.append(try await target.connect()) }
        }
        // Excludes the memory that only the first connections need.
        try await connect(500)
        for connection in connections { try await connection.subscribe(to: ObjectID(1)) { _ in } }
        let start = server.memory.resident
        Progress.show("connections to nestd")
        try await connect(Self.connections)
        let connected = server.memory.resident
        for connection in connections.suffix(Self.connections) {
            try await connection.subscribe(to: ObjectID(1)) { _ in }
        }
        let subscribed = server.memory.resident
        Progress.clear()
        for connection in connections { try await connection.close() }
        try await target.shutdown()
        self.add("an idle connection, in nestd", connected - start, wanted: "12 kB, better 6 kB")
        self.add("its subscription, in nestd", subscribed - connected, wanted: "1000 B, better 300 B")
    }

    private func add(_ parameters: String, _ bytes: Int, wanted: String) {
        let each = Double(bytes) / Double(Self.connections)
        self.report.add(.bytes(of: parameters, [each], wanted: wanted))
    }
}
