import NestModel
import NestProtocol

/// What an operator asks of a server.
extension NestClient {
    /// Fetches a copy of the whole store, for as long as `body` runs. The server goes on committing.
    ///
    /// Needs room for two copies beside the server's store (`diskFull` without).
    public func backup<Result>(_ body: (Backup) async throws -> Result) async throws -> Result {
        try await self.connect()
        let core = self.core
        let token = await core.newToken()
        let stream = TransferStream(credit: await core.initialCredit)
        await core.begin(OutgoingRequest(owner: .caller(token), kind: .download, BackupRequest()), token, stream)
        // Leaving early cancels; after the end there is nothing left to cancel.
        defer { core.enqueue { $0.leave(token) } }
        let start = try await stream.backupStart()
        return try await body(Backup(start, stream: stream, token: token, core: core))
    }

    /// Has the server check its whole store, while it goes on committing. Takes as long as reading all of it.
    ///
    /// - Parameter progress: called when a step begins.
    public func check(_ progress: (CheckStep) throws -> Void = { _ in }) async throws -> CheckReport {
        try await self.connect()
        let core = self.core
        let token = await core.newToken()
        let stream = TransferStream(credit: 0)
        await core.begin(OutgoingRequest(owner: .caller(token), kind: .download, CheckRequest()), token, stream)
        defer { core.enqueue { $0.leave(token) } }
        while true {
            switch try await stream.nextOfCheck() {
            case .step(let step): try progress(step)
            case .report(let report): return report
            }
        }
    }
}
