import NestClient
import NestModel

/// One normal import of many rows with the client library.
struct Bulk: Attacker {
    private let configuration: ClientConfiguration
    private let rows: Int

    init(_ sizes: AttackSizes, on server: AttackServer) {
        self.configuration = server.configuration()
        self.rows = sizes.rows
    }

    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackCounts {
        var counts = AttackCounts()
        do {
            try await NestClient.withClient(self.configuration) { client in
                _ = try await client.importSubtree(Load.importUnderRoot, nextRows: Load.rows(self.rows))
            }
            counts.answered += 1
        } catch let error as NestError {
            counts.add(.refused(error.code))
        }
        return counts
    }
}
