import NestModel

/// What a node of a cluster does for the other nodes.
struct PeerServices: Sendable {
    /// The secret that other nodes present to this one.
    let secret: TokenSecret
    let registry = PeerRegistry()
    let feed: RecordFeed

    init(secret: TokenSecret, ringBytes: Int) {
        self.secret = secret
        self.feed = RecordFeed(ringBytes: ringBytes)
    }
}
