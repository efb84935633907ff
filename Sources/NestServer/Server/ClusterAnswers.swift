import NestEngine
import NestModel

/// Answers what clients ask about the cluster. The replication of a node fills it in.
///
/// The functions are called on event loops: they must not block, and must call `reply` exactly once, on any thread.
package struct ClusterAnswers: Sendable {
    package typealias Reply<Value: Sendable> = @Sendable (Result<Value, NestError>) -> Void

    /// Returns the state of the cluster, and what the nodes found at the mark with this position, if it is not 0. The
    /// connection cuts what is too long.
    package var status: @Sendable (_ mark: Int64, _ reply: @escaping Reply<ClusterStatus>) -> Void
    /// Appends a mark to the log and returns its position. A follower fails with `notLeader`.
    package var verify: @Sendable (_ reply: @escaping Reply<Int64>) -> Void
    /// Lets the node of this name lead. Replies when it does. A follower fails with `notLeader`.
    package var moveLead: @Sendable (_ node: String, _ reply: @escaping Reply<Void>) -> Void
    /// Drains this node, or ends that. `by`: the connection that asks, which stays.
    package var drain: @Sendable (_ drains: Bool, _ by: ConnectionID, _ reply: @escaping Reply<Void>) -> Void

    package init(
        status: @escaping @Sendable (_ mark: Int64, _ reply: @escaping Reply<ClusterStatus>) -> Void,
        verify: @escaping @Sendable (_ reply: @escaping Reply<Int64>) -> Void,
        moveLead: @escaping @Sendable (_ node: String, _ reply: @escaping Reply<Void>) -> Void = { _, reply in
            reply(.failure(ClusterAnswers.noNode))
        },
        drain: @escaping @Sendable (_ drains: Bool, _ by: ConnectionID, _ reply: @escaping Reply<Void>) -> Void = {
            _,
            _,
            reply in
            reply(.failure(ClusterAnswers.noNode))
        }
    ) {
        self.status = status
        self.verify = verify
        self.moveLead = moveLead
        self.drain = drain
    }

    package static let noNode = NestError(.unsupported, "this server is not a node of a cluster")
}
