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

    func start(_ place: ServerPlace, connections: Int) throws -> ServerProcess {
        try ServerProcess(
            [
                self.program, "--port", "\(place.port)", "--store", "\(place.directory)/nest.sqlite", "--log-level",
                "error",
            ],
            log: "\(place.directory)/log"
        )
    }

    func notifying() -> NotifyWork? {
        NotifyWork(
            setup: [{ NestRequester.inserting((0..<Load.rowsAtFirst).map { _ in Load.title }) }],
            subscriber: { _ in NestSubscriber() },
            writer: { NestRequester.inserting([Load.title]) },
            terms: Terms(
                durability: "fsync before the answer and before anybody is told",
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
            // More in a row are a flood, which it ends.
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
                note: "IMPORT_SUBTREE, then SUBSCRIBE; can be undone, and the reader is told of every change after it"
            )
        )
    }
}

/// What all write.
enum Load {
    static let title = "an ordinary item's title"
    /// Items of the list when its subscribers come, where they are sent it.
    static let rowsAtFirst = 100
}
