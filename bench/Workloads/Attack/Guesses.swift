import NIOCore
import NestModel
import NestProtocol

/// Guesses tokens on many connections at a time; the good ones of the bystanders come from the same address.
struct Guesses: Attacker {
    private let site: AttackSite
    private let guessers: Int

    init(_ sizes: AttackSizes, on server: AttackServer) async throws {
        try await server.wantTokens()
        self.site = server.site
        self.guessers = sizes.guessers
    }

    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackTally {
        await withTaskGroup { tasks in
            for _ in 0..<self.guessers { tasks.addTask { await self.guess(until: deadline) } }
            var tally = AttackTally()
            for await one in tasks { tally.add(one) }
            return tally
        }
    }

    private func guess(until deadline: ContinuousClock.Instant) async -> AttackTally {
        var tally = AttackTally()
        var generator = SystemRandomNumberGenerator()
        while !deadline.isOver {
            guard let connection = await AttackConnection.connect(port: self.site.port, on: self.site.loop) else {
                tally.ended += 1
                try? await Task.sleep(for: .milliseconds(10))
                continue
            }
            // The number of a token that there is.
            let token = AccessToken(number: 1, secret: .random(using: &generator))
            tally.add(await connection.greet(token: token, within: self.site.patience).outcome)
            await connection.close()
        }
        return tally
    }
}
