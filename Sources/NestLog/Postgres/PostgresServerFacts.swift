import NestStore

/// What a server says about itself to a new session.
struct PostgresServerFacts: Sendable {
    /// Such as "15.18".
    private(set) var version = ""
    /// HOST:PORT.
    private(set) var place = ""
    private(set) var timeline: UInt32 = 0
    private(set) var isInRecovery = false
    /// Of the session.
    private(set) var processID: Int32 = 0
    private var syncs = true
    private var writesFullPages = true

    static let versionMin = 14_00_00

    /// What a commit of a session waits for.
    enum Commit: String, Sendable {
        /// The disk, and the synchronous standby if there is one.
        case everywhere = "on"
        /// The disk of the server. For what no promise depends on: it goes on while the standby is away.
        case here = "local"
    }

    /// The settings of a session, and the question that makes a value of this type, as text.
    ///
    /// No time-out of the server ends a statement: a cancelled wait for the standby would look like a success. The
    /// server notices a dead client by itself.
    static func script(_ commit: Commit) -> String {
        """
        SET synchronous_commit = \(commit.rawValue); SET statement_timeout = 0; SET lock_timeout = 0;
        SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0;
        SET client_connection_check_interval = 0;
        SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;
        SET tcp_user_timeout = 6000;
        SET default_transaction_isolation = 'read committed'; SET search_path = pg_catalog;
        SET plan_cache_mode = force_generic_plan; SET jit = off;
        SELECT current_setting('server_version'), \(Self.timelineExpression)::text,
            pg_is_in_recovery()::text, current_setting('fsync'), current_setting('full_page_writes'),
            pg_backend_pid()::text
        """
    }

    /// The timeline of a primary, 0 for a standby. A promotion counts it up at once, other than the control file.
    static let timelineExpression = """
        CASE WHEN pg_is_in_recovery() THEN 0
        ELSE ('x' || lpad(substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), 16, '0'))::bit(64)::bigint END
        """

    /// Whether commits wait for a standby. They wait also while none is connected.
    static let replicatedExpression = "trim(current_setting('synchronous_standby_names')) <> ''"

    init() {}

    init(_ row: PostgresRow, place: String) throws(PostgresFailure) {
        self.version = String(try row.text(0).prefix { $0 != " " })
        self.timeline = UInt32(try row.text(1)) ?? 0
        self.isInRecovery = try row.text(2) == "true"
        self.syncs = try row.text(3) == "on"
        self.writesFullPages = try row.text(4) == "on"
        self.processID = Int32(try row.text(5)) ?? 0
        self.place = place
    }

    /// Why the log must not be on this server.
    var whyUnusable: String? {
        if !self.syncs { return "runs with fsync = off, and would lose acknowledged writes: set it to on" }
        if !self.writesFullPages { return "runs with full_page_writes = off, and may damage the log: set it to on" }
        return nil
    }
}
