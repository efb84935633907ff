import NIOCore
import NIOPosix
import NestModel

/// A connection to a nest server that lasts: it is made again when it is lost, requests that may be sent again are, and
/// subscriptions go on from the state they hold.
///
///     let client = NestClient(ClientConfiguration(host: "localhost"))
///     try await client.connect()
///     let receipt = try await client.transaction(Transaction(mutations: [...]))
///     try await client.withFetchedResults(request) { results in
///         for try await change in results { show(change, results.state) }
///     }
///     await client.close()
///
/// Reads are sent again after a lost connection. Every write carries an idempotency key, its own or one the client
/// makes, and is sent again with it to the same store, within `requestTimeout`; when it is not known whether a write
/// was executed, the error's code is `outcomeUnknown`. Errors are `NestError`; `code.retry` says what may be done.
public final class NestClient: Sendable {
    let core: ClientCore

    public var configuration: ClientConfiguration { self.core.configuration }

    /// Makes a client; nothing is connected yet. It works on one event loop of the shared group.
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

    /// Connects, and throws when that fails. Once it has succeeded, lost connections are made again until `close`.
    /// Requests and subscriptions connect by themselves when this was not called.
    public func connect() async throws(NestError) {
        try await self.core.connect()
    }

    /// Ends subscriptions, fails what waits, and disconnects. The client cannot be used again.
    public func close() async {
        await self.core.close()
    }

    /// What the server said when the current or last connection was made; `nil` before the first.
    public var server: ServerDescription? {
        get async { await self.core.server }
    }

    /// Connects, runs `body`, and closes, also when `body` throws.
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
