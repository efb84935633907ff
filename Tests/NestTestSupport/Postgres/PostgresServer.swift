import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A PostgreSQL server of a test, in a directory of its own, on a port of the loopback interface.
///
/// It syncs its files as in production, and accepts every local user without a password. It ends with this object,
/// whatever the test does.
public actor PostgresServer {
    /// Whether PostgreSQL is installed; otherwise tests that need it are skipped:
    /// `@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing"))`
    public static let isInstalled = PostgresPrograms.isUsable

    /// How a server stops.
    public enum Stop: Sendable {
        /// Ends all sessions and writes a checkpoint.
        case fast
        /// Without a checkpoint, as after a crash; the next start recovers.
        case immediate
    }

    public nonisolated let name: String
    public nonisolated let port: Int
    public nonisolated let directory: TemporaryDirectory
    private nonisolated let data: String
    private let isInMemory: Bool
    /// Options of the command line, `name=value`.
    private let options: [String]
    private var process: ChildProcess?
    /// Ends the server if the tests end without ending it.
    private var watcher: ChildProcess?
    /// Processes that `freeze` has stopped.
    private var frozen: [pid_t] = []

    /// The address for libpq.
    public nonisolated var url: String { self.url() }

    public nonisolated func url(
        user: String = "postgres",
        host: String = "127.0.0.1",
        database: String = "postgres",
        query: String = ""
    ) -> String {
        "postgres://\(user)@\(host):\(self.port)/\(database)\(query.isEmpty ? "" : "?\(query)")"
    }

    private init(name: String, isInMemory: Bool, options: [String]) throws {
        self.name = name
        self.isInMemory = isInMemory
        self.port = try FreePorts.first(of: 1, in: FreePorts.databases)
        self.directory = TemporaryDirectory(inMemory: isInMemory && PostgresPrograms.hasMemory)
        self.data = "\(self.directory.path)/data"
        self.options = options
        try PostgresPrograms.give(self.directory.path)
    }

    /// Starts a new server. `isInMemory`: its files are on a RAM disk, where syncs are cheap, if there is a large one;
    /// killing processes loses nothing there either. `options`: settings such as `max_connections=20`.
    public static func started(isInMemory: Bool = false, _ options: String...) async throws -> PostgresServer {
        let server = try PostgresServer(name: "primary", isInMemory: isInMemory, options: options)
        try await PostgresPrograms.run(
            "initdb",
            [
                "-D", server.data, "--auth=trust", "--encoding=UTF8", "--no-locale", "--username=postgres", "--no-sync",
                "--wal-segsize=4", "--no-instructions",
            ]
        )
        let file = "\(server.data)/postgresql.conf"
        let settings = try String(contentsOfFile: file, encoding: .utf8) + Self.settings
        try Data(settings.utf8).write(to: URL(filePath: file))
        try await server.start()
        return server
    }

    private static let settings = """

        listen_addresses = '127.0.0.1'
        max_connections = 60
        shared_buffers = 16MB
        dynamic_shared_memory_type = mmap
        max_wal_size = 256MB
        min_wal_size = 32MB
        max_wal_senders = 6
        wal_keep_size = 64MB
        wal_retrieve_retry_interval = 100ms
        autovacuum = off
        log_line_prefix = '%p '
        """

    /// Starts a standby with all data of this server. With `isSynchronous`, commits of this server wait for it from
    /// then on.
    public func standby(_ name: String = "standby", isSynchronous: Bool) async throws -> PostgresServer {
        let standby = try PostgresServer(name: name, isInMemory: self.isInMemory, options: self.options)
        let source = "host=127.0.0.1 port=\(self.port) user=postgres application_name=\(name)"
        try await PostgresPrograms.run(
            "pg_basebackup",
            ["-d", source, "-D", standby.data, "-R", "-X", "stream", "--checkpoint=fast", "--no-sync"]
        )
        try await standby.start()
        try await waitUntil("the standby \(name) streams") {
            try await self.sql("SELECT count(*) FROM pg_stat_replication WHERE application_name = '\(name)'") == "1"
        }
        if isSynchronous {
            try await self.set("synchronous_standby_names", "'\(name)'")
            try await waitUntil("the standby \(name) is synchronous") {
                try await self.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1"
            }
        }
        return standby
    }

    deinit {
        guard let process = self.process else { return }
        for pid in self.frozen { kill(pid, SIGCONT) }
        // The server removes its shared memory. The end of `process` kills it if it does not end by itself.
        kill(process.pid, SIGQUIT)
        for _ in 0..<600 where !Self.hasEnded(process.pid) { usleep(5_000) }
    }

    private static func hasEnded(_ pid: pid_t) -> Bool {
        guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat") else { return true }
        let fields = String(decoding: data, as: UTF8.self).split(separator: ")").last ?? ""
        return fields.hasPrefix(" Z")
    }

    // MARK: Running

    /// Starts the server again, on the same port with the same data.
    public func start() async throws {
        precondition(self.process == nil, "the server runs already")
        let settings = self.options + ["port=\(self.port)", "unix_socket_directories=\(self.directory.path)"]
        let arguments = ["-D", self.data] + settings.flatMap { ["-c", $0] }
        // After a kill, the sessions of the last server may need a moment to leave its shared memory.
        self.process = try await waitFor("the start of the server \(self.name)", every: .milliseconds(50)) {
            let process = try PostgresPrograms.start("postgres", arguments)
            do {
                try await process.waitForErrors("ready to accept")
                self.watcher = try PostgresPrograms.watch(process.pid, self.directory.path)
                return process
            } catch  where process.errors.contains("still in use") {
                return nil
            }
        }
    }

    public func stop(_ mode: Stop) async throws {
        try await self.end(with: mode == .fast ? SIGINT : SIGQUIT)
    }

    /// Kills the server and all its sessions at once with SIGKILL.
    public func killNow() async throws {
        try await self.end(with: SIGKILL)
    }

    private func end(with signal: Int32) async throws {
        guard let process = self.process else { return }
        let sessions = signal == SIGKILL ? PostgresPrograms.children(of: process.pid) : []
        await process.send(signal: signal)
        for pid in sessions { kill(pid, signal) }
        self.thaw()
        try await process.waitForEnd()
        self.process = nil
        self.watcher = nil
    }

    /// Stops all processes of the server with SIGSTOP: its connections stay open and nothing answers.
    public func freeze() {
        guard let process = self.process else { return }
        // The first starts no more sessions, then the others stop.
        kill(process.pid, SIGSTOP)
        self.frozen = PostgresPrograms.children(of: process.pid)
        for pid in self.frozen { kill(pid, SIGSTOP) }
        self.frozen.append(process.pid)
    }

    /// Stops the processes that send changes to standbys: what is committed from then on is lost with this server.
    /// Freezing a standby does not do that: it finds what was sent to it when it goes on.
    public func freezeReplication() async throws {
        let senders = try await self.sql("SELECT pid FROM pg_stat_replication").split(separator: "\n")
        for pid in senders.compactMap({ pid_t($0) }) {
            kill(pid, SIGSTOP)
            self.frozen.append(pid)
        }
    }

    /// Ends `freeze` and `freezeReplication`.
    public func thaw() {
        for pid in self.frozen { kill(pid, SIGCONT) }
        self.frozen = []
    }

    /// Makes a standby a primary, and returns when it accepts writes.
    public func promote() async throws {
        _ = try await self.sql("SELECT pg_promote(true, 60)")
        try await waitUntil("the promotion of \(self.name)") {
            try await self.sql("SELECT pg_is_in_recovery()") == "f"
        }
        try await self.set("synchronous_standby_names", "''")
    }

    /// The server's log, for failure messages.
    public var log: String { self.process?.errors ?? "" }

    // MARK: SQL

    /// Runs statements with psql and returns the rows as text: `|` between columns, a line for each row.
    @discardableResult
    public nonisolated func sql(
        _ statements: String,
        user: String = "postgres",
        database: String = "postgres"
    ) async throws -> String {
        let output = try await PostgresPrograms.run(
            "psql",
            ["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.url(user: user, database: database), "-c", statements]
        )
        return output.hasSuffix("\n") ? String(output.dropLast()) : output
    }

    /// Changes a setting of the running server. The value is SQL, such as `'on'`.
    public nonisolated func set(_ setting: String, _ value: String) async throws {
        try await self.sql("ALTER SYSTEM SET \(setting) = \(value)")
        try await self.sql("SELECT pg_reload_conf()")
    }
}
