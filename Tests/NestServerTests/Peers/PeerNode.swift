import Logging
import NIOCore
import NestFraming
import NestModel
import NestProtocol
import NestServer
import NestServerTestSupport
import NestStore
import NestTestSupport
import Testing

/// Runs `body` with a node that leads a cluster whose log is in memory.
func withLeader(
    _ configure: (inout ServerConfiguration) -> Void = { _ in },
    _ body: (Int, ScriptedLog) async throws -> Void
) async throws {
    let world = try ReplicaWorld()
    let log = world.log()
    var configuration = ServerConfiguration(
        host: "127.0.0.1",
        port: 0,
        store: Store.Configuration(location: .file(world.path("leader")), model: .nestedList),
        serverName: "test"
    )
    configuration.eventLoopCount = 2
    configuration.timing.sweep = .milliseconds(20)
    configuration.replica = ReplicaConfiguration(storeName: "default") {
        ReplicaLog(log: log, sharedLog: { _ in log }, seize: { () throws(LogFailure) in throw .unusable("no") })
    }
    configure(&configuration)
    let (ports, found) = AsyncStream.makeStream(of: Int.self)
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let server = Server(configuration, logger: logger, onListening: { found.yield($0.port) })
    let running = Task {
        defer { found.finish() }
        try await server.run()
    }
    do {
        for await port in ports {
            try await waitUntil("the node leads") {
                let peer = try ServerRawConnection.node(port: port, number: 99, log)
                _ = try peer.request(Follow(position: 0, chain: Identifier128(high: 0, low: 0)))
                return try peer.frame()?.type == MessageType.logHead.rawValue
            }
            try await body(port, log)
            break
        }
    } catch {
        running.cancel()
        _ = await running.result
        throw error
    }
    running.cancel()
    try await running.value
}

/// A connection as another node makes it.
extension ServerRawConnection {
    /// Returns a connection that has sent HELLO with a proof.
    static func proving(port: Int, number: UInt64 = 1, _ secret: TokenSecret, receiveBytes: Int32? = nil) throws
        -> ServerRawConnection
    {
        let connection = try ServerRawConnection(port: port, receiveBytes: receiveBytes)
        try connection.send(Preface.client.bytes)
        let hello = Hello(
            clientName: "nestd \(number)",
            features: Self.features,
            session: Identifier128(high: 0x6e6f_6465, low: number),
            peer: Hello.Peer(node: Identifier128(high: 7, low: number), secret: secret)
        )
        try connection.send(hello.frame(id: 0))
        _ = try connection.preface()
        return connection
    }

    /// Returns a connection that has received WELCOME.
    static func node(port: Int, number: UInt64 = 1, _ log: ScriptedLog, receiveBytes: Int32? = nil) throws
        -> ServerRawConnection
    {
        let connection = try Self.proving(port: port, number: number, log.secret, receiveBytes: receiveBytes)
        _ = try connection.expect(Welcome.self, id: 0)
        return connection
    }

    /// Opens a port for a client of its own session.
    func open(_ port: UInt32, token: UInt64 = 0, user: String = "") throws {
        let session = Identifier128(high: 0x706f_7274, low: UInt64(port))
        try self.send(PeerOpen(port: port, session: session, token: token, user: user).frame(id: 0))
    }

    /// Forwards a request of a port's client. Returns its id.
    @discardableResult
    func forward<Request: Message>(_ request: Request, port: UInt32, group: UInt64 = 0) throws -> UInt32 {
        try self.request(PeerRequest(port: port, group: group, request: Request.type, bytes: request.body))
    }

    /// Inserts an Item for a port's client. Returns the receipt.
    func insert(_ title: String, port: UInt32, group: UInt64 = 0) throws -> Receipt {
        let id = try self.forward(TransactionMessage(.insert(title)), port: port, group: group)
        return try self.expect(ReceiptMessage.self, id: id).receipt
    }

    /// Returns the next record of a stream.
    func record(id: UInt32) throws -> Record {
        while let frame = try self.frame() {
            #expect(frame.id == id)
            if frame.type == MessageType.logHead.rawValue { continue }
            guard frame.type == MessageType.record.rawValue else { throw Failure(description: "type \(frame.type)") }
            return try Record(body: frame.body)
        }
        throw Failure(description: "closed before RECORD")
    }

    /// Reads until the stream ends. Returns the positions of its records.
    func recordsUntilBehind(id: UInt32) throws -> [Int64] {
        try self.frames(until: .logBehind).filter { $0.type == MessageType.record.rawValue }.map { frame in
            #expect(frame.id == id)
            return try Record(body: frame.body).position
        }
    }

    /// The titles of the root's children, as a client of the server gets them.
    static func titles(port: Int) throws -> [String] {
        let (client, _) = try Self.ready(port: port, session: 900)
        let id = try client.request(Fetch(.rootChildren))
        var titles: [String] = []
        while let frame = try client.frame() {
            #expect(frame.id == id)
            if frame.type == MessageType.snapshotRows.rawValue {
                for row in try SnapshotRows(body: frame.body).rows(valueCount: 1) {
                    if case .string(let title) = row.values[0] { titles.append(title) }
                }
            }
            if !frame.flags.contains(.more) { return titles }
        }
        throw Failure(description: "closed before the rows")
    }
}
