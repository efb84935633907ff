import PeerWires
import NestProtocol

/// nestd, with its default settings.
struct NestPeer: Peer {
    static let id = "nest"
    let name = "nest"
    private let program: String

    init?() {
        self.program = Program.beside("nestd")
        guard Program.find("nestd", in: [Program.beside("")]) == self.program else { return nil }
    }

    func start(_ site: ServerSite, connections: Int) throws -> ServerProcess {
        try ServerProcess(
            [
                self.program, "--port", "\(site.port)", "--store", "\(site.directory)/nest.sqlite", "--log-level",
                "error",
            ],
            log: "\(site.directory)/log"
        )
    }

    func notifying() -> NotifyWork? {
        NotifyWork(
            setup: [{ NestRequester.inserting((0..<Load.rowsAtFirst).map { _ in Load.title }) }],
            subscriber: { _ in NestSubscriber() },
            writer: { NestRequester.inserting([Load.title]) },
            terms: Terms(
                durability: "fsync before the reply and before subscribers are notified",
                note: "each subscriber has the list in its order, at a revision; every write can be undone"
            )
        )
    }

    func requesting(_ kind: RequestKind) -> RequestWork? {
        switch kind {
        case .get:
            RequestWork(
                setup: [{ NestRequester.inserting([Load.title]) }],
                requester: { NestRequester.getting(object: 2) },
                terms: Terms(note: "GET_OBJECT: all values and relationships of an object")
            )
        case .ping:
            // nestd ends a connection that sends more of them in a row.
            RequestWork(requester: { NestRequester.pinging() }, requestsMax: 15_000, terms: Terms(note: "PING"))
        }
    }

    func loading(items: Int, title: @escaping (Int) -> String) -> LoadWork? {
        LoadWork(
            writer: NestImporter(items: items, title: title),
            batches: 1,
            inFlight: 1,
            reader: { NestRequester.reading() },
            terms: Terms(
                durability: "one transaction, durable at its end",
                note: "IMPORT_SUBTREE, then SUBSCRIBE; can be undone, and the reader receives every later change"
            )
        )
    }
}

/// The data that all peers write.
enum Load {
    static let title = "an ordinary item's title"
    /// The number of items in the list when subscribers connect, for servers that send the list to them.
    static let rowsAtFirst = 100
}
