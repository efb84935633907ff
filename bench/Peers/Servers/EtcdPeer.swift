import PeerWires

/// etcd with one member.
struct EtcdPeer: Peer {
    static let id = "etcd"
    let name: String
    private let program: String
    /// The maximum number of puts in a transaction, by default in etcd.
    private static let transactionPuts = 128

    init?() {
        guard let program = Program.find("etcd") else { return nil }
        self.program = program
        self.name = "etcd \(Program.version(program, ["--version"]))"
    }

    func start(_ site: ServerSite, connections: Int) throws -> ServerProcess {
        let client = "http://127.0.0.1:\(site.port)"
        let member = "http://127.0.0.1:\(try LoopbackPort.free())"
        return try ServerProcess(
            [
                self.program, "--data-dir", "\(site.directory)/data", "--listen-client-urls", client,
                "--advertise-client-urls", client, "--listen-peer-urls", member, "--initial-advertise-peer-urls",
                member, "--initial-cluster", "default=\(member)", "--quota-backend-bytes", "8589934592",
                "--log-level", "error",
                // A request may take twice the election timeout plus five seconds. The default, seven seconds in total,
                // ends requests that thousands of watchers delay.
                "--heartbeat-interval", "1000", "--election-timeout", "10000",
            ],
            log: "\(site.directory)/log"
        )
    }

    func notifying() -> NotifyWork? {
        NotifyWork(
            setup: [{ Self.put }],
            subscriber: { _ in EtcdWatcher() },
            writer: { GRPCRequester(path: EtcdMessage.putPath) { EtcdMessage.put($0 + 1, Load.title) } },
            terms: Terms(
                less: "order by key, no undo",
                durability: "its log is synced before the reply",
                note: "gRPC watch, a new key each; the first state would be a separate read"
            )
        )
    }

    /// A put. If it is answered, the member has become the leader.
    private static var put: any RequestWire {
        GRPCRequester(path: EtcdMessage.putPath) { _ in EtcdMessage.put(0, Load.title) }
    }

    func loading(items: Int, title: @escaping (Int) -> String) -> LoadWork? {
        let each = Self.transactionPuts
        let batches = (items + each - 1) / each
        let transactions = (0..<batches).map { batch in
            EtcdMessage.transaction(
                (batch * each..<min((batch + 1) * each, items)).map { EtcdMessage.put($0, title($0)) }
            )
        }
        return LoadWork(
            setup: [{ Self.put }],
            writer: GRPCRequester(path: EtcdMessage.transactionPath) { transactions[$0] },
            batches: batches,
            inFlight: 4,
            reader: { EtcdReader() },
            terms: Terms(
                less: "order by key, no transaction, no undo",
                durability: "its log is synced before each reply",
                note: "128 puts a transaction (its default limit), 4 in flight, then all in one Range"
            )
        )
    }
}
