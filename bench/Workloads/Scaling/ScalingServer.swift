import Foundation
import Histogram
import NIOCore
import NIOPosix
import NestModel
import NestProtocol
import NestFraming

/// A nestd of a series, and the connection that writes to it.
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
        (self.writer, self.historyID) = try await BenchConnection.connectWithHistoryID(
            port: self.child.port,
            on: self.group
        )
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

    /// Commits one transaction.
    func write(_ mutations: [Mutation]) async throws -> Receipt {
        let message = TransactionMessage(WriteTransaction(mutations: mutations))
        return try ReceiptMessage(body: await self.writer.request(message.frame(id: self.nextID())).body).receipt
    }

    /// Inserts an item under the root or under another item.
    func makeItem(under parent: ObjectID = ObjectID(1)) async throws -> ObjectID {
        guard let item = try await self.write([Load.insert(under: parent)]).firstInserted else {
            throw BenchError.failed("an item was not inserted")
        }
        return item
    }

    /// Inserts `count` items under `parent`, in order. Their ids are consecutive if no other client writes at the same
    /// time.
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

    /// Kills nestd and restarts it on the same store. Returns the time until it listens, with its processor time.
    func restart() async throws -> Sample {
        self.child.killNow()
        try? await self.writer.close()
        let start = ContinuousClock.now
        self.child = try Child.nestd(in: self.directory)
        var sample = Sample()
        sample.record(ContinuousClock.now - start)
        sample.work = self.child.processorTime
        (self.writer, self.historyID) = try await BenchConnection.connectWithHistoryID(
            port: self.child.port,
            on: self.group
        )
        return sample
    }

    // MARK: Measuring

    /// Sends requests of the writer, one at a time.
    func time(_ count: Int, answers: MessageType = .receipt, _ frame: @escaping @Sendable (UInt32) -> ByteBuffer)
        async throws -> Sample
    {
        let first = self.requestID + 1
        self.requestID += UInt32(count)
        return try await self.measureWork {
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

    /// Sends as many requests as fit into `seconds`, and at least ten.
    func time(seconds: Double, _ frame: @escaping @Sendable (UInt32) -> ByteBuffer) async throws -> Sample {
        try await ScalingServer.fill(seconds) { try await self.time($0, frame) }
    }

    /// Repeats `body` as often as fits into `seconds`; ten times at first.
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

    /// Runs `body`, which returns its times, and measures the server's processor time.
    func measureWork(_ body: () async throws -> Histogram<UInt64>) async throws -> Sample {
        let before = self.child.processorTime
        var sample = Sample()
        sample.latency.add(try await body())
        sample.work = self.child.processorTime - before
        return sample
    }

    /// Runs `body` once, and measures its time and the server's processor time.
    func measureWorkOnce(_ body: () async throws -> Void) async throws -> Sample {
        let before = self.child.processorTime
        let start = ContinuousClock.now
        try await body()
        var sample = Sample()
        sample.record(ContinuousClock.now - start)
        sample.work = self.child.processorTime - before
        return sample
    }
}
