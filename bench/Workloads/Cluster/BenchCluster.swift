import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestFraming
import NestModel
import NestProtocol

/// A cluster of nestd on this machine, with its own PostgreSQL. Its directory is removed when it is closed.
actor BenchCluster {
    private var nodes: [Child?]
    private var postgres: BenchPostgres?
    private let url: String
    private let directory: String
    private let group: any EventLoopGroup
    private nonisolated let portsBox: NIOLockedValueBox<[Int]>

    /// The ports of the nodes; 0 for a node that does not run.
    nonisolated var ports: [Int] { self.portsBox.withLockedValue { $0 } }

    /// Starts PostgreSQL, creates a store and starts `count` nodes.
    init(_ count: Int, under parent: String, on group: any EventLoopGroup) async throws {
        self.directory = try Child.makeDirectory(under: parent)
        self.group = group
        self.nodes = [Child?](repeating: nil, count: count)
        self.portsBox = NIOLockedValueBox([Int](repeating: 0, count: count))
        let postgres = try BenchPostgres(directory: self.directory)
        self.postgres = postgres
        self.url = postgres.url
        try Self.run(["cluster", "init", "--log", self.url])
        for index in 0..<count { try self.start(index) }
        _ = try await self.leader()
    }

    /// Starts a node, with the store that it had before. Returns when it accepts clients.
    func start(_ index: Int) throws {
        let node = try Child(
            "nestd",
            [
                "--log", self.url, "--node", "node\(index)", "--port", "0", "--store",
                "\(self.directory)/node\(index).sqlite", "--log-level", "error",
            ]
        )
        self.nodes[index] = node
        self.portsBox.withLockedValue { $0[index] = node.port }
    }

    /// Kills a node with SIGKILL.
    func kill(_ index: Int) {
        self.portsBox.withLockedValue { $0[index] = 0 }
        self.nodes[index]?.killNow()
        self.nodes[index] = nil
    }

    /// Stops all nodes but one where they are, or lets them go on.
    func pause(_ isPaused: Bool, except index: Int) {
        for (other, node) in self.nodes.enumerated() where other != index { node?.pause(isPaused) }
    }

    /// The processor time of each node in seconds.
    var processorTimes: [Double] { self.nodes.map { $0?.processorTime ?? 0 } }

    func close() {
        for index in self.nodes.indices { self.nodes[index] = nil }
        self.postgres = nil
        Child.removeDirectory(self.directory)
    }

    // MARK: Asking

    /// The seconds that a step of the cluster may take before the measurement fails.
    static let patience = 60.0

    /// Returns the index of the node that leads. Waits for one.
    func leader() async throws -> Int {
        try await self.first("no node leads") { welcomes in
            welcomes.firstIndex { $0?.replica?.role == .leader }
        }
    }

    /// Returns when every node runs and has a revision.
    func caughtUp(to revision: Revision) async throws {
        _ = try await self.first("a node does not reach revision \(revision)") { welcomes in
            welcomes.allSatisfy { $0.map { $0.revision >= revision } ?? false } ? true : nil
        }
    }

    /// Asks all nodes until `look` returns a value.
    private func first<Value>(_ failure: String, _ look: ([Welcome?]) -> Value?) async throws -> Value {
        let start = ContinuousClock.now
        while true {
            var welcomes: [Welcome?] = []
            for port in self.ports { welcomes.append(await self.welcome(port)) }
            if let value = look(welcomes) { return value }
            guard (ContinuousClock.now - start).seconds < Self.patience else {
                throw BenchError.failed("\(failure) within \(Int(Self.patience)) s")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func welcome(_ port: Int) async -> Welcome? {
        guard port > 0 else { return nil }
        let answer = try? await BenchConnection.connectWithWelcome(port: port, on: self.group)
        try? await answer?.0.close()
        return answer?.1
    }

    /// Runs a command of nestd to its end.
    private static func run(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("nestd")
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchError.failed("nestd \(arguments.joined(separator: " ")) ended with \(process.terminationStatus)")
        }
    }
}
