import PeerWires
import NestProtocol

/// A server program that can be measured: how it is found and started, and how it does each kind of work.
///
/// A kind of work that it does not do is `nil`.
protocol Peer {
    /// As on the command line.
    static var id: String { get }

    /// With its version, for people.
    var name: String { get }

    /// A server with an empty store, for so many connections.
    func start(_ place: ServerPlace, connections: Int) throws -> ServerProcess

    func notifying() -> NotifyWork?
    func requesting(_ kind: RequestKind) -> RequestWork?
    func loading(items: Int, title: @escaping (Int) -> String) -> LoadWork?
}

extension Peer {
    func notifying() -> NotifyWork? { nil }
    func requesting(_ kind: RequestKind) -> RequestWork? { nil }
    func loading(items: Int, title: @escaping (Int) -> String) -> LoadWork? { nil }
}

/// Where a server runs: a directory that is its own and empty, and a port.
struct ServerPlace {
    let directory: String
    let port: Int
    let interrupt: Interrupt
}

/// Durable writes of which N subscribers are told.
struct NotifyWork {
    /// Requests before anybody subscribes, one after the other.
    var setup: [() -> any RequestWire] = []
    var subscriber: (_ index: Int) -> any PeerWire
    var writer: () -> any RequestWire
    /// Writes in all of a round: less than fit into its time, where each makes the next slower.
    var writesMax = 1_000_000
    var subscribersMax = 9_000
    /// The ratio that nest's design asks for with 1,000 subscribers and 64 in flight: floor and goal.
    var wanted: String?
    var terms: Terms
}

/// Under which terms a server does its work: no two do the same.
struct Terms {
    /// What it does less than nest, in a few words.
    var less = ""
    /// When a write is acknowledged; empty where nothing is written.
    var durability = ""
    /// How it does the work, and what that is not.
    var note: String
}

enum RequestKind: String, CaseIterable {
    /// Reads something small.
    case get
    /// The least that can be asked.
    case ping
}

/// Requests and answers.
struct RequestWork {
    var setup: [() -> any RequestWire] = []
    var requester: () -> any RequestWire
    /// Of a connection, when the server ends those that ask for more.
    var requestsMax = 50_000_000
    /// The ratio that nest's design asks for of pings, pipelined: floor and goal.
    var wanted: String?
    var terms: Terms
}

/// Many items written, then read as one ordered list.
struct LoadWork {
    var setup: [() -> any RequestWire] = []
    /// Takes as many requests as there are batches.
    var writer: any RequestWire
    var batches: Int
    var inFlight: Int
    /// What comes between writing and reading and is in neither time.
    var between: [() -> any RequestWire] = []
    /// Whether the reader's rows come without a request, when its connection is there.
    var readsByOpening = false
    /// Its rows are told as deliveries.
    var reader: () -> any PeerWire
    var terms: Terms
}
