import NIOCore
import NestFraming
import NestModel
import NestProtocol

/// Subscribers of one new list at the nodes of a cluster, or at one server, and a writer at the leader.
struct ClusterSubscribers {
    /// How long the deliveries of a run took, and what they cost.
    struct Run {
        var deliveries = 0
        var writes = 0
        /// The deliveries of a second; of a run without subscribers, the writes.
        var rate = 0.0
        /// The seconds of processor time that each server used.
        var processor: [Double] = []

        var total: Double { self.processor.reduce(0, +) }
        var busiest: Double { self.processor.max() ?? 0 }
    }

    private let parent: ObjectID
    private let writer: BenchConnection
    private let subscribers: [BenchConnection]
    private let group: any EventLoopGroup

    /// `counts`: the number of subscribers at each port. `leader`: the port of the writer.
    init(at counts: [(port: Int, count: Int)], leader: Int, on group: any EventLoopGroup) async throws {
        self.group = group
        self.writer = try await BenchConnection.connect(host: "127.0.0.1", port: leader, on: group)
        let made = try await self.writer.request(
            TransactionMessage(WriteTransaction(mutations: [Load.insert(under: ObjectID(1), "list")])).frame(id: 1)
        )
        let receipt = try ReceiptMessage(body: made.body).receipt
        guard let parent = receipt.firstInserted else { throw BenchError.nothingInserted }
        self.parent = parent
        var subscribers: [BenchConnection] = []
        for (port, count) in counts {
            for _ in 0..<count {
                let connection = try await BenchConnection.connect(host: "127.0.0.1", port: port, on: group)
                try await connection.subscribe([BenchConnection.children(of: parent)], atLeast: receipt.revision)
                subscribers.append(connection)
            }
        }
        self.subscribers = subscribers
    }

    /// Writes rows; each must reach all subscribers. `servers`: whose processor time is counted.
    func run(writes: Int, inFlight: Int, _ servers: () async -> [Double]) async throws -> Run {
        let before = await servers()
        let rate = try await self.subscribers.isEmpty ? self.write(writes, inFlight) : self.deliver(writes, inFlight)
        let after = await servers()
        return Run(
            deliveries: writes * self.subscribers.count,
            writes: writes,
            rate: rate,
            processor: zip(after, before).map { $0 - $1 }
        )
    }

    /// Returns the writes of a second.
    private func write(_ writes: Int, _ inFlight: Int) async throws -> Double {
        let parent = self.parent
        let time = try await seconds {
            _ = try await Pipeline.run(
                self.writer,
                depth: inFlight,
                total: writes,
                firstID: 2,
                answers: [.receipt]
            ) { Load.insertFrame(under: parent, id: $0) }
        }
        return Double(writes) / time
    }

    /// Returns the deliveries of a second.
    private func deliver(_ writes: Int, _ inFlight: Int) async throws -> Double {
        let race = Race(
            writes: writes,
            subscribers: self.subscribers.count,
            inFlight: inFlight,
            loop: self.group.any()
        )
        for (number, connection) in self.subscribers.enumerated() {
            try await connection.configure { handler in
                handler.onFrame = { frame in
                    guard frame.type == MessageType.diff.rawValue else { return }
                    race.received(subscriber: number, total: Race.total(frame))
                }
            }
        }
        try await self.writer.configure { handler in
            handler.onFrame = { frame in
                if frame.type == MessageType.receipt.rawValue { race.answered(1) }
                if frame.type == MessageType.error.rawValue { race.fail(BenchError.refused(frame)) }
            }
        }
        let (writer, parent) = (self.writer, self.parent)
        return try await race.run(on: writer.channel) { Load.insertFrame(under: parent, id: UInt32($0 + 2)) }.0
    }

    func close() async throws {
        for connection in self.subscribers + [self.writer] { try await connection.close() }
    }
}
