import Foundation
import Histogram
import NIOCore
import NIOPosix
import NestModel
import NestProtocol
import NestFraming

/// A nestd of a series, and who writes to it.
final class ScalingServer {
    let group: MultiThreadedEventLoopGroup
    private let directory: String
    private(set) var child: Child
    private(set) var writer: BenchConnection
    private(set) var historyID: Identifier128
    private var requestID: UInt32 = 0

    init(_ options: BenchOptions) async throws {
        self.group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        self.directory = try Child.makeDirectory(under: options.directory)
        self.child = try Child.nestd(in: self.directory)
        (self.writer, self.historyID) = try await BenchConnection.connectKnowing(port: self.child.port, on: self.group)
    }

    func close() async throws {
        self.child.killNow()
        try? await self.writer.close()
        try await self.group.shutdownGracefully()
        try FileManager.default.removeItem(atPath: self.directory)
    }

    // MARK: Writing

    func nextID() -> UInt32 {
        self.requestID += 1
        return self.requestID
    }

    /// One transaction.
    func write(_ mutations: [Mutation]) async throws -> Receipt {
        let message = TransactionMessage(WriteTransaction(mutations: mutations))
        return try ReceiptMessage(body: await self.writer.request(message.frame(id: self.nextID())).body).receipt
    }

    /// A new item under the root, or under another.
    func makeItem(under parent: ObjectID = ObjectID(1)) async throws -> ObjectID {
        guard let item = try await self.write([Load.insert(under: parent)]).firstInserted else {
            throw BenchError.badServer("an item was not inserted")
        }
        return item
    }

    /// So many items under one, in order; those who write nothing meanwhile may take it that their ids follow each other.
    func insert(_ count: Int, under parent: ObjectID) async throws -> [ObjectID] {
        var inserted: [ObjectID] = []
        for start in stride(from: 0, to: count, by: 5_000) {
            let insert = Load.insert(under: parent)
            inserted += try await self.write([Mutation](repeating: insert, count: min(count - start, 5_000)))
                .insertedIDs
        }
        return inserted
    }

    // MARK: Connections

    func connect() async throws -> BenchConnection {
        try await BenchConnection.connect(host: "127.0.0.1", port: self.child.port, on: self.group)
    }

    func connect(_ count: Int) async throws -> [BenchConnection] {
        var connections: [BenchConnection] = []
        let (port, group) = (self.child.port, self.group)
        for start in stride(from: 0, to: count, by: 100) {
            try await withThrowingTaskGroup(of: BenchConnection.self) { tasks in
                for _ in start..<min(start + 100, count) {
                    tasks.addTask { try await BenchConnection.connect(host: "127.0.0.1", port: port, on: group) }
                }
                for try await connection in tasks { connections.append(connection) }
            }
        }
        return connections
    }

    /// Crashes it and starts it on the same store: how long until it listens, and what that cost it.
    func restart() async throws -> Sample {
        self.child.killNow()
        try? await self.writer.close()
        let start = ContinuousClock.now
        self.child = try Child.nestd(in: self.directory)
        var sample = Sample()
        sample.record(ContinuousClock.now - start)
        sample.work = self.child.processorTime
        (self.writer, self.historyID) = try await BenchConnection.connectKnowing(port: self.child.port, on: self.group)
        return sample
    }

    // MARK: Measuring

    /// Requests of the writer, one after the other.
    func time(_ count: Int, answers: MessageType = .receipt, _ frame: @escaping @Sendable (UInt32) -> ByteBuffer)
        async throws -> Sample
    {
        let first = self.requestID + 1
        self.requestID += UInt32(count)
        return try await self.weigh {
            try await Pipeline.run(
                self.writer,
                depth: 1,
                total: count,
                firstID: first,
                answers: [answers],
                makeFrame: frame
            )
        }
    }

    /// As many as fit into a time, and ten at least.
    func time(seconds: Double, _ frame: @escaping @Sendable (UInt32) -> ByteBuffer) async throws -> Sample {
        try await ScalingServer.fill(seconds) { try await self.time($0, frame) }
    }

    /// Repeats something as often as fits into a time; ten times at first.
    static func fill(_ seconds: Double, _ body: (Int) async throws -> Sample) async throws -> Sample {
        let start = ContinuousClock.now
        var sample = try await body(10)
        while true {
            let passed = (ContinuousClock.now - start).seconds
            let each = passed / Double(sample.count)
            let more = Int(min((seconds - passed) / each, 1_000))
            if more < 10 { return sample }
            sample.add(try await body(more))
        }
    }

    /// What something that tells its times costs the server.
    func weigh(_ body: () async throws -> Histogram<UInt64>) async throws -> Sample {
        let before = self.child.processorTime
        var sample = Sample()
        sample.latency.add(try await body())
        sample.work = self.child.processorTime - before
        return sample
    }

    /// The same of something that is done once.
    func weighOnce(_ body: () async throws -> Void) async throws -> Sample {
        let before = self.child.processorTime
        let start = ContinuousClock.now
        try await body()
        var sample = Sample()
        sample.record(ContinuousClock.now - start)
        sample.work = self.child.processorTime - before
        return sample
    }
}
