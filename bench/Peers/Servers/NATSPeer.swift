import Foundation
import PeerWires

/// NATS with JetStream, and a stream in files.
struct NATSPeer: Peer {
    static let id = "nats"
    let name: String
    private let program: String
    /// Whether subscribers consume the stream. Otherwise they subscribe to its subject directly.
    private let hasConsumers: Bool
    /// Whether this version can sync a stream at every message (2.10 and later).
    private let canSync: Bool

    init?(hasConsumers: Bool) {
        guard let program = Program.find("nats-server") else { return nil }
        let version = Program.version(program, ["--version"])
        let numbers = version.split(separator: ".").compactMap { Int($0) }
        self.program = program
        self.hasConsumers = hasConsumers
        self.canSync = !numbers.lexicographicallyPrecedes([2, 10])
        self.name = hasConsumers ? "NATS \(version)" : "NATS \(version), core"
    }

    func start(_ site: ServerSite, connections: Int) throws -> ServerProcess {
        let file = "\(site.directory)/nats.conf"
        try """
        listen: "127.0.0.1:\(site.port)"
        max_connections: \(connections + 100)
        jetstream { store_dir: "\(site.directory)"\(self.canSync ? ", sync_interval: always" : "") }

        """.write(toFile: file, atomically: false, encoding: .utf8)
        return try ServerProcess([self.program, "-c", file], log: "\(site.directory)/log")
    }

    private var durability: String {
        self.canSync
            ? "sync_interval always: fsync before the reply"
            : "less durable: written to a file, not synced before the reply (this version cannot)"
    }

    private func less(_ words: String) -> String {
        self.canSync ? words : "not synced, \(words)"
    }

    private static let makeStream = (
        subject: "$JS.API.STREAM.CREATE.list", json: #"{"name":"list","subjects":["list"],"storage":"file"}"#
    )

    private static func consumer(_ index: Int) -> NATSWire {
        let json = """
            {"stream_name":"list","config":{"deliver_subject":"d.\(index)","deliver_policy":"all","ack_policy":"none"}}
            """
        return NATSWire(number: index, follows: "d.\(index)", setup: ("$JS.API.CONSUMER.CREATE.list", json))
    }

    func notifying() -> NotifyWork? {
        NotifyWork(
            setup: [{ NATSWire(number: 0, setup: Self.makeStream) }],
            subscriber: { index in
                // The number of an inbox: 0 is for the setup, 1 for the writer.
                self.hasConsumers ? Self.consumer(index + 2) : NATSWire(number: index + 2, follows: "list")
            },
            writer: { NATSWire(number: 1, publishes: ("list", Load.title)) },
            terms: self.hasConsumers
                ? Terms(
                    less: self.less("no undo"),
                    durability: self.durability,
                    note: "JetStream, a push consumer each; order of arrival only"
                )
                : Terms(
                    less: self.less("no first state, no replay, no undo"),
                    durability: self.durability,
                    note: "plain subscribers of a stream's subject, notified before it is stored; order of arrival only"
                )
        )
    }

    func loading(items: Int, title: @escaping (Int) -> String) -> LoadWork? {
        guard self.hasConsumers else { return nil }
        return LoadWork(
            setup: [{ NATSWire(number: 0, setup: Self.makeStream) }],
            writer: BatchRequester(items) { NATSWire(number: 1, publishes: ("list", title($0))) },
            batches: items,
            inFlight: 512,
            readsByOpening: true,
            reader: { Self.consumer(2) },
            terms: Terms(
                less: self.less("no transaction, no undo"),
                durability: self.durability,
                note: "a message each, 512 in flight, then a push consumer; order of arrival only"
            )
        )
    }
}
