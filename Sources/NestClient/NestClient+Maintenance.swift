import NestModel
import NestProtocol

/// Requests of an operator.
extension NestClient {
    /// Fetches a copy of the whole store while `body` runs. The server continues to commit.
    ///
    /// The server needs free space for two copies on the disk of its store. Otherwise this throws `diskFull`.
    public func backup<Result>(_ body: (Backup) async throws -> Result) async throws -> Result {
        try await self.connect()
        let core = self.core
        let token = await core.newToken()
        let stream = TransferStream(credit: await core.initialCredit)
        await core.begin(OutgoingRequest(owner: .caller(token), kind: .download, BackupRequest()), token, stream)
        // Cancels the backup if `body` ends early. Has no effect after the end.
        defer { core.enqueue { $0.leave(token) } }
        let start = try await stream.backupStart()
        return try await body(Backup(start, stream: stream, token: token, core: core))
    }

    /// Gives the running server another model, for administrators. The server makes changes that only add, or change
    /// what may be stored; clients, their subscriptions and undo stacks go on. If it cannot make one of the changes, it
    /// makes none and throws `conflict`, whose text lists them; in a cluster it throws `unsupported`.
    /// `dryRun`: return what would change, and change nothing.
    public func apply(_ model: ManagedObjectModel, dryRun: Bool = false) async throws(NestError) -> AppliedModel {
        try await self.ask(ApplyModel(model, isDryRun: dryRun)).applied
    }

    /// Returns the state of the server's cluster; `nil` if the server is not a node of one.
    ///
    /// - Parameter mark: The position of a mark of `verifyCluster()`: the state contains what the nodes found there.
    public func cluster(verifiedAt mark: Int64 = 0) async throws(NestError) -> ClusterStatus? {
        try await self.ask(GetCluster(mark: mark)).status
    }

    /// Lets every node of the cluster compute the digest of its store at the same position. Returns the position of the
    /// mark, with which `cluster(verifiedAt:)` returns the results as they arrive.
    public func verifyCluster() async throws(NestError) -> Int64 {
        try await self.ask(VerifyCluster()).position
    }

    /// Lets another node of the cluster lead. Returns when that node leads, and throws `timedOut` if it does not in
    /// time; it may still take the lead then, as `cluster()` shows.
    ///
    /// - Parameter node: The node's name.
    public func moveLeader(to node: String) async throws(NestError) {
        _ = try await self.ask(MoveLeader(node: node))
    }

    /// Lets the node that this client is connected to send its clients to other nodes, and not lead; or ends that. Use
    /// a client with the node's own address.
    public func drain(_ drains: Bool = true) async throws(NestError) {
        // Another node must not get the request.
        _ = try await self.ask(DrainNode(drains: drains), kind: .connection)
    }

    /// Makes the server check its whole store. The server continues to commit. The check takes as long as reading the
    /// store.
    ///
    /// - Parameter progress: Called when a step begins.
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
