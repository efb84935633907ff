import NIOCore
import NestClient
import NestModel
import NestProtocol
import NestFraming

/// Requests more bytes than a connection buffers, on many connections, and reads none of them.
struct HeldReplies: Attacker {
    /// The requests of one connection: the maximum number of results in flight, and objects up to the maximum number of
    /// requests.
    private static let fetches = Limits.resultsInFlightPerConnectionMax
    private static let objects = Limits.requestsInFlightPerConnectionMax - Self.fetches
    /// 32 rows with three texts each: 6.3 MB.
    private static let rows = 32

    private let site: AttackSite
    private let connections: Int
    private let list: ObjectID
    private let fat: ObjectID

    init(_ sizes: AttackSizes, on server: AttackServer) async throws {
        self.connections = sizes.connections
        (self.list, self.fat) = try await server.withClient { client in
            let inserted = try await client.transaction(WriteTransaction(mutations: [Load.insert(under: ObjectID(1))]))
            guard let list = inserted.firstInserted else { throw BenchError.nothingInserted }
            var last = list
            for number in 0..<Self.rows {
                let receipt = try await client.transaction(
                    WriteTransaction(mutations: [Self.fatRow(number, under: list)])
                )
                last = receipt.firstInserted ?? last
            }
            return (list, last)
        }
        self.site = server.site
    }

    /// Title, note and extra have the maximum length and are hardly compressible.
    private static func fatRow(_ number: Int, under list: ObjectID) -> Mutation {
        var state = UInt64(number + 1)
        func text(_ count: Int) -> AttributeValue {
            .string(
                String(
                    decoding: (0..<count).map { _ in
                        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                        return UInt8(0x30 + state >> 58)
                    },
                    as: UTF8.self
                )
            )
        }
        return .insert(
            entity: EntityNumber(1),
            values: [1, 2, 4].map {
                PropertyAssignment(PropertyNumber($0), .value(text(Limits.valueBytesMax)))
            },
            placements: [Placement(relationship: PropertyNumber(5), owner: .object(list), place: .last)]
        )
    }

    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackCounts {
        var counts = AttackCounts()
        var bytes = ByteBuffer()
        var id: UInt32 = 0
        for _ in 0..<Self.fetches {
            id += 1
            bytes.writeImmutableBuffer(Fetch(BenchConnection.children(of: self.list)).frame(id: id))
        }
        for _ in 0..<Self.objects {
            id += 1
            bytes.writeImmutableBuffer(GetObject(id: self.fat).frame(id: id))
        }
        var connections: [AttackConnection] = []
        for _ in 0..<self.connections {
            guard let connection = await AttackConnection.connect(port: self.site.port, on: self.site.loop) else {
                continue
            }
            connections.append(connection)
            // Without compression each reply has its full size.
            let reply = await connection.greet(token: self.site.token, features: [], within: self.site.patience)
            if case .answered = reply.outcome { continue }
            counts.add(reply.outcome)
        }
        for connection in connections {
            await connection.stopReading()
            connection.send(bytes)
            counts.sent += Self.fetches + Self.objects
        }
        try? await Task.sleep(until: deadline)
        for connection in connections { await connection.close() }
        return counts
    }
}
