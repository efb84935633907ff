import NIOCore
import NestClient
import NestModel
import NestProtocol
import NestFraming

/// A reader whose token is confined to a list reads the deepest object of a chain below it, with the maximum number of
/// requests in flight.
struct DeepScope: Attacker {
    private let site: AttackSite
    private let deepest: ObjectID

    init(_ sizes: AttackSizes, on server: AttackServer) async throws {
        try await server.requireTokens()
        let levels = sizes.levels
        let (top, token) = try await server.withClient { client in
            var next = 0
            let receipt = try await client.importSubtree(Load.importUnderRoot) { () -> [SubtreeRow]? in
                guard next < levels else { return nil }
                let depths = next..<min(next + 1_000, levels)
                next = depths.upperBound
                return depths.map { SubtreeRow(depth: $0, id: nil, values: [.string(Load.title)]) }
            }
            guard let top = receipt.firstInserted else { throw BenchError.nothingInserted }
            let confinement = AccessConfinement(
                root: top,
                entity: EntityNumber(1),
                relationship: PropertyNumber(6)
            )
            let grant = TokenGrant(name: "guest", role: .read, confinement: confinement)
            return (top, try await client.createToken(grant))
        }
        // No other client writes at the same time, so the ids of the import are consecutive.
        self.deepest = ObjectID(top.rawValue + Int64(levels) - 1)
        let site = server.site
        self.site = AttackSite(port: site.port, loop: site.loop, token: token, patience: site.patience)
    }

    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackCounts {
        var counts = AttackCounts()
        guard let connection = await self.site.connect() else { return counts }
        var id: UInt32 = 0
        repeat {
            var bytes = ByteBuffer()
            for _ in 0..<Limits.requestsInFlightPerConnectionMax {
                id += 1
                bytes.writeImmutableBuffer(GetObject(id: self.deepest).frame(id: id))
            }
            counts.sent += Limits.requestsInFlightPerConnectionMax - 1
            counts.add(await connection.ask(bytes, id: id, within: self.site.patience).outcome)
        } while !deadline.isOver && counts.ended + counts.late == 0
        await connection.close()
        return counts
    }
}
