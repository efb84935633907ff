import Foundation
import Glibc
import PeerWires

/// PostgreSQL with its default settings: fsync and synchronous_commit are on.
///
/// Its cluster is created once and copied for each server. PostgreSQL refuses to run as root; if root runs this
/// program, the server runs as `postgres`.
struct PostgresPeer: Peer {
    static let id = "postgresql"
    let name: String
    private let binaries: String
    private let template: String

    /// `directory`: the directory for the cluster.
    init?(directory: String) throws {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? [])
            .sorted { (Double($0) ?? 0) > (Double($1) ?? 0) }
        guard let program = Program.find("postgres", in: versions.map { "\(root)/\($0)/bin" }) else { return nil }
        self.binaries = URL(fileURLWithPath: program).deletingLastPathComponent().path
        self.name = "PostgreSQL \(Program.version(program, ["--version"]))"
        self.template = "\(directory)/cluster"
        try Self.makeDirectory(self.template)
        try ServerProcess.run(
            [
                "\(self.binaries)/initdb", "-D", self.template, "-A", "trust", "-U", "postgres", "-E", "UTF8",
                "--no-sync",
            ],
            log: "\(directory)/initdb.log",
            user: "postgres"
        )
    }

    private static func makeDirectory(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        chmod(path, 0o700)
        if getuid() == 0, let user = getpwnam("postgres") { chown(path, user.pointee.pw_uid, user.pointee.pw_gid) }
    }

    func start(_ site: ServerSite, connections: Int) throws -> ServerProcess {
        let data = "\(site.directory)/data"
        try ServerProcess.run(["cp", "-a", self.template, data], log: "\(site.directory)/cp.log")
        let server = try ServerProcess(
            [
                "\(self.binaries)/postgres", "-D", data, "-p", "\(site.port)", "-c", "listen_addresses=127.0.0.1",
                "-c", "unix_socket_directories=", "-c", "max_connections=\(connections + 20)", "-c",
                "log_min_messages=fatal",
            ],
            log: "\(site.directory)/log",
            user: "postgres",
            // Fast shutdown: it does not wait for clients to disconnect.
            stopSignal: SIGINT
        )
        // It listens before it accepts queries.
        try server.waitUntilListening(port: site.port, site.interrupt)
        while !self.isReady(site) { try site.interrupt.pause(milliseconds: 50) }
        return server
    }

    private func isReady(_ site: ServerSite) -> Bool {
        let command = ["\(self.binaries)/pg_isready", "-q", "-h", "127.0.0.1", "-p", "\(site.port)"]
        return (try? ServerProcess.run(command, log: "\(site.directory)/ready.log")) != nil
    }

    private static let query = "SELECT id, title FROM item WHERE parent = 1 ORDER BY ord"

    private static func makeTable(rows: Int) -> any RequestWire {
        PostgresRequester.asking(
            """
            CREATE TABLE item (id bigserial PRIMARY KEY, parent bigint DEFAULT 1, ord bigserial, title text);
            CREATE INDEX ON item (parent, ord);
            INSERT INTO item (title) SELECT $t$\(Load.title)$t$ FROM generate_series(1, \(rows));
            """
        )
    }

    func notifying() -> NotifyWork? {
        NotifyWork(
            setup: [{ Self.makeTable(rows: Load.rowsAtFirst) }],
            subscriber: { _ in PostgresSubscriber(channel: "list", query: Self.query) },
            writer: {
                PostgresRequester.running(
                    """
                    WITH new AS (INSERT INTO item (title) VALUES ($t$\(Load.title)$t$) RETURNING id)
                    SELECT pg_notify('list', '') FROM new
                    """
                )
            },
            // Each write makes the list longer, which all subscribers read.
            writesMax: 1_000,
            subscribersMax: 1_000,
            wanted: "60, 100",
            terms: Terms(
                less: "rereads the list, no undo",
                durability: "fsync before the reply and before subscribers are notified",
                note: "LISTEN, and each subscriber rereads the list (100 rows and those written); states that it skips "
                    + "count as delivered"
            )
        )
    }

    func loading(items: Int, title: @escaping (Int) -> String) -> LoadWork? {
        LoadWork(
            setup: [{ Self.makeTable(rows: 0) }],
            writer: PostgresRequester.copying(
                "COPY item (title) FROM STDIN",
                lines: (0..<items).reduce(into: []) { $0 += Array("\(title($1))\n".utf8) }
            ),
            batches: 1,
            inFlight: 1,
            between: [{ PostgresRequester.asking("ANALYZE item") }],
            reader: { PostgresRequester.running(Self.query) },
            terms: Terms(
                less: "no undo, nothing live",
                durability: "one transaction, durable at its end",
                note: "COPY into a table with two indexes, then SELECT in order"
            )
        )
    }
}
