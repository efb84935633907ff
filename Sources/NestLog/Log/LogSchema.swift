/// The tables of the log, in the schema `nest`. `store` is in every key: one database may have the logs of many stores.
enum LogSchema {
    /// Counts up with every change of the tables that an older nestd would not understand.
    static let version: Int32 = 1

    /// The key of the advisory lock under which the tables are made: "nest".
    static let installLock = 0x6e65_7374

    /// Returns a row if there is a log.
    static let findFormat = """
        SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'nest' AND c.relname = 'format'
        """

    static let script = """
        CREATE SCHEMA IF NOT EXISTS nest;
        CREATE TABLE IF NOT EXISTS nest.format (version int PRIMARY KEY);
        CREATE TABLE nest.node (
            node uuid PRIMARY KEY, name text NOT NULL, address text NOT NULL, secret bytea NOT NULL, version text NOT NULL,
            started timestamptz NOT NULL DEFAULT clock_timestamp(), expires timestamptz NOT NULL);
        CREATE TABLE nest.store (
            store bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 128),
            epoch bigint NOT NULL DEFAULT 0, leader uuid, doubt boolean NOT NULL DEFAULT false,
            base bigint NOT NULL DEFAULT 0);
        CREATE TABLE nest.log (
            store bigint NOT NULL, position bigint NOT NULL, chain bytea NOT NULL CHECK (length(chain) = 16),
            epoch bigint NOT NULL, kind smallint NOT NULL, revision bigint NOT NULL, parts int NOT NULL DEFAULT 0,
            body bytea NOT NULL, written timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (store, position));
        CREATE TABLE nest.part (
            store bigint, position bigint, part int, bytes bytea NOT NULL, PRIMARY KEY (store, position, part));
        CREATE TABLE nest.replica (store bigint, node uuid, position bigint NOT NULL, PRIMARY KEY (store, node));
        CREATE TABLE nest.snapshot (
            store bigint, position bigint, revision bigint NOT NULL, chain bytea NOT NULL, model bigint NOT NULL,
            bytes bigint NOT NULL, checksum bytea, parts int, complete boolean NOT NULL DEFAULT false, node uuid,
            made timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (store, position));
        CREATE TABLE nest.snapshot_part (
            store bigint, position bigint, part int, bytes bytea NOT NULL, PRIMARY KEY (store, position, part));
        CREATE TABLE nest.verification (
            store bigint, position bigint, node uuid, digest uuid NOT NULL,
            made timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (store, position, node));
        ALTER TABLE nest.log ALTER body SET STORAGE EXTERNAL;
        ALTER TABLE nest.part ALTER bytes SET STORAGE EXTERNAL;
        ALTER TABLE nest.snapshot_part ALTER bytes SET STORAGE EXTERNAL;
        INSERT INTO nest.format VALUES (\(Self.version));
        """
}
