import NestModel

/// The leader that this node follows, as the log lists it.
struct FollowedLeader: Sendable, Equatable {
    var node: Identifier128
    var name: String
    /// HOST:PORT.
    var address: String
    /// The epoch in which it leads.
    var epoch: Int64
    /// Proves that this node is one of the cluster.
    var secret: TokenSecret
}
