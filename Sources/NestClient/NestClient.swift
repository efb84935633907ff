import NIOCore
import NIOPosix
import NestModel

/// A connection to a nest server that is restored when it is lost. The client then sends requests again where that is
/// safe, and resumes subscriptions from the state that they hold.
///
///     let client = NestClient(ClientConfiguration(host: "localhost"))
///     try await client.connect()
///     let receipt = try await client.transaction(WriteTransaction(mutations: [...]))
///     try await client.withFetchedResults(request) { results in
///         for try await change in results { show(change, results.state) }
///     }
///     await client.close()
///
/// After a lost connection, the client sends reads again. Every write carries an idempotency key, its own or one that
/// the client generates. The client sends it again with the key, to the same store, within `requestTimeout`. If it is
/// unknown whether a write was executed, the error's code is `outcomeUnknown`. Errors are `NestError`; `code.retry`
/// specifies whether the request can be repeated.
public final class NestClient: Sendable {
    let core: ClientCore

    public var configuration: ClientConfiguration { self.core.configuration }

    /// Creates a client that is not connected yet. It runs on one event loop of the shared group.
    public init(_ configuration: ClientConfiguration = ClientConfiguration()) {
        self.core = ClientCore(
            configuration: configuration,
            eventLoop: MultiThreadedEventLoopGroup.singleton.next()
        )
    }

    deinit {
        let core = self.core
        core.enqueue { core in core.closeNow() }
    }

    /// Connects, and throws if that fails at all endpoints. After the first success, the client reconnects after a lost
    /// connection until
    /// `close`. Requests and subscriptions connect by themselves if this was not called.
    public func connect() async throws(NestError) {
        try await self.core.connect()
    }

    /// Ends subscriptions, fails waiting requests, and disconnects. The client cannot be used again.
    public func close() async {
        await self.core.close()
    }

    /// The description that the server sent on the current or last connection; `nil` before the first.
    public var server: ServerDescription? {
        get async { await self.core.server }
    }

    /// The address of the current or last connection: one of the endpoints, or that of the leader of their cluster.
    public var address: ServerAddress {
        get async { await self.core.address }
    }

    /// Connects, runs `body`, and closes the client, even if `body` throws.
    public static func withClient<Result>(
        _ configuration: ClientConfiguration,
        _ body: (NestClient) async throws -> Result
    ) async throws -> Result {
        let client = NestClient(configuration)
        do {
            try await client.connect()
            let result = try await body(client)
            await client.close()
            return result
        } catch {
            await client.close()
            throw error
        }
    }
}
