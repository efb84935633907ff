import PeerWires
import NestProtocol

/// Redis with an append-only file that is synced at every write.
struct RedisPeer: Peer {
    static let id = "redis"
    let name: String
    private let program: String

    init?() {
        guard let program = Program.find("redis-server") else { return nil }
        self.program = program
        self.name = "Redis \(Program.version(program, ["--version"]))"
    }

    func start(_ site: ServerSite, connections: Int) throws -> ServerProcess {
        try ServerProcess(
            [
                self.program, "--bind", "127.0.0.1", "--port", "\(site.port)", "--dir", site.directory, "--save", "",
                "--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0",
                "--maxclients", "\(connections + 100)", "--daemonize", "no", "--loglevel", "warning",
            ],
            log: "\(site.directory)/log"
        )
    }

    func notifying() -> NotifyWork? {
        NotifyWork(
            subscriber: { _ in RedisSubscriber(channel: "list") },
            writer: { RedisRequester([["RPUSH", "list", Load.title], ["PUBLISH", "list", Load.title]]) },
            wanted: "0.8, 1.3",
            terms: Terms(
                less: "no first state, no replay, no undo",
                durability: "AOF always: fsync before the reply and before subscribers are notified",
                note: "RPUSH and PUBLISH pipelined, no transaction; a lost connection loses messages"
            )
        )
    }

    func requesting(_ kind: RequestKind) -> RequestWork? {
        switch kind {
        case .get:
            RequestWork(
                setup: [{ RedisRequester([["SET", "item", Load.title]]) }],
                requester: { RedisRequester([["GET", "item"]]) },
                terms: Terms(less: "one text, no relationships", note: "GET")
            )
        case .ping: RequestWork(requester: { RedisRequester([["PING"]]) }, terms: Terms(note: "PING"))
        }
    }

    func loading(items: Int, title: @escaping (Int) -> String) -> LoadWork? {
        let each = 100
        let batches = (items + each - 1) / each
        return LoadWork(
            writer: BatchRequester(batches) { batch in
                let titles = (batch * each..<min((batch + 1) * each, items)).map(title)
                return RedisRequester([["RPUSH", "list"] + titles])
            },
            batches: batches,
            inFlight: 64,
            reader: { RedisRequester([["LRANGE", "list", "0", "-1"]]) },
            terms: Terms(
                less: "no ids, no transaction, no undo",
                durability: "AOF always",
                note: "RPUSH of 100, 64 in flight, then LRANGE; all data is in memory"
            )
        )
    }
}
