/// Statements of more than one caller, and those whose form matters for what the log promises.
enum LogStatements {
    /// The append: one row, only behind the record with the chain that the writer executed on. `$9`: parts.
    static let append = PostgresStatement(
        "append",
        [.long, .long, .bytes, .long, .short, .long, .bytes, .bytes, .int],
        """
        INSERT INTO nest.log (store, position, chain, epoch, kind, revision, body, parts)
        SELECT $1, $2, $3, $4, $5, $6, $7, $9 FROM nest.log p
        WHERE p.store = $1 AND p.position = $2 - 1 AND p.chain = $8
        ON CONFLICT (store, position) DO NOTHING RETURNING position
        """
    )

    /// What the log has at a position, at the one before, and how far it was truncated.
    static let look = PostgresStatement(
        "look",
        [.long, .long],
        """
        SELECT (SELECT chain FROM nest.log WHERE store = $1 AND position = $2),
            (SELECT chain FROM nest.log WHERE store = $1 AND position = $2 - 1),
            (SELECT base FROM nest.store WHERE store = $1)
        """
    )

    /// A commit behind everything that the caller has read: PostgreSQL answers it only when a synchronous standby has
    /// all of that too. Reading alone would find records that a standby may never get. It writes a message that no
    /// table has, so that it holds no lock while it waits.
    static let barrier = PostgresStatement(
        "barrier",
        [],
        "SELECT pg_logical_emit_message(true, 'nest', ''::text)"
    )

    /// Whether a process of the server executes a statement; also if this role cannot see it.
    static let isExecuting = PostgresStatement(
        "is_executing",
        [.int],
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND coalesce(state, '') NOT LIKE 'idle%')"
    )

    /// A former attempt may have left parts only if its record was deleted by hand.
    static let clearParts = PostgresStatement(
        "clear_parts",
        [.long, .long],
        """
        DELETE FROM nest.part WHERE store = $1 AND position = $2
        AND NOT EXISTS (SELECT FROM nest.log WHERE store = $1 AND position = $2)
        """
    )

    static let addPart = PostgresStatement(
        "add_part",
        [.long, .long, .int, .bytes],
        "INSERT INTO nest.part (store, position, part, bytes) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
    )

    /// Held by each node's append session while it lasts. Shared, so that a new session never waits for an old one of
    /// the same node. Followers only look whether the leader holds it.
    static let holdLock = PostgresStatement(
        "hold_lock",
        [.long, .uuid],
        "SELECT pg_advisory_lock_shared(($1 & 2147483647)::int, \(Self.lockKey("$2")))"
    )

    /// Whether no session holds the lock of `node`.
    static func isLockFree(_ store: String, _ node: String) -> String {
        """
        NOT EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND l.classid = (\(store) & 2147483647)::oid
            AND l.objid = ('x' || left(\(node)::text, 8))::bit(32)::bigint::oid)
        """
    }

    /// The first four bytes of a node's id, which is random.
    private static func lockKey(_ node: String) -> String { "('x' || left(\(node)::text, 8))::bit(32)::int" }

    /// `$3`: the leader whose session was seen to have ended; may be NULL. `$4`: even if another node leads.
    static let claim = PostgresStatement(
        "claim",
        [.long, .uuid, .uuid, .bool],
        """
        UPDATE nest.store s SET leader = $2, epoch = epoch + 1
        WHERE store = $1 AND ($4 OR leader IS NULL OR leader = $2 OR leader = $3
            OR NOT EXISTS (SELECT FROM nest.node n WHERE n.node = s.leader AND n.expires > clock_timestamp()))
        RETURNING epoch
        """
    )
}
