import NIOCore
import NIOPosix
import NestModel
import NestProtocol
import NestFraming

/// The server under load: a running one, or one started for this workload.
struct BenchTarget {
    let host: String
    let port: Int
    let child: Child?
    let group: MultiThreadedEventLoopGroup

    init(host: String, port: Int, child: Child?, group: MultiThreadedEventLoopGroup) {
        (self.host, self.port, self.child, self.group) = (host, port, child, group)
    }

    /// `hasWeb`: the server must have a port for browsers too.
    init(_ options: BenchOptions, hasWeb: Bool = false) throws {
        self.group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        guard let server = options.server else {
            let child = try Child.nestd(under: options.directory, hasWeb: hasWeb)
            self.host = "127.0.0.1"
            self.port = child.port
            self.child = child
            return
        }
        guard !hasWeb else { throw BenchError.failed("this workload starts a nestd of its own: omit --server") }
        guard let colon = server.lastIndex(of: ":"), let port = Int(server[server.index(after: colon)...]) else {
            throw BenchError.badServer(server)
        }
        self.host = String(server[..<colon])
        self.port = port
        self.child = nil
    }

    /// `group`: where the connection's work is done; `nil`: with that of the others.
    func connect(
        features: Features = BenchConnection.features,
        on group: MultiThreadedEventLoopGroup? = nil
    ) async throws -> BenchConnection {
        try await BenchConnection.connect(
            host: self.host,
            port: self.port,
            on: group ?? self.group,
            features: features
        )
    }

    /// Connects to the port for browsers.
    func connectWebSocket() async throws -> BenchConnection {
        guard let port = self.child?.webPort else { throw BenchError.failed("nestd has no port for browsers") }
        return try await BenchConnection.connectWithWelcome(
            host: self.host,
            port: port,
            on: self.group,
            isWebSocket: true
        ).0
    }

    /// Inserts an item as the parent of a round's rows, so that rounds do not affect each other.
    func makeParent(_ connection: BenchConnection, _ requestID: UInt32) async throws -> ObjectID {
        let frame = try await connection.request(
            TransactionMessage(WriteTransaction(mutations: [Load.insert(under: ObjectID(1), "bench")])).frame(
                id: requestID
            )
        )
        guard let id = try ReceiptMessage(body: frame.body).receipt.firstInserted else {
            throw BenchError.refused(frame)
        }
        return id
    }

    /// Returns a counter of the server; 0 if the server has no such counter.
    func statistic(_ name: String) async throws -> UInt64 {
        let connection = try await self.connect()
        let frame = try await connection.request(GetStatistics().frame(id: 1))
        try await connection.close()
        return try Statistics(body: frame.body).values.first { $0.name == name }?.value ?? 0
    }

    func shutdown() async throws {
        try await self.group.shutdownGracefully()
    }
}

/// The mutations of the workloads. An item has a title of 24 bytes.
enum Load {
    static let title = "an ordinary item's title"

    static func insert(under parent: ObjectID, _ title: String = Self.title, _ place: Place = .last) -> Mutation {
        .insert(
            entity: EntityNumber(1),
            values: [PropertyAssignment(PropertyNumber(1), .value(.string(title)))],
            placements: [Placement(relationship: PropertyNumber(5), owner: .object(parent), place: place)]
        )
    }

    /// Inserts an item under an object, which may be an item inserted earlier in the same transaction.
    static func insert(under parent: ObjectReference) -> Mutation {
        .insert(
            entity: EntityNumber(1),
            values: [PropertyAssignment(PropertyNumber(1), .value(.string(Self.title)))],
            placements: [Placement(relationship: PropertyNumber(5), owner: parent, place: .last)]
        )
    }

    /// An import of items with titles, placed after the root's last child.
    static var importUnderRoot: SubtreeImport {
        SubtreeImport(
            entity: EntityNumber(1),
            placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last),
            properties: [PropertyNumber(1)]
        )
    }

    /// Returns a source of `count` top-level rows for an import, 1,000 at a time.
    static func rows(_ count: Int) -> () -> [SubtreeRow]? {
        var next = 0
        return {
            guard next < count else { return nil }
            let numbers = next..<min(next + 1_000, count)
            next = numbers.upperBound
            return numbers.map { SubtreeRow(depth: 0, id: nil, values: [.string("\(Self.title) \($0)")]) }
        }
    }

    /// Returns a request that gives an item a new title, different for each request id.
    static func renameFrame(_ item: ObjectID, id: UInt32) -> ByteBuffer {
        let title = PropertyAssignment(PropertyNumber(1), .value(.string("an item's title \(id)")))
        return TransactionMessage(WriteTransaction(mutations: [.update(.object(item), values: [title])])).frame(id: id)
    }

    static func insertFrame(under parent: ObjectID, id: UInt32) -> ByteBuffer {
        TransactionMessage(WriteTransaction(mutations: [Self.insert(under: parent)])).frame(id: id)
    }
}

/// Returns the seconds that `body` takes.
func seconds(_ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await body()
    return (ContinuousClock.now - start).seconds
}

extension Duration {
    var seconds: Double {
        Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18
    }

    var microseconds: UInt64 { UInt64(self.seconds * 1e6) }
}
