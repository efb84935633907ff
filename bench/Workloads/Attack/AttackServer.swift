import Foundation
import NIOCore
import NIOPosix
import NestClient
import NestModel

/// A nestd to attack, and how its attackers reach it.
final class AttackServer {
    let child: Child
    /// The event loops of the attackers. Bystanders have their own thread.
    let group: MultiThreadedEventLoopGroup
    /// How long an attacker waits for a reply.
    let patience: TimeAmount
    /// A token with the role admin; `nil` while the store has no tokens.
    private(set) var token: AccessToken?

    init(nestd: String?, under directory: String, patience: Int) async throws {
        let directory = try Child.makeDirectory(under: directory)
        do {
            self.child = try Child.nestd(in: directory, removes: directory, program: nestd)
        } catch {
            try? FileManager.default.removeItem(atPath: directory)
            throw error
        }
        self.group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        self.patience = .seconds(Int64(patience))
    }

    func close() async throws {
        try await self.group.shutdownGracefully()
    }

    /// Creates a token. From then on every client needs one.
    func requireTokens() async throws {
        self.token = try await self.withClient { try await $0.createToken(TokenGrant(name: "bench", role: .admin)) }
    }

    /// Runs `body` with a normal client, which prepares an attack.
    func withClient<Result>(session: Identifier128? = nil, _ body: (NestClient) async throws -> Result) async throws
        -> Result
    {
        try await NestClient.withClient(self.configuration(session: session), body)
    }

    /// Returns the configuration of a normal client.
    func configuration(session: Identifier128? = nil) -> ClientConfiguration {
        ClientConfiguration(
            port: self.child.port,
            clientName: "nestbench",
            session: session.map { .secret($0) } ?? .fresh,
            token: self.token,
            requestTimeout: .seconds(600)
        )
    }

    /// The address and the token for attackers.
    var site: AttackSite {
        AttackSite(port: self.child.port, loop: self.group.next(), token: self.token, patience: self.patience)
    }
}

/// Where a nestd listens, and how an attacker connects to it.
struct AttackSite: Sendable {
    let port: Int
    let loop: any EventLoop
    let token: AccessToken?
    let patience: TimeAmount

    /// Connects. Returns `nil` if the server accepts no connection or refuses the handshake.
    func connect(session: Identifier128? = nil) async -> AttackConnection? {
        let connection = await AttackConnection.connect(port: self.port, on: self.loop)
        guard let connection else { return nil }
        let reply = await connection.greet(token: self.token, session: session, within: self.patience)
        if case .answered = reply.outcome { return connection }
        await connection.close()
        return nil
    }
}

extension ContinuousClock.Instant {
    var isOver: Bool { self <= .now }
}
