import NestModel

/// What one client asked and saw, over all its connections and at all nodes, in the order of the client.
public struct ClientRecord: Sendable {
    public enum Event: Hashable, Sendable {
        /// The client sent a question: a fetch or a new subscription.
        case asked(Int)
        /// The question is answered at this revision.
        case answered(Int, Revision)
        /// The question failed.
        case gaveUp(Int)
        /// A receipt, a diff or a progress showed this revision.
        case saw(Revision)
        /// The node serves this history of the store. `reason`: why it is another one than before.
        case history(Identifier128, reason: String?)
    }

    public var name: String
    public var events: [Event] = []
    /// Whether the client continues in the next piece.
    public var isComplete = false

    public init(name: String) {
        self.name = name
    }
}
