import NestModel
import NestStore

/// What a connection of another node has, besides what every connection has.
struct PeerState {
    /// The other node.
    let node: Identifier128
    var ports = PeerPorts()
    /// Set while the other node follows this one.
    var stream: RecordStream?

    init(node: Identifier128) {
        self.node = node
    }
}

/// The records that a follower gets under the id of its FOLLOW.
struct RecordStream {
    let id: UInt32
    /// The last record that was sent, or the follower's own position at first.
    var position: LogPosition
    /// Whether other connections of the event loop have their turn.
    var isPaused = false
}
