/// What a node of a cluster does.
public enum ReplicaRole: UInt8, Sendable, CaseIterable, CustomStringConvertible {
    /// It takes writes.
    case leader = 1
    /// It applies what the leader wrote, and serves reads.
    case follower = 2

    public var description: String {
        switch self {
        case .leader: "leader"
        case .follower: "follower"
        }
    }
}
