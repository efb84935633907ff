import NIOConcurrencyHelpers
import NIOCore
import NestModel
import NestProtocol
import NestStore

/// What a node knows of its place in the cluster. The driver writes it; connections, metrics and health read it.
final class ReplicaStatus: Sendable {
    struct State {
        /// `nil`: the node is joining, and serves nothing.
        var role: ReplicaRole?
        /// HOST:PORT of the node that leads; `nil`: none, or not known.
        var leader: String?
        var epoch: Int64 = 0
        /// The records up to this position have been removed from the log.
        var base: Int64 = 0
        var position: Int64 = 0
        /// The newest position of the log that the node has heard of.
        var head: Int64 = 0
        /// When the node last had all of the log, as far as it knows.
        var caughtUpAt = NIODeadline.now()
        /// The store's place in the log, as the engine has reported it; `nil`: it has not been opened yet.
        var place: LogPosition?
        /// Whether the log listed another node that was alive.
        var hasOthers = false
        /// A node whose noted position is before this one lags.
        var lagFloor: Int64 = 0
        /// Whether an operator has drained the node: it takes no clients, and does not lead.
        var isDrained = false
    }

    let store: String
    private let state = NIOLockedValueBox(State())

    init(store: String) {
        self.store = store
    }

    func withState<Result>(_ body: (inout State) -> Result) -> Result { self.state.withLockedValue(body) }

    /// The node's place in its cluster, for WELCOME.
    var welcome: Welcome.Replica {
        self.state.withLockedValue {
            Welcome.Replica(store: self.store, role: $0.role ?? .follower, leader: $0.leader)
        }
    }

    /// The store's place in the log: the link to the leader asks for the records behind it.
    var place: LogPosition? { self.state.withLockedValue { $0.place } }
    var isDrained: Bool { self.state.withLockedValue { $0.isDrained } }

    /// Notes the store's place. Called on the engine's thread.
    func advance(to place: LogPosition) {
        self.state.withLockedValue { state in
            state.place = place
            state.position = max(state.position, place.position)
            state.head = max(state.head, state.position)
        }
    }

    /// `lagSeconds`: for how long the node has been behind the log; `nil`: since it opened its store.
    func note(position: Int64, head: Int64, lagSeconds: Double?) {
        let now = NIODeadline.now()
        self.state.withLockedValue { state in
            state.position = max(state.position, position)
            state.head = max(state.head, state.position, head)
            if let lagSeconds { state.caughtUpAt = now - .nanoseconds(Int64(lagSeconds * 1_000_000_000)) }
        }
    }

    /// The time since the node last had all of the log. 0 between two readings of the log.
    func lagSeconds(at now: NIODeadline) -> Double {
        let since = self.state.withLockedValue { $0.caughtUpAt }
        let seconds = Double((now - since).nanoseconds) / 1_000_000_000
        return seconds < Self.readingSeconds ? 0 : seconds
    }

    private static let readingSeconds = 2.0
}
