import NIOCore
import NestModel
import NestProtocol

/// Guesses tokens on many connections at the same time. The bystanders use valid tokens from the same address.
struct Guesses: Attacker {
    private let site: AttackSite
    private let guessers: Int

    init(_ sizes: AttackSizes, on server: AttackServer) async throws {
        try await server.requireTokens()
        self.site = server.site
        self.guessers = sizes.guessers
    }

    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackCounts {
        await withTaskGroup { tasks in
            for _ in 0..<self.guessers { tasks.addTask { await self.guess(until: deadline) } }
            var counts = AttackCounts()
            for await one in tasks { counts.add(one) }
            return counts
        }
    }

    private func guess(until deadline: ContinuousClock.Instant) async -> AttackCounts {
        var counts = AttackCounts()
        var generator = SystemRandomNumberGenerator()
        while !deadline.isOver {
            guard let connection = await AttackConnection.connect(port: self.site.port, on: self.site.loop) else {
                counts.ended += 1
                try? await Task.sleep(for: .milliseconds(10))
                continue
            }
            // The number of an existing token.
            let token = AccessToken(number: 1, secret: .random(using: &generator))
            counts.add(await connection.greet(token: token, within: self.site.patience).outcome)
            await connection.close()
        }
        return counts
    }
}
