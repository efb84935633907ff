import PeerWires
import NestProtocol

/// A server program that can be measured: how it is found and started, and how it does each kind of work.
///
/// A method returns `nil` for a kind of work that the server does not do.
protocol Peer {
    /// The name on the command line.
    static var id: String { get }

    /// The name with the version, for people.
    var name: String { get }

    /// Starts a server with an empty store, for this many connections.
    func start(_ site: ServerSite, connections: Int) throws -> ServerProcess

    func notifying() -> NotifyWork?
    func requesting(_ kind: RequestKind) -> RequestWork?
    func loading(items: Int, title: @escaping (Int) -> String) -> LoadWork?
}

extension Peer {
    func notifying() -> NotifyWork? { nil }
    func requesting(_ kind: RequestKind) -> RequestWork? { nil }
    func loading(items: Int, title: @escaping (Int) -> String) -> LoadWork? { nil }
}

/// Where a server runs: a directory of its own, which is empty at first, and a port.
struct ServerSite {
    let directory: String
    let port: Int
    let interrupt: Interrupt
}

/// Durable writes with N subscribers.
struct NotifyWork {
    /// Requests to send before clients subscribe, one at a time.
    var setup: [() -> any RequestWire] = []
    var subscriber: (_ index: Int) -> any PeerWire
    var writer: () -> any RequestWire
    /// The maximum number of writes in a round. It is low for a server in which each write makes the next one slower.
    var writesMax = 1_000_000
    var subscribersMax = 9_000
    /// The design's target for nest's ratio with 1,000 subscribers and 64 writes in flight: floor and goal.
    var wanted: String?
    var terms: Terms
}

/// The terms under which a server does its work. No two servers do the same.
struct Terms {
    /// The features of nest that the server lacks, in a few words.
    var less = ""
    /// When a write is acknowledged; empty if the work has no writes.
    var durability = ""
    /// How it does the work, and the limits of that.
    var note: String
}

enum RequestKind: String, CaseIterable {
    /// A small read.
    case get
    /// The smallest possible request.
    case ping
}

/// Requests and replies.
struct RequestWork {
    var setup: [() -> any RequestWire] = []
    var requester: () -> any RequestWire
    /// The maximum number of requests on a connection, if the server ends a connection that sends more.
    var requestsMax = 50_000_000
    /// The design's target for nest's ratio with pipelined pings: floor and goal.
    var wanted: String?
    var terms: Terms
}

/// Many items written, then read as one ordered list.
struct LoadWork {
    var setup: [() -> any RequestWire] = []
    /// Sends one request for each batch.
    var writer: any RequestWire
    var batches: Int
    var inFlight: Int
    /// Requests between writing and reading, which are not timed.
    var between: [() -> any RequestWire] = []
    /// Whether the reader receives its rows without a request, after connecting.
    var readsByOpening = false
    /// A wire that reports rows as deliveries.
    var reader: () -> any PeerWire
    var terms: Terms
}
