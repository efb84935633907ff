import NestClient
import NestModel

/// An ordinary import of very many rows, by the client library: once.
struct Bulk: Attacker {
    private let configuration: ClientConfiguration
    private let rows: Int

    init(_ sizes: AttackSizes, on server: AttackServer) {
        self.configuration = server.configuration()
        self.rows = sizes.rows
    }

    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackTally {
        var tally = AttackTally()
        do {
            try await NestClient.withClient(self.configuration) { client in
                _ = try await client.importSubtree(Load.importUnderRoot, nextRows: Load.rows(self.rows))
            }
            tally.answered += 1
        } catch let error as NestError {
            tally.add(.refused(error.code))
        }
        return tally
    }
}
