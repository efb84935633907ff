import NIOConcurrencyHelpers
import NIOCore
import NestFraming
import NestModel
import NestProtocol

/// What the writers of a cluster know: which rows were acknowledged, and when the first one was after a kill.
final class ClusterLedger: Sendable {
    private struct State {
        var titles: [ObjectID: String] = [:]
        var head = Revision(0)
        var killed: (port: Int, at: ContinuousClock.Instant)?
        var pause: Duration?
        var refusals: [String: Int] = [:]
        var isOver = false
    }

    private let state = NIOLockedValueBox(State())

    var titles: [ObjectID: String] { self.state.withLockedValue { $0.titles } }
    var count: Int { self.state.withLockedValue { $0.titles.count } }
    var head: Revision { self.state.withLockedValue { $0.head } }
    var isOver: Bool { self.state.withLockedValue { $0.isOver } }
    /// How often writers met each error code.
    var refusals: [String: Int] { self.state.withLockedValue { $0.refusals } }
    /// The time from the last kill to the first write that another node acknowledged; `nil`: none was yet.
    var pause: Duration? { self.state.withLockedValue { $0.pause } }

    func finish() { self.state.withLockedValue { $0.isOver = true } }

    /// Begins a pause. Answers of the killed node that are still on their way do not end it.
    func beginPause(killed port: Int) {
        self.state.withLockedValue { ($0.killed, $0.pause) = ((port, .now), nil) }
    }

    func acknowledge(_ title: String, _ receipt: Receipt, by port: Int) throws {
        guard let id = receipt.firstInserted else { throw BenchError.nothingInserted }
        self.state.withLockedValue { state in
            state.titles[id] = title
            state.head = max(state.head, receipt.revision)
            if state.pause == nil, let killed = state.killed, killed.port != port {
                state.pause = ContinuousClock.now - killed.at
            }
        }
    }

    func refuse(_ code: ErrorCode) { self.state.withLockedValue { $0.refusals["\(code)", default: 0] += 1 } }
}

/// Writes one row at a time to the node that leads, each with an idempotency key, and repeats it until it is
/// acknowledged.
struct ClusterWriter {
    let name: String
    let cluster: BenchCluster
    let ledger: ClusterLedger
    let list: ObjectID
    let group: any EventLoopGroup
    /// Owns the idempotency keys, at every node.
    private let session = BenchConnection.newSession()
    private var connections: [Int: BenchConnection] = [:]
    /// The node to ask next.
    private var index = 0
    private var requestID: UInt32 = 0

    init(_ name: String, _ cluster: BenchCluster, _ ledger: ClusterLedger, list: ObjectID, on group: any EventLoopGroup)
    {
        self.name = name
        self.cluster = cluster
        self.ledger = ledger
        self.list = list
        self.group = group
    }

    mutating func run() async throws {
        var random = SystemRandomNumberGenerator()
        var number = 0
        while !self.ledger.isOver {
            number += 1
            let key = Identifier128(high: random.next(), low: random.next())
            try await self.write("\(self.name).\(number)", key)
        }
        for connection in self.connections.values { try? await connection.close() }
    }

    private mutating func write(_ title: String, _ key: Identifier128) async throws {
        let transaction = WriteTransaction(key: key, mutations: [Load.insert(under: self.list, title)])
        let start = ContinuousClock.now
        while true {
            let ports = self.cluster.ports
            let port = ports[self.index % ports.count]
            if port > 0, let receipt = await self.send(transaction, to: port) {
                return try self.ledger.acknowledge(title, receipt, by: port)
            }
            self.index += 1
            guard (ContinuousClock.now - start).seconds < BenchCluster.patience else {
                throw BenchError.failed("no node accepts a write within \(Int(BenchCluster.patience)) s")
            }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Returns the receipt, or `nil` if this node does not answer the write with one.
    private mutating func send(_ transaction: WriteTransaction, to port: Int) async -> Receipt? {
        do {
            if self.connections[port] == nil {
                self.connections[port] =
                    try await BenchConnection.connectWithWelcome(port: port, on: self.group, session: self.session).0
            }
            guard let connection = self.connections[port] else { return nil }
            self.requestID += 1
            let frame = try await connection.request(TransactionMessage(transaction).frame(id: self.requestID))
            return try ReceiptMessage(body: frame.body).receipt
        } catch BenchError.refused(let frame) {
            if let code = (try? ErrorMessage(body: frame.body))?.error.code { self.ledger.refuse(code) }
        } catch {
            // The node was killed, or does not run.
            try? await self.connections.removeValue(forKey: port)?.close()
        }
        return nil
    }
}
