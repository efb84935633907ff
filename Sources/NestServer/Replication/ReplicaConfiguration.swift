import NestModel
import NestStore

/// The log of a cluster as a node uses it: one side for the driver, and one for the engine.
package struct ReplicaLog: Sendable {
    package typealias OnResolved = @Sendable (LogPosition, AppendOutcome) -> Void

    package let log: any ClusterLog
    /// Makes the engine's side. The argument is called with the place and the outcome of an append that had no answer
    /// at first, on a thread of the log.
    package let sharedLog: @Sendable (_ onResolved: @escaping OnResolved) -> any SharedLog
    /// Takes the lead from any leader, and returns the new epoch: for a migration.
    package let seize: @Sendable () throws(LogFailure) -> Int64

    package init(
        log: any ClusterLog,
        sharedLog: @escaping @Sendable (_ onResolved: @escaping OnResolved) -> any SharedLog,
        seize: @escaping @Sendable () throws(LogFailure) -> Int64
    ) {
        self.log = log
        self.sharedLog = sharedLog
        self.seize = seize
    }
}

/// The settings of a server that is a node of a cluster.
package struct ReplicaConfiguration: Sendable {
    /// Connects to the log and registers this node. Blocks.
    package var connect: @Sendable () throws(LogFailure) -> ReplicaLog
    /// The name of the store in the log.
    package var storeName: String
    /// The model that the operator specified, which the cluster's must equal; `nil`: any.
    package var model: ManagedObjectModel?
    /// Called with the reason whenever the node begins to wait for the log or to join, and with `nil` when it is ready.
    package var onWaiting: @Sendable (String?) -> Void
    /// How this node talks to others; `nil`: without encryption.
    package var tls: PeerTLS?
    /// Whether this node may prove itself to another machine without encryption.
    package var sendsSecretInClear = false

    package init(
        storeName: String,
        model: ManagedObjectModel? = nil,
        onWaiting: @escaping @Sendable (String?) -> Void = { _ in },
        connect: @escaping @Sendable () throws(LogFailure) -> ReplicaLog
    ) {
        self.connect = connect
        self.storeName = storeName
        self.model = model
        self.onWaiting = onWaiting
    }
}
