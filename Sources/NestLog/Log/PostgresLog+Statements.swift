extension PostgresLog {
    static let renew = PostgresStatement(
        "renew",
        [.uuid, .int],
        "UPDATE nest.node SET expires = clock_timestamp() + $2 * interval '1 second' WHERE node = $1"
    )

    /// Replaces rows of earlier starts of this node, and forgets nodes that have been away for a day.
    static let register = PostgresStatement(
        "register",
        [.uuid, .text, .text, .bytes, .text, .int],
        """
        WITH old AS (DELETE FROM nest.node WHERE node <> $1
                AND ((name = $2 AND (address = $3 OR expires < clock_timestamp()))
                    OR expires < clock_timestamp() - interval '1 day') RETURNING node),
            notes AS (DELETE FROM nest.replica r USING old WHERE r.node = old.node)
        INSERT INTO nest.node (node, name, address, secret, version, expires)
        VALUES ($1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 second')
        ON CONFLICT (node) DO UPDATE SET expires = excluded.expires
        """
    )

    static let release = PostgresStatement(
        "release",
        [.long, .uuid],
        "UPDATE nest.store SET leader = NULL WHERE store = $1 AND leader = $2"
    )

    static let releaseTo = PostgresStatement(
        "release_to",
        [.long, .uuid, .uuid],
        """
        UPDATE nest.store SET leader = $3 WHERE store = $1 AND leader = $2
        AND EXISTS (SELECT FROM nest.node n WHERE n.node = $3 AND n.expires > clock_timestamp())
        """
    )

    static let withdraw = PostgresStatement(
        "withdraw",
        [.long, .uuid, .long],
        "UPDATE nest.store SET leader = NULL WHERE store = $1 AND leader = $2 AND epoch = $3"
    )

    static let deregister = PostgresStatement(
        "deregister",
        [.uuid],
        "WITH notes AS (DELETE FROM nest.replica WHERE node = $1) DELETE FROM nest.node WHERE node = $1"
    )

    static let server = PostgresStatement(
        "server",
        [],
        "SELECT \(PostgresServerFacts.timelineExpression), \(PostgresServerFacts.replicatedExpression)"
    )

    /// `$2`: the position whose chain is returned. `$3`: the node that asks.
    static let overview = PostgresStatement(
        "overview",
        [.long, .long, .uuid],
        """
        SELECT s.base, s.epoch, s.doubt, h.position, h.chain,
            (SELECT chain FROM nest.log WHERE store = $1 AND position = $2),
            s.leader, n.name, n.address, n.version, n.expires > clock_timestamp(), r.position,
            CASE WHEN s.leader IS NULL OR s.leader = $3 THEN false
                ELSE \(LogStatements.isLockFree("s.store", "s.leader")) END
        FROM nest.store s
        LEFT JOIN LATERAL (SELECT position, chain FROM nest.log l WHERE l.store = $1 ORDER BY position DESC LIMIT 1) h
            ON true
        LEFT JOIN nest.node n ON n.node = s.leader
        LEFT JOIN nest.replica r ON r.store = s.store AND r.node = s.leader
        WHERE s.store = $1
        """
    )

    static let note = PostgresStatement(
        "note",
        [.long, .uuid, .long],
        """
        INSERT INTO nest.replica (store, node, position) VALUES ($1, $2, $3)
        ON CONFLICT (store, node) DO UPDATE SET position = excluded.position
        """
    )

    static let nodes = PostgresStatement(
        "nodes",
        [.long],
        """
        SELECT n.node, n.name, n.address, n.version, n.expires > clock_timestamp(), r.position
        FROM nest.node n LEFT JOIN nest.replica r ON r.store = $1 AND r.node = n.node ORDER BY n.name, n.started
        """
    )

    static let secret = PostgresStatement("secret", [.uuid], "SELECT secret FROM nest.node WHERE node = $1")

    static let forgetVerifications = PostgresStatement(
        "forget_verifications",
        [.long],
        "DELETE FROM nest.verification WHERE store = $1 AND made < clock_timestamp() - interval '1 day'"
    )

    static let addVerification = PostgresStatement(
        "add_verification",
        [.long, .long, .uuid, .uuid],
        """
        INSERT INTO nest.verification (store, position, node, digest) VALUES ($1, $2, $3, $4)
        ON CONFLICT (store, position, node) DO UPDATE SET digest = excluded.digest
        """
    )

    static let verifications = PostgresStatement(
        "verifications",
        [.long, .long],
        "SELECT node, digest FROM nest.verification WHERE store = $1 AND position = $2 ORDER BY node"
    )

    /// Roles without pg_monitor see no `sync_state`: then the count is 0.
    static let summary = PostgresStatement(
        "summary",
        [.long],
        """
        SELECT \(PostgresServerFacts.timelineExpression), \(PostgresServerFacts.replicatedExpression),
            (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')),
            (SELECT max(position) FROM nest.log WHERE store = $1)
                - (SELECT base FROM nest.store WHERE store = $1) + (CASE WHEN f.position = 0 THEN 1 ELSE 0 END),
            to_char(f.written AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"'),
            (SELECT to_char(max(made) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"') FROM nest.snapshot
                WHERE store = $1 AND complete)
        FROM (SELECT $1) x(s)
        LEFT JOIN LATERAL (SELECT position, written FROM nest.log l WHERE l.store = x.s ORDER BY position LIMIT 1) f
            ON true
        """
    )
}
